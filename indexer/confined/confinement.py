"""What a process that reads files from anywhere keeps: the code that it runs, and what was open before.

No file, no folder, no network, no other process and no program can be had from it any more, nothing can be written,
and that cannot be undone. Linux' Landlock (landlock(7)) takes files, TCP and signals, seccomp the calls; a kernel that
has one of them gives that one, and what it does not know of Landlock, whose interface (ABI) grew, is left out. It holds
for the thread that asks and all that it starts, so it is asked for while there is one thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import site
import stat
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec

import msgspec

from indexer.confined import system_calls
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
    abi = landlock_version()
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
    _confine([(path, READ_FILE | READ_FOLDER) for path in (*_SYSTEM, *folders)])


def confine_program(path: str) -> None:
    """Keep to the program at `path` and the libraries of the system; what it reads and writes is open already.

    It ends with the process that starts it.
    """
    end_with_parent()
    runs = READ_FILE | READ_FOLDER | EXECUTE
    folders = [os.path.dirname(one) for one in (path, os.path.realpath(path))]
    beside = [os.path.join(os.path.dirname(folder), name) for folder in folders for name in ("lib", "share/tessdata")]
    _confine([(one, runs) for one in (*_SYSTEM, *folders, *beside)], may_start=True)


def _confine(allowed: list[tuple[str, int]], *, may_start: bool = False) -> None:
    """What the system does not give after all is gone without: `foltr-search doctor` tries what holds."""
    if not available():
        return
    c_library().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if landlock_version():
        with contextlib.suppress(OSError):
            _restrict(allowed)
    if system_calls.available():
        with contextlib.suppress(OSError):
            system_calls.refuse(may_start=may_start)


@lru_cache(maxsize=1)
def _installed() -> frozenset[str]:
    """Where Python's own modules, installed packages and their libraries lie."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths |= {site.getusersitepackages(), os.path.join(sys.base_prefix, "lib"), *site.getsitepackages()}
    paths.add(os.path.dirname(os.path.dirname(msgspec.__file__)))  # where else packages lie, as of one file that runs
    return frozenset(paths)


def _places(name: str) -> list[str]:
    """The folder of a package, or the file of a module that is loaded; of one that is not its folder."""
    module = sys.modules.get(name)
    if module is None:  # a reader of one's own, which the process that reads will load
        spec = find_spec(name)
        return [] if spec is None else list(spec.submodule_search_locations or (os.path.dirname(spec.origin or ""),))
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


_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""numbers of the calls, on every machine"""
_VERSION = 1
"""flag of the first: tell the version"""
EXECUTE, _WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_OF_FILES = EXECUTE | _WRITE_FILE | READ_FILE
"""the rights that a rule about a file, not a folder, may name"""
_N_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""rights over files by version, 16 in later ones: all of them are given up but where a rule gives them"""
_TCP = 0b11
"""from version 4: to listen and to connect"""
_OUTWARDS = 0b11
"""from version 6: abstract Unix sockets and signals of processes outside"""


@lru_cache(maxsize=1)
def landlock_version() -> int:
    """The version of the interface, 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(_call(_CREATE, None, 0, _VERSION), 0)


def _restrict(allowed: Sequence[tuple[str, int]]) -> None:
    """Keep, of all files, those at and below the `allowed` paths with their rights; for this thread and what it starts.

    A path that is not there is passed over. OSError where the kernel refuses.
    """
    abi = landlock_version()
    rights = (1 << _N_RIGHTS.get(abi, 16)) - 1
    wanted = struct.pack("=QQQ", rights, _TCP, _OUTWARDS)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    rules = _checked(_call(_CREATE, wanted, len(wanted), 0))
    try:
        for path, right in allowed:
            with contextlib.suppress(FileNotFoundError, PermissionError, NotADirectoryError):
                _allow(rules, path, right)
        _checked(_call(_RESTRICT, rules, 0))
    finally:
        os.close(rules)


def _allow(rules: int, path: str, right: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            right &= _OF_FILES
        _checked(_call(_ADD, rules, 1, struct.pack("=Qi", right, place), 0))
    finally:
        os.close(place)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result


def _call(number: int, *arguments: int | bytes | None) -> int:
    plain = (ctypes.c_long(one) if isinstance(one, int) else one for one in arguments)
    return int(c_library().syscall(ctypes.c_long(number), *plain))
