"""What else the machine did meanwhile: load averages, and the share of the cores that other programs took."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

BUSY = 0.25
"""of all cores, taken by others"""


@dataclass(frozen=True, slots=True)
class Moment:
    """The counters at one moment, in seconds where they are times."""

    clock: float
    own: float
    """processor time of this process and of those of its children that have ended"""
    everybody: float | None
    """processor time of all programs since the machine started; None where /proc/stat is not there"""
    load: float
    """the system's load average over a minute"""


def moment() -> Moment:
    """Now."""
    times = os.times()
    own = times.user + times.system + times.children_user + times.children_system
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return Moment(time.monotonic(), own, _everybody(), load)


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def verdict(start: Moment, end: Moment, *, n_cores: int) -> str:
    """ "quiet" or "busy", with the numbers that say so."""
    shares = f"load average {start.load:.1f} at the start, {end.load:.1f} at the end"
    if start.everybody is None or end.everybody is None or end.clock <= start.clock:
        return f"{'busy' if max(start.load, end.load) > n_cores else 'quiet'}: {shares}"
    other = (end.everybody - start.everybody) - (end.own - start.own)
    share = min(max(other / (n_cores * (end.clock - start.clock)), 0.0), 1.0)
    word = "busy" if share > BUSY else "quiet"
    return f"{word}: other programs took {100 * share:.0f} % of the cores; {shares}"


def since(start: Moment) -> str:
    """The verdict on the time from `start` until now."""
    return verdict(start, moment(), n_cores=cores())


def _everybody() -> float | None:
    try:
        first = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return None
    user, nice, system, _, _, interrupts, soft, stolen = map(int, first[1:9])
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")
