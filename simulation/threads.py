"""How many threads one process computes with."""

from __future__ import annotations

import os

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def one_thread_each() -> None:
    """One thread for this process and those it starts; must come before numpy is loaded.

    Cells are what runs side by side, and a sum that several threads share has no fixed order.
    """
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
