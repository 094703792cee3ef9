"""Give freed memory back to the system at once, so that one large file does not keep a process large."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""the names of glibc's mallopt(3) for them"""
_LARGE = 256 << 10
"""bytes; blocks of this size are mapped one by one and unmapped when freed"""


def return_freed_memory() -> None:
    """Fix glibc's thresholds, which otherwise grow with the largest block ever freed; elsewhere nothing happens."""
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return  # another C library
    mallopt(_MMAP_THRESHOLD, _LARGE)
    mallopt(_TRIM_THRESHOLD, 4 * _LARGE)
