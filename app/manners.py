"""Being a good neighbour: background work gives way to everything else, and waits for mains power if asked to."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sys
from pathlib import Path

POWER_SUPPLIES = Path("/sys/class/power_supply")

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


def on_battery(supplies: Path = POWER_SUPPLIES) -> str:
    """ "on battery" when a battery is being emptied and no mains supply is connected, else ""."""
    batteries, mains = False, False
    for supply in sorted(supplies.glob("*")):
        kind = _content(supply / "type")
        if kind in ("Mains", "USB") and _content(supply / "online") == "1":
            mains = True
        if (
            kind == "Battery"
            and _content(supply / "status") == "Discharging"
            and _content(supply / "scope") != "Device"
        ):
            batteries = True
    return "on battery" if batteries and not mains else ""


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
