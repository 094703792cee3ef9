"""A reader that is taken over: real attacks, in the real workers, on real files, sockets and processes.

The numbers of the refused calls, beside the kernel's own headers where they are installed.
"""

from __future__ import annotations

import ctypes
import platform
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from app.following.indexing import reader_pool
from app.following.recognising import Recognising
from app.paths import Paths
from app.settings import Settings
from app.tui.preview.picture_preview import _make_pool
from app.tui.preview.rasteriser import address_of
from indexer.confined import confinement
from indexer.confined.confinement import available
from indexer.confined.pool import WorkerPool
from indexer.documents import FileEntry

pytestmark = pytest.mark.skipif(len(available()) < 2, reason="the system does not let a process give up its rights")

ATTACKS = """
import ctypes, fcntl, os, socket, sqlite3, struct, sys
from indexer.confined.given_files import open_unbuffered

CALLS = {"x86_64": (101, 310, 65, 157), "aarch64": (117, 270, 193, 167)}[os.uname().machine]
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    plain = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    check(libc.syscall(ctypes.c_long(number), *plain))

def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def in_child(what):
    pid = os.fork()
    if not pid:
        what()
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

def write_home(at): open(at["home"] + "/.bashrc", "w").write("evil")
def make_folder(at): os.mkdir(at["home"] + "/new")
def link(at): os.symlink("/", at["home"] + "/link")
def delete(at): os.unlink(at["home"] + "/gone.txt")
def open_to_all(at): os.chmod(at["home"] + "/.ssh", 0o777)
def read_key(at): open(at["home"] + "/.ssh/id_rsa").read()
def list_home(at): os.listdir(at["home"])
def read_neighbour(at): open(at["neighbour"]).read()
def read_state(at): sqlite3.connect(at["state"]).execute("SELECT * FROM secrets").fetchall()
def write_state(at):
    with sqlite3.connect(at["state"]) as state:
        state.execute("INSERT INTO secrets VALUES ('evil')")
def tcp(at): socket.create_connection(("127.0.0.1", at["tcp"])).close()
def tcp_listen(at): socket.create_server(("127.0.0.1", 0)).close()
def udp(at): socket.socket(type=socket.SOCK_DGRAM).sendto(b"secret", ("127.0.0.1", at["udp"]))
def unix(at): socket.socket(socket.AF_UNIX).connect(at["unix"])
def abstract(at): socket.socket(socket.AF_UNIX).connect(at["abstract"])
def exec_program(at): in_child(lambda: os.execv("/bin/true", ["true"]))
def fork(at): in_child(lambda: os._exit(0))
def signal_parent(at): os.kill(os.getppid(), 0)
def signal_group(at): os.kill(0, 0)
def ptrace_parent(at):
    call(CALLS[0], 16, os.getppid(), None, None)
    os.waitpid(os.getppid(), 0x40000000)
    call(CALLS[0], 17, os.getppid(), None, None)
def memory_of_parent(at):
    class Part(ctypes.Structure): _fields_ = [("begin", ctypes.c_void_p), ("size", ctypes.c_size_t)]
    own, theirs = ctypes.create_string_buffer(8), int(open(f"/proc/{os.getppid()}/maps").read().partition("-")[0], 16)
    call(CALLS[1], os.getppid(), ctypes.byref(Part(ctypes.addressof(own), 8)), 1, ctypes.byref(Part(theirs, 8)), 1, 0)
def files_of_parent(at): os.listdir(f"/proc/{os.getppid()}/fd")
def open_memory_of_parent(at): open(f"/proc/{os.getppid()}/mem", "rb").close()
def pin_parent(at): os.sched_setaffinity(os.getppid(), os.sched_getaffinity(os.getppid()))
def semaphore(at): call(CALLS[2], at["semaphore"], struct.pack("Hhh", 0, 1, 0), 1)
def origin(at): os.listxattr(at["neighbour"])
def where_link_leads(at): os.readlink(at["symlink"])
def handle(at):
    room = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    check(libc.name_to_handle_at(-100, at["neighbour"].encode(), room, ctypes.byref(ctypes.c_int()), 0))
def own_memory_by_name(at): open("/proc/self/mem", "r+b").close()
def terminal(at): os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
def unnamed_program(at):
    descriptor = os.memfd_create("x")
    os.write(descriptor, open("/bin/true", "rb").read())
    in_child(lambda: os.execve(descriptor, ["true"], {}))
def unnamed_file(at): os.close(os.memfd_create("x"))
def outlive_parent(at): call(CALLS[3], 1, 0, 0, 0, 0)
def lock_given(at): fcntl.flock(at["given"], fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.flock(at["given"], fcntl.LOCK_UN)
def lock_part_of_given(at): fcntl.lockf(at["given"], fcntl.LOCK_SH | fcntl.LOCK_NB, 1)
def lease_of_given(at): fcntl.fcntl(at["given"], fcntl.F_SETLEASE, fcntl.F_RDLCK)
def mark_given(at):
    flags = bytearray(8)
    fcntl.ioctl(at["given"], 0x80086601, flags)
    fcntl.ioctl(at["given"], 0x40086602, bytes(flags))

EVERYWHERE = [
    write_home, make_folder, link, delete, open_to_all, read_key, list_home, read_neighbour, read_state, write_state,
    tcp, tcp_listen, udp, unix, abstract, exec_program, fork, signal_parent, signal_group, ptrace_parent,
    memory_of_parent, files_of_parent, open_memory_of_parent, pin_parent, semaphore, origin, where_link_leads, handle,
    own_memory_by_name, terminal, unnamed_program, unnamed_file, outlive_parent, lock_given, lock_part_of_given,
    lease_of_given, mark_given,
]

def attack(request, limits, **others):
    path = others.get("path") or request
    TARGETS["given"] = open_unbuffered(path.rpartition("#")[0] or path)
    done = []
    for one in EVERYWHERE:
        try:
            one(TARGETS)
        except (OSError, sqlite3.Error, AssertionError):
            continue
        done.append(one.__name__)
    return done
"""


@pytest.fixture
def attacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The attacks as a module that workers can load, with all that they are after."""
    home, data = tmp_path / "home", tmp_path / "data"
    (home / ".ssh").mkdir(parents=True)
    data.mkdir()
    (home / ".ssh" / "id_rsa").write_text("the private key")
    for name in ("given.txt", "neighbour.txt", "gone.txt"):
        (home / name).write_text("heron")
    with sqlite3.connect(data / "state.sqlite") as state:
        state.execute("CREATE TABLE secrets (name)")
    state.close()
    tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(type=socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    (home / "symlink").symlink_to("where it leads")
    libc = ctypes.CDLL(None)
    semaphore = libc.semget(0, 1, 0o600)
    unix, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    unix.bind(str(data / "line"))
    abstract.bind(f"\0{tmp_path}")
    for one in (unix, abstract):
        one.listen(8)
    targets = {
        "home": str(home), "neighbour": str(home / "neighbour.txt"), "state": str(data / "state.sqlite"),
        "tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1], "unix": str(data / "line"),
        "abstract": f"\0{tmp_path}", "semaphore": semaphore, "symlink": str(home / "symlink"),
    }  # fmt: skip
    (tmp_path / "attacks.py").write_text(f"{ATTACKS}\nTARGETS = {targets!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    import attacks

    yield attacks
    del sys.modules["attacks"]
    libc.semctl(semaphore, 0, 0)
    for one in (tcp, udp, unix, abstract):
        one.close()


def told(pool: WorkerPool[Any], request: str) -> Any:
    with pool:
        ((_, outcome),) = pool.run([FileEntry(request, 5, 0, 0, 0)])
    return outcome


def test_an_attack_succeeds_in_a_worker_that_keeps_its_rights(attacks: ModuleType) -> None:
    """Each of them is real: the same functions, in a process that has not given up anything."""
    pool = WorkerPool(attacks.attack, n_workers=1, seconds=60, memory_mb=500, files_of=None)
    assert told(pool, attacks.TARGETS["neighbour"]) == [attack.__name__ for attack in attacks.EVERYWHERE]


def of_index(tmp_path: Path) -> WorkerPool[Any]:
    return reader_pool(Settings(), Paths(tmp_path / "config", tmp_path / "data"))


def of_pictures(tmp_path: Path) -> WorkerPool[Any]:
    return _make_pool()


def of_recognition(tmp_path: Path) -> WorkerPool[Any]:
    catalogue = SimpleNamespace(generation=0)
    recognising = Recognising(Settings().ocr, Paths(tmp_path, tmp_path), catalogue, lambda progress: None)
    assert recognising._pool is not None, recognising.why_none
    return recognising._pool


def of_speech(tmp_path: Path) -> WorkerPool[Any]:
    recognising = Recognising(
        Settings().speech, Paths(tmp_path, tmp_path), SimpleNamespace(generation=0), lambda progress: None
    )
    if recognising._pool is None:
        pytest.skip(recognising.why_none)
    return recognising._pool


@pytest.mark.parametrize("make", [of_index, of_pictures, of_recognition, of_speech])
def test_a_reader_that_is_taken_over_gets_nothing(
    attacks: ModuleType, tmp_path: Path, make: Callable[[Path], WorkerPool[Any]]
) -> None:
    """No file that it was not given, no state, no network, no program, no other process; nothing is changed."""
    pool = make(tmp_path)
    pool._order, pool._decoder = replace(pool._order, function=attacks.attack), msgspec.msgpack.Decoder()
    given = str(tmp_path / "home" / "given.txt")
    assert told(pool, address_of(given, 0, (9, 9)) if make is of_pictures else given) == []
    assert not (tmp_path / "home" / ".bashrc").exists()
    assert (tmp_path / "home" / "gone.txt").exists()


HEADERS = {"x86_64": "#include <asm/unistd_64.h>", "aarch64": "#include <asm-generic/unistd.h>"}


@pytest.mark.skipif(not shutil.which("cc") or platform.machine() != "x86_64", reason="needs the kernel's headers")
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_each_number_is_that_of_the_kernel(machine: str) -> None:
    """On both machines: that of aarch64 is the list that all newer ones share."""
    macros = "".join(f"#define __ARCH_WANT_{name}\n" for name in ("RENAMEAT", "SYS_CLONE3", "SET_GET_RLIMIT"))
    source = f"#define __BITS_PER_LONG 64\n{macros}{HEADERS[machine]}\n"
    done = subprocess.run(["cc", "-E", "-dM", "-"], input=source, capture_output=True, text=True, check=False)
    known = dict(re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)$", done.stdout, flags=re.MULTILINE))
    if not known:
        pytest.skip("the kernel's headers are not installed")
    column, _ = confinement._MACHINES[machine]
    for table in ("_REFUSED", "_STARTING", "_ABSENT", "_LOOKED_AT"):
        for name, number in confinement._numbers(getattr(confinement, table), column).items():
            assert known.get(name, str(number)) == str(number), name
        for row in getattr(confinement, table).split(","):
            name, value = row.split()[0], row.split()[1 + column]
            assert value != "-" or name not in known, name


def test_a_list_ends_with_an_answer_for_every_call() -> None:
    """Each jump stays within the list, which the kernel takes up to 4,096 instructions of."""
    for machine in confinement._MACHINES:
        lines = [*confinement._of_all(machine, may_start=False), *confinement._of_process(machine, 1234)]
        assert len(lines) < 4_096
        assert lines[-1] == (confinement._ANSWER, 0, 0, confinement._ALLOW)
        for at, (code, when, otherwise, _) in enumerate(lines):
            assert code in (confinement._LOAD, confinement._ANSWER) or at + 1 + max(when, otherwise) < len(lines)
            assert max(when, otherwise) < 256
