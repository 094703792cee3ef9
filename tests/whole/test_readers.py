"""The examples of docs/readers.md, installed as they stand there: readers that packages add, in a confined process."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.app.conftest import Device, make_device

ROOT = Path(__file__).resolve().parents[2]
POEM = "The Heron\nAda Byron\nGrey by the water it stands\n"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages in it, as pip installs them."""
    folder = tmp_path_factory.mktemp("reader")
    page = (ROOT / "docs" / "readers.md").read_text(encoding="utf-8")
    for name, content in re.findall(r"^```\w+ file=(\S+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--target"]
    subprocess.run([*command, folder / "site", folder, folder / "source"], check=True)
    return folder / "site"


@pytest.fixture
def device(tmp_path: Path) -> Device:
    """With one poem, and one that is none."""
    device = make_device(tmp_path)
    (device.notes / "heron.poem").write_text(POEM)
    (device.notes / "short.poem").write_text("The Heron\n")
    return device


def test_an_installed_reader_is_used_until_it_is_gone(device: Device, reader: Path) -> None:
    """Indexed as text before, then by the package, title and author apart, and as text again; `doctor` names it."""
    with_it = {"PYTHONPATH": f"{reader}{os.pathsep}{ROOT}"}
    asked = ("search", "author:byron type:document", "--format", "{title}")
    device.index()
    assert device.run(*asked).stdout == ""
    assert device.run("index", "-q", env=with_it).returncode == 0
    assert device.run(*asked).stdout == "The Heron\n"
    failures = device.run("status", "--failures").stdout
    assert f"{device.notes / 'short.poem'}\tmalformed\ta poem has a title, an author and a line" in failures
    assert ".poem is read by poem_reader:extract" in device.run("doctor", env=with_it).stdout
    device.run("index", "-q")
    assert device.run(*asked).stdout == ""
    assert "heron.poem" in device.run("search", "grey water").stdout


def test_what_a_reader_may_not_it_cannot(device: Device, reader: Path, tmp_path: Path) -> None:
    """One that opens another file is refused by the system, where it confines readers; the failure is that file's."""
    done = device.run("doctor")
    if "a reader can reach only the file that it reads" not in done.stdout:
        pytest.skip("this system does not confine readers")
    other = tmp_path / "site"
    other.mkdir()
    for path in reader.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            copy = other / path.relative_to(reader)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    (device.home / "secret.txt").write_text("what nobody may read")
    text = (other / "poem_reader.py").read_text()
    stolen = text.replace("    lines = ", f"    open({str(device.home / 'secret.txt')!r}).read()\n    lines = ", 1)
    (other / "poem_reader.py").write_text(stolen)
    device.run("index", "-q", str(device.notes), env={"PYTHONPATH": f"{other}{os.pathsep}{ROOT}"})
    failures = device.run("status", "--failures").stdout
    assert f"{device.notes / 'heron.poem'}\tunreadable\tPermission denied" in failures


def test_a_source_of_ones_own_gives_the_notes_of_a_database(device: Device, reader: Path) -> None:
    """Each under its title and date, what only the log holds too; its address opens once its scheme is allowed, and
    no other database is read."""
    with_it = {"PYTHONPATH": f"{reader}{os.pathsep}{ROOT}"}
    folder = device.home / ".config" / "joplin-desktop"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "database.sqlite")) as notes:
        notes.execute("PRAGMA journal_mode = WAL")
        notes.execute("CREATE TABLE notes (id TEXT, title TEXT, body TEXT, updated_time INTEGER)")
        notes.execute("INSERT INTO notes VALUES ('a1', 'Herons', 'They stand by the weir', 1700000000000)")
        notes.execute("INSERT INTO notes VALUES ('b2', 'Weir', 'The weir was mended', 1600000000000)")
        notes.commit()
        (folder / "other.sqlite").write_bytes((folder / "database.sqlite").read_bytes())
        done = device.run("index", "-q", str(folder), env=with_it)
    assert done.returncode == 0, done.stderr
    asked = ("search", "weir mended", "--format", "{title} {modified} {path}")
    assert device.run(*asked).stdout.startswith("Weir 2020-09-13")
    assert len(device.run("search", "weir", "--paths0").stdout.split("\0")[:-1]) == 2
    assert "database.sqlite is read by joplin_reader:extract" in device.run("doctor", env=with_it).stdout
    device.run("search", "weir mended")
    refused = device.run("open", "1", env={"DISPLAY": ":9"})
    assert "wanted an address of the web, or of a scheme in open.addresses, got 'joplin://" in refused.stderr
    shown = device.run("open", "1", "--print", env={"FOLTR_OPEN__ADDRESSES": '["joplin"]', "BROWSER": "true"})
    assert "joplin://x-callback-url/openNote?id=b2" in shown.stdout + shown.stderr
