"""What a process that reads files from anywhere keeps: the code that it runs, and what was open before.

No file, no folder, no network, no other process and no program can be had from it any more, nothing can be written,
and that cannot be undone. Landlock takes files, TCP and signals, seccomp the calls; a kernel that has one of them gives
that one. It holds for the thread that asks and all that it starts, so it is asked for while there is one thread.
"""

from __future__ import annotations

import contextlib
import os
import platform
import site
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable
from functools import lru_cache

from indexer.confined import landlock, system_calls
from indexer.confined.system_calls import c_library

_SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew",
    "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/zero", "/dev/urandom",
)  # fmt: skip
"""what everyone may read on every machine: libraries, programs, zones and languages"""
_PR_SET_NO_NEW_PRIVS = 38


@lru_cache(maxsize=1)
def available() -> tuple[str, ...]:
    """What this system confines a process with, as "Landlock 7" and "seccomp"; () for nothing."""
    abi = landlock.version()
    return (*((f"Landlock {abi}",) if abi else ()), *(("seccomp",) if system_calls.available() else ()))


def prepare() -> None:
    """Work out what all readers have in common: a copy of this process need not do it again."""
    if available():
        _installed()
    if system_calls.available():
        system_calls.fixed_part(platform.machine(), may_start=False)


def confine_reader(packages: Iterable[str]) -> None:
    """Keep to the Python that is installed and to these `packages`, some of which are loaded when they are wanted."""
    folders = {*_installed(), *(place for name in packages for place in _places(name))}
    _confine([(path, landlock.READ_FILE | landlock.READ_FOLDER) for path in (*_SYSTEM, *folders)])


def confine_program(path: str) -> None:
    """Keep to the program at `path` and the libraries of the system; what it reads and writes is open already."""
    runs = landlock.READ_FILE | landlock.READ_FOLDER | landlock.EXECUTE
    folders = [os.path.dirname(one) for one in (path, os.path.realpath(path))]
    beside = [os.path.join(os.path.dirname(folder), name) for folder in folders for name in ("lib", "share/tessdata")]
    _confine([(one, runs) for one in (*_SYSTEM, *folders, *beside)], may_start=True)


def _confine(allowed: list[tuple[str, int]], *, may_start: bool = False) -> None:
    """What the system does not give after all is gone without: `foltr-search doctor` tries what holds."""
    if not available():
        return
    c_library().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if landlock.version():
        with contextlib.suppress(OSError):
            landlock.restrict(allowed)
    if system_calls.available():
        with contextlib.suppress(OSError):
            system_calls.refuse(may_start=may_start)


@lru_cache(maxsize=1)
def _installed() -> frozenset[str]:
    """Where Python's own modules, installed packages and their libraries lie."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths |= {site.getusersitepackages(), os.path.join(sys.base_prefix, "lib"), *site.getsitepackages()}
    return frozenset(paths)


def _places(name: str) -> list[str]:
    """The folder of a package that is loaded, or the file of a module."""
    module = sys.modules[name]
    return list(getattr(module, "__path__", ())) or [module.__file__ or ""]


def rights_left(folder: str, limits: object) -> tuple[str, ...]:
    """What this process can still do of what a reader must not: tried, not asked for."""
    import socket

    attempts: dict[str, Callable[[], object]] = {
        "read folders": lambda: os.listdir(folder),
        "write": lambda: os.close(os.open(os.devnull, os.O_WRONLY)),
        "open sockets": lambda: socket.socket().close(),
        "start programs": lambda: subprocess.run([sys.executable, "--version"], capture_output=True, check=False),
        "signal others": lambda: os.kill(os.getppid(), 0),
    }
    return tuple(name for name, attempt in attempts.items() if _succeeds(attempt))


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def close_all_but(kept: set[int]) -> None:
    """Close what this process has open, but `kept` and the standard streams; Linux."""
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2 and descriptor not in kept:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.close(descriptor)


_PR_SET_PDEATHSIG, _SIGKILL = 1, 9
"""as Linux's prctl(2) and kill(2) call them"""


def end_with_parent() -> None:
    """Have Linux end this process with the thread that started it, also while it is stopped and cannot see to it."""
    if sys.platform == "linux":
        c_library().prctl(_PR_SET_PDEATHSIG, _SIGKILL)
