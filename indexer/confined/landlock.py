"""Linux' Landlock: a process gives up files, connections and signals for the rest of its life (landlock(7)).

What a kernel does not know of it is left out: each version of its interface (ABI) added something.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
import sys
from collections.abc import Sequence
from functools import lru_cache

from indexer.confined.system_calls import c_library

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
def version() -> int:
    """The version of the interface, 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(_call(_CREATE, None, 0, _VERSION), 0)


def restrict(allowed: Sequence[tuple[str, int]]) -> None:
    """Keep, of all files, those at and below the `allowed` paths with their rights; for this thread and what it starts.

    A path that is not there is passed over. OSError where the kernel refuses.
    """
    abi = version()
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
