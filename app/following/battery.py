"""Whether this machine runs on its battery: what can wait, waits."""

from __future__ import annotations

from pathlib import Path

POWER_SUPPLIES = Path("/sys/class/power_supply")


def on_battery(supplies: Path = POWER_SUPPLIES) -> str:
    """ "on battery" when a battery is being emptied and no mains supply is connected, else ""."""
    batteries, mains = False, False
    for supply in sorted(supplies.glob("*")):
        kind = _content(supply / "type")
        is_emptied = _content(supply / "status") == "Discharging" and _content(supply / "scope") != "Device"
        mains |= kind in ("Mains", "USB") and _content(supply / "online") == "1"
        batteries |= kind == "Battery" and is_emptied
    return "on battery" if batteries and not mains else ""


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
