"""The laboratory over foltr: data sets, simulated users, studies; never imported by the device but for `--simulate`."""

from __future__ import annotations

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
"""how many threads one process computes with"""
