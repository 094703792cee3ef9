"""Letting everything else on the machine go first."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sys

_IO_PRIORITY_CALL = {"x86_64": 251, "aarch64": 30}
"""the number of Linux's ioprio_set on each machine; Python has no name for it"""
_IO_IDLE = 3 << 13


def give_way() -> None:
    """Lower this process's share of processor and disk; what it starts inherits that."""
    if not hasattr(os, "nice"):
        return
    with contextlib.suppress(OSError):
        os.nice(10)
    number = _IO_PRIORITY_CALL.get(platform.machine())
    if sys.platform == "linux" and number is not None:
        ctypes.CDLL(None).syscall(number, 1, 0, _IO_IDLE)
