"""Confine a process that reads files from anywhere to the code that it runs and the files that are open already.

It can then open no file or folder, reach no network, no other process and no program, and write nothing; that cannot
be undone. Linux' Landlock (landlock(7)) takes away files, TCP and signals, seccomp system calls. A kernel that has one
of them gives that one, and parts of Landlock that it does not know are left out. Both hold for the calling thread and
all that it starts, so they are asked for while there is one thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
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

_SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew",
    "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/zero", "/dev/urandom",
)  # fmt: skip
"""what everyone may read on every machine: libraries, programs, zones and languages"""


@lru_cache(maxsize=1)
def available() -> tuple[str, ...]:
    """What this system confines a process with, as "Landlock 7" and "seccomp"; () for nothing."""
    abi = landlock_version()
    return (*((f"Landlock {abi}",) if abi else ()), *(("seccomp",) if refuses_calls() else ()))


def prepare() -> None:
    """Work out what all readers have in common: a copy of this process need not do it again."""
    if available():
        _installed()
    if refuses_calls():
        fixed_part(platform.machine(), may_start=False)


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
    if refuses_calls():
        with contextlib.suppress(OSError):
            refuse_calls(may_start=may_start)


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
    """The forbidden things that this process can still do, found by trying them."""
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


_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""the column of the tables below, and the kernel's number of the architecture (linux/audit.h)"""

_REFUSED = """
    socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, accept 43 202, accept4 288 242,
    ptrace 101 117, migrate_pages 256 238, move_pages 279 239, process_vm_readv 310 270, process_vm_writev 311 271,
    process_madvise 440 440, kcmp 312 272, pidfd_open 434 434, pidfd_getfd 438 438, pidfd_send_signal 424 424,
    tkill 200 130, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, setpriority 141 140, ioprio_set 251 30,
    sched_setscheduler 144 119, sched_setparam 142 118, sched_setattr 314 274, shmget 29 194, shmat 30 196,
    shmctl 31 195, semget 64 190, semctl 66 191, semop 65 193, semtimedop 220 192, msgget 68 186, msgctl 71 187,
    msgsnd 69 189, msgrcv 70 188, mq_open 240 180, mq_unlink 241 181, bpf 321 280, perf_event_open 298 241,
    userfaultfd 323 282, io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427, add_key 248 217,
    request_key 249 218, keyctl 250 219, mount 165 40, umount2 166 39, move_mount 429 429, fsopen 430 430,
    fsconfig 431 431, fsmount 432 432, fspick 433 433, open_tree 428 428, mount_setattr 442 442, pivot_root 155 41,
    chroot 161 51, setns 308 268, unshare 272 97, init_module 175 105, finit_module 313 273, delete_module 176 106,
    kexec_load 246 104, kexec_file_load 320 294, reboot 169 142, swapon 167 224, swapoff 168 225, acct 163 89,
    quotactl 179 60, quotactl_fd 443 443, personality 135 92, inotify_init 253 -, inotify_init1 294 26,
    fanotify_init 300 262, fanotify_mark 301 263, open_by_handle_at 304 265, creat 85 -, truncate 76 45, rename 82 -,
    renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36, unlink 87 -,
    unlinkat 263 35, mkdir 83 -, mkdirat 258 34, rmdir 84 -, mknod 133 -, mknodat 259 33, chmod 90 -, fchmod 91 52,
    fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54, utime 132 -,
    utimes 235 -, futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7,
    removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, getxattr 191 8, lgetxattr 192 9, listxattr 194 11,
    llistxattr 195 12, flock 73 32, sync 162 81, readlink 89 -, readlinkat 267 78, name_to_handle_at 303 264,
    syslog 103 116, settimeofday 164 170, clock_settime 227 112, adjtimex 159 171, clock_adjtime 305 266,
    sethostname 170 161, setdomainname 171 162, iopl 172 -, ioperm 173 -, vhangup 153 58, fork 57 -, vfork 58 -,
    memfd_create 319 279, memfd_secret 447 447
"""
_STARTING = "execve 59 221, execveat 322 281"
"""what makes of a process another program"""
_ABSENT = "clone3 435 435, openat2 437 437"
"""as if the kernel did not know them: their arguments are in memory, where no filter sees them; older calls serve"""
_LOOKED_AT = (
    "clone 56 220, kill 62 129, tgkill 234 131, prlimit64 302 261, sched_setaffinity 203 122, open 2 -, openat 257 56,"
    "fcntl 72 25, ioctl 16 29, prctl 157 167"
)
"""refused by what they are asked for"""
_NEWEST = 463
"""no call from this number on was known when these lists were made"""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | 0o20000000
"""flags of open(2), the last the kernel's own of O_TMPFILE"""
_CLONE_THREAD = 0x10000
_OF_DESCRIPTORS = (0, 1, 2, 3, 4, 1030, 1032)
"""what fcntl(2) may be asked: copies and flags; not locks and leases, which others wait for, nor signals"""
_OF_STREAMS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)
"""what ioctl(2) may be asked: whether it is a terminal, how large, what waits; not what marks, seals or types"""

_ALLOW, _REFUSE, _END = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
"""instructions of a filter (linux/bpf_common.h)"""
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""places in struct seccomp_data; of each argument the lower 32 bits are looked at"""

Instruction = tuple[int, int, int, int]
"""code, instructions to pass over when it holds and when not, operand"""

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _BY_FILTER, _PR_SET_NO_NEW_PRIVS, _SIGKILL = 1, 22, 2, 38, 9
"""as Linux's prctl(2) and kill(2) call them"""


@lru_cache(maxsize=1)
def c_library() -> ctypes.CDLL:
    """The system's own, looked up once: a copy of this process has it, too."""
    return ctypes.CDLL(None, use_errno=True)


def refuses_calls() -> bool:
    """Whether this machine and its kernel refuse calls by such lists."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES or sys.maxsize < 2**32:
        return False
    return os.path.exists("/proc/sys/kernel/seccomp/actions_avail")


def refuse_calls(*, may_start: bool = False) -> None:
    """Refuse the calls to this thread and what it starts; one that `may_start` a program may become it.

    A list of what is refused, not of what is allowed, for the native readers call what they like: whatever reaches the
    network, another process, the state of the system, a file's name, or memory beyond limits. Open files stay usable.

    OSError where the kernel does not take the list.
    """
    packed = fixed_part(platform.machine(), may_start) + _packed(_of_process(platform.machine(), os.getpid()))
    program = struct.pack(
        "@HP", len(packed) // _INSTRUCTION.size, ctypes.cast(ctypes.c_char_p(packed), ctypes.c_void_p).value
    )
    if c_library().prctl(_PR_SET_SECCOMP, _BY_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp refused the list of calls")


_INSTRUCTION = struct.Struct("=HBBI")


def _packed(lines: Iterable[Instruction]) -> bytes:
    return b"".join(_INSTRUCTION.pack(*one) for one in lines)


@lru_cache
def fixed_part(machine: str, may_start: bool) -> bytes:
    """The beginning of the program that the kernel runs at each call: what is the same in all processes."""
    return _packed(_of_all(machine, may_start))


def _of_all(machine: str, may_start: bool) -> list[Instruction]:
    column, architecture = _MACHINES[machine]
    no, unknown = _REFUSE | errno.EPERM, _REFUSE | errno.ENOSYS
    lines: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), _answer(_END), (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _NEWEST), _answer(unknown),
    ]  # fmt: skip
    refused = list(_numbers(_REFUSED, column).values())
    if not may_start:
        refused += _numbers(_STARTING, column).values()
    for number in refused:
        lines += _when(number, [_answer(no)])
    for number in _numbers(_ABSENT, column).values():
        lines += _when(number, [_answer(unknown)])
    calls = _numbers(_LOOKED_AT, column)
    lines += _when(calls["clone"], [_argument(0), (_ANY_BIT, 1, 0, _CLONE_THREAD), _answer(no), _answer(_ALLOW)])
    lines += _when(calls["prctl"], [_argument(0), *_each((_PR_SET_PDEATHSIG,), no), _answer(_ALLOW)])
    for name, wanted, answer in (("fcntl", _OF_DESCRIPTORS, no), ("ioctl", _OF_STREAMS, _REFUSE | errno.ENOTTY)):
        lines += _when(calls[name], [_argument(1), *_each(wanted, _ALLOW), _answer(answer)])
    for name, place in (("open", 1), ("openat", 2)):
        is_read = [_argument(place), (_ANY_BIT, 0, 1, _WRITING), _answer(_REFUSE | errno.EACCES), _answer(_ALLOW)]
        lines += _when(calls[name], is_read) if name in calls else []
    return lines


def _of_process(machine: str, pid: int) -> list[Instruction]:
    """The end of that program: what a process may do to itself alone."""
    calls, lines = _numbers(_LOOKED_AT, _MACHINES[machine][0]), list[Instruction]()
    for name in ("kill", "tgkill", "prlimit64", "sched_setaffinity"):
        oneself = (pid,) if "kill" in name else (pid, 0)  # for these, 0 is everyone near
        lines += _when(calls[name], [_argument(0), *_each(oneself, _ALLOW), _answer(_REFUSE | errno.EPERM)])
    return [*lines, _answer(_ALLOW)]


@lru_cache
def _numbers(table: str, column: int) -> dict[str, int]:
    """The numbers of the calls in a column of a table, by name; "-" is a call that the architecture has not."""
    rows = (line.split() for line in table.split(","))
    return {row[0]: int(row[1 + column]) for row in rows if row[1 + column] != "-"}


def _answer(value: int) -> Instruction:
    return (_ANSWER, 0, 0, value)


def _argument(place: int) -> Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * place)


def _each(values: Iterable[int], answer: int) -> list[Instruction]:
    """Give `answer` to each of the values."""
    return [line for value in values for line in ((_EQUAL, 0, 1, value), _answer(answer))]


def _when(number: int, lines: Sequence[Instruction]) -> list[Instruction]:
    """What is done with the call of that number; it ends with an answer."""
    return [(_EQUAL, 0, len(lines), number), *lines]
