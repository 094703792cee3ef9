"""Compiled rounds: many clients at once, equal to the four verbs on the same random streams.

They give the same digits on every processor. Nothing is compiled that may be reordered, or multiplied and added in one
step; long sums and elementary functions are written out (simulation.batched.simd_sums).

Numba notices a change in a function's own file alone. These kernels call one another across files, so what is compiled
is kept in a folder named after the content of all of them: an edit or an update never runs on old machine code. And it
numbers what it keeps of a function by an index that two processes may read at once, before either has written: one's
number would then run the other's code, wrongly where types are equally wide. Here no two files share a name. What
cannot be kept or read, as on a full disk, in a folder of another user or after a power cut, is compiled again.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, ClassVar

import numba
import platformdirs
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator

from foltr import arithmetic


def _cache_folder() -> Path:
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(arithmetic.__file__)):
        digest.update(path.read_bytes())
    return platformdirs.user_cache_path("foltr-search") / "numba" / digest.hexdigest()


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]


class _ThisFolderAlone(CompileResultCacheImpl):
    """Beside the source, an update of another file would run on old machine code."""

    _locator_classes: ClassVar = [UserProvidedCacheLocator]  # type: ignore[misc]


class _Kept(FunctionCache):
    """What is compiled of one function; RuntimeError where nothing can be kept."""

    _impl_class = _ThisFolderAlone

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        vars(self._cache_file)["_data_name"] = lambda number: f"{function.__name__}.{uuid.uuid4().hex}.nbc"

    def load_overload(self, *which: object) -> Any:
        try:
            return super().load_overload(*which)  # type: ignore[no-untyped-call]
        except (OSError, EOFError, UnpicklingError):
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, *made: object) -> None:
        with suppress(OSError):
            super().save_overload(*made)  # type: ignore[no-untyped-call]


def compiled(**options: object) -> Callable[[Callable[..., Any]], Any]:
    """numba.njit with these options; what it compiles is kept for all processes."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)  # type: ignore[call-overload]
        with suppress(RuntimeError):
            dispatcher._cache = _Kept(function)
        return dispatcher

    return decorate


def kernel(*, inlined: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """A function on arrays that it is given and does not keep: it makes none, and counts no references to them.

    Counting them is an atomic addition for each array that a line names, and took two fifths of the time of a page. One
    that returns an array is only for other kernels: a caller that counts would release one reference too many.
    `inlined` becomes part of every caller, which saves handing over seven words for each array.
    """
    return compiled(error_model="numpy", forceinline=inlined, _nrt=False)
