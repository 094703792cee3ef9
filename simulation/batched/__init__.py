"""Compiled rounds: many clients at once, equal to the four verbs on the same random streams.

They give the same digits on every processor. Nothing is compiled that may be reordered, or multiplied and added in one
step; long sums and elementary functions are written out (simulation.batched.lanes).

Numba notices a change in a function's own file alone. These kernels call one another across files, so what is compiled
is kept in a folder named after the content of all of them: an edit or an update never runs on old machine code. And it
numbers what it keeps of a function from an index that two processes may read at once, before either has written: then
one's numbers would run the other's code, wrong where the types are as wide. Here no two files have one name.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import platformdirs
from numba import njit

from foltr import arithmetic


def _cache_folder() -> Path:
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(arithmetic.__file__)):
        digest.update(path.read_bytes())
    return platformdirs.user_cache_path("foltr-search") / "numba" / digest.hexdigest()


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]


def compiled(**options: object) -> Callable[[Callable[..., Any]], Any]:
    """numba.njit with these options; what it compiles is kept for all processes."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(cache=True, **options)(function)  # type: ignore[call-overload]
        dispatcher._cache._cache_file._data_name = lambda number: f"{function.__name__}.{uuid.uuid4().hex}.nbc"
        return dispatcher

    return decorate


def kernel(*, inlined: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """A function on arrays that it is given and does not keep: it makes none, and counts no references to them.

    Counting them is an atomic addition for each array that a line names, and was two fifths of all the time of a page.
    One that returns an array is for other kernels alone: whoever counts would give back a reference too many.
    `inlined` becomes part of every caller, which saves handing over seven words for each array.
    """
    return compiled(error_model="numpy", forceinline=inlined, _nrt=False)
