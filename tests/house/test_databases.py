"""SQLite files of the program's own are opened by SQLite alone: by what is written, and by what is done."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

from indexer.storage.file_lock import FileLock
from tests import copied
from tests.app.conftest import make_device
from tests.app.resident.conftest import PATIENCE, serving
from tests.tiny_encoder import write_encoder
from tests.waiting import until
from tests.whole.test_many_hands import EVERYTHING, OTHERS, SCREEN, SEARCHING, working

ROOT = Path(__file__).resolve().parents[2]
CONNECTING = {"indexer/storage/sqlite_files.py"}
"""where a file of our own is opened"""
OPENING = {
    "open", "fdopen", "read_bytes", "write_bytes", "read_text", "write_text", "copyfile", "copy", "copy2",
    "touch", "mkstemp", "truncate", "sync", "replace_durably", "create_durably",
}  # fmt: skip
OF_SQLITE = re.compile(r"\b(state|catalogue|STATE|database|recognised|RECOGNISED)\b|sqlite", re.ASCII)
ALLOWED = {("app/backup.py", "create_durably(state, restored.content())")}
"""a new name, which no process has open"""


@cache
def calls() -> list[tuple[str, ast.Call, str]]:
    """Each call of the product that connects or opens a file: where it is, the call, and how it is written."""
    return [
        (str(path.relative_to(ROOT)), node, ast.unparse(node))
        for house in ("app", "indexer", "federation_server")
        for path in sorted((ROOT / house).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and name_of(node) in {*OPENING, "connect"}
    ]


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def test_connections_are_made_in_one_place() -> None:
    """Anywhere else `sqlite3.connect` is given a database in memory, or a nameless one."""
    elsewhere = [
        (file, source)
        for file, call, source in calls()
        if source.startswith("sqlite3.connect(") and file not in CONNECTING
        and not (isinstance(call.args[0], ast.Constant) and call.args[0].value in ("", ":memory:"))
    ]  # fmt: skip
    assert elsewhere == []


def opening() -> Iterator[tuple[str, str, str]]:
    """Each call of the product that opens a file: its file, how it is written, and what it names."""
    for file, call, source in calls():
        if name_of(call) in OPENING and not source.startswith("Catalogue.open(") and (file, source) not in ALLOWED:
            named = [*call.args[:1], *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
            yield file, source, " ".join(map(ast.unparse, named))


def test_no_call_that_opens_a_file_names_a_database() -> None:
    """Neither the object that is opened nor its first argument; `Catalogue.open` and its like are no such calls."""
    assert [(file, source) for file, source, named in opening() if OF_SQLITE.search(named)] == []


def test_what_knows_databases_opens_no_other_file() -> None:
    """So that no path in it can be one; but for locks, the system's own files, and those of other programs."""
    knowing = {
        str(path.relative_to(ROOT))
        for house in ("app", "indexer", "federation_server")
        for path in (ROOT / house).rglob("*.py")
        if re.search(r"^(import sqlite3|from indexer.storage.sqlite_files)", path.read_text(), re.MULTILINE)
    }
    assert {"app/store.py", "indexer/storage/catalogue.py"} <= knowing
    others = {"indexer/storage/file_lock.py", "indexer/extract/sources/sqlite_file.py", "app/cli.py", "app/checkup.py"}
    assert [(file, source) for file, source, _ in opening() if file in knowing - others] == []


# An audit hook sees each file that Python opens, also for C code, and none that SQLite opens.
GUARD = """
import os, sys

def told(event, arguments):
    name = arguments[0] if event in ("open", "shutil.copyfile") else ""
    if isinstance(name, (str, bytes)) and ".sqlite" in os.fsdecode(name):
        os.write(LOG, f"{os.fsdecode(name)} by {sys.argv}\\n".encode())

LOG = os.open(os.environ["OPENED_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sys.addaudithook(told)
"""


SERVER = "import sys; from federation_server.cli import main; sys.exit(main(sys.argv[1:]))"


def test_python_opens_none_of_them_whatever_is_done(tmp_path: Path) -> None:
    """A life of a device and of a server, each process of it watched: commands, the resident process, the screen, a
    background sync, vectors, moves, a backup and a restore."""
    device = make_device(tmp_path)
    guard, log = tmp_path / "guard", tmp_path / "opened"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(GUARD, encoding="ascii")
    watched = {
        "PYTHONPATH": f"{guard}:{ROOT}", "OPENED_LOG": str(log), "FOLTR_SERVER_FOLDER": str(tmp_path / "server"),
        "FOLTR_MEANING__ENABLED": "true", "FOLTR_MEANING__MODEL": str(write_encoder(tmp_path / "encoder")),
        "FOLTR_MEANING__PAUSE_ON_BATTERY": "false",
    }  # fmt: skip
    device.config_file.write_text(EVERYTHING)

    def run(*arguments: str, code: str = copied.COMMAND) -> None:
        variables = device.environment(**watched)
        done = copied.run(arguments, variables=variables, cwd=device.home, code=f"{GUARD}\n{code}")
        assert done.returncode in (0, 1), (arguments, done.stderr)

    run("index", str(device.notes))
    with serving(device, code=f"{GUARD}\n{copied.COMMAND}", **watched):
        for line in ("search fish", "search --strength 0.5 fish", "open 1 --print", "stats", "history", "why fish"):
            run(*line.split())
        (device.notes / "birds").rename(device.notes / "water birds")
        run("index")
    for other in OTHERS:
        with working(device, SCREEN if other == "screen" else SEARCHING, other, **watched) as process:
            for said in ("ready\n", "opened\n"):
                assert process.stdout is not None
                assert process.stdin is not None
                assert process.stdout.readline() == said
                process.stdin.write("\n")
                process.stdin.flush()
            assert process.wait(PATIENCE) == 0
    with closing(FileLock(device.data_dir / "watch.lock")) as lock:
        until(lock.take)  # the screen's follower ends after its screen
    for line in ("backup --to kept.zip", "restore --yes kept.zip", "doctor", "status", "model forget --yes"):
        run(*line.split())
    run("purge", "--yes")
    for line in ("init", "invite --note Ada", "doctor", "backup --to group.backup"):
        run(*line.split(), code=SERVER)
    assert list((tmp_path / "server").glob("*.sqlite"))
    assert log.read_text() == ""
