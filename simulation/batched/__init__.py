"""Compiled rounds: many clients at once, equal to the four verbs on the same random streams.

Numba notices a change in a function's own file alone. These kernels call one another across files, so what is compiled
is kept in a folder named after the content of all of them: an edit or an update never runs on old machine code.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
import platformdirs
from numba.core.event import TimingListener, install_listener


def _cache_folder() -> Path:
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return platformdirs.user_cache_path("foltr-search") / "numba" / digest.hexdigest()


def anything_compiled() -> bool:
    """Whether an earlier run has left compiled kernels; without them a method's first round takes many seconds."""
    folder = Path(numba.config.CACHE_DIR)  # type: ignore[attr-defined]
    return next(folder.rglob("*.nbi"), None) is not None


@contextmanager
def compile_clock() -> Iterator[Callable[[], float]]:
    """A function that tells for how many seconds this process has compiled since it was last asked.

    What is read from the cache is not compiled. It counts from the beginning of the context to its end.
    """
    listener, told = TimingListener(), 0.0  # type: ignore[no-untyped-call]

    def taken() -> float:
        nonlocal told
        before, told = told, listener.duration if listener.done else 0.0
        return told - before

    with install_listener("numba:compile", listener):
        yield taken


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]
