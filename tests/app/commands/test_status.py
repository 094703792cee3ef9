"""`status` as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from app.chosen_folders import remember_root
from app.paths import Paths
from indexer.storage.file_lock import take_lock

if TYPE_CHECKING:
    from tests.app.conftest import Device


def test_status_counts_and_lists_failures(device: Device) -> None:
    """A file that cannot be read is counted, listed with its reason and found by its name; the others are indexed."""
    (device.notes / "broken.pdf").write_bytes(b"%PDF-1.7\nthis is no PDF")
    device.index()
    status = json.loads(device.run("status", "--json", "--failures").stdout)
    assert (status["v"], status["n_documents"], status["n_failures"]) == (1, 6 + 1, 1)
    assert status["roots"] == [{"path": str(device.notes)}]
    (failure,) = status["failures"]
    assert failure["path"] == str(device.notes / "broken.pdf")
    assert failure["reason"]
    assert device.run("status", "--failures").stdout.startswith(f"{device.notes / 'broken.pdf'}\t{failure['kind']}\t")
    assert "7; 6 files read" in device.run("status").stdout


def test_folders_that_are_chosen_and_not_read_yet_are_named(device: Device) -> None:
    """As after a restore, or if the first index did not finish."""
    remember_root(Paths(device.home, device.data_dir), device.notes)
    assert f"folders:      {device.notes}\n" in device.run("status").stdout


def test_an_index_of_another_version_is_named_beside_what_is_known(device: Device) -> None:
    """As after an upgrade: the files and folders are still those of the catalogue."""
    device.index()
    (contents,) = Paths(device.home, device.data_dir).index.glob("_v*.toc")
    contents.rename(contents.with_name("_v1_1.toc"))
    told = device.run("status")
    assert "made by another version of the program (_v1_1.toc); `foltr-search index` rebuilds it" in told.stderr
    assert f"folders:      {device.notes}\n" in told.stdout
    asked = device.run("why", str(next(device.notes.rglob("*.txt"))))
    assert asked.returncode == 2, "no file can be found"
    assert "`foltr-search index` rebuilds it" in asked.stderr
    for question in (["heron"], ["--like", str(next(device.notes.rglob("*.txt")))]):
        assert "`foltr-search index` rebuilds it" in device.run("search", *question).stderr


def test_while_an_index_is_made_a_search_names_who_makes_it(device: Device) -> None:
    """As after an upgrade, before the first commit, when the advice to index would be wrong."""
    folder = Paths(device.home, device.data_dir).index
    assert "to begin: `foltr-search index FOLDER`" in device.run("search", "heron").stderr
    told = "nothing can be searched yet; indexing is under way: foltr-search watch (process"
    lock = take_lock(folder, "foltr-search watch")
    try:
        assert told in device.run("search", "heron").stderr
        assert told in device.run("review", "--plain", "heron").stderr
    finally:
        lock.close()


def test_an_archive_of_many_damaged_files_is_one_line(device: Device) -> None:
    """Of 40 members that cannot be read some are named and the rest are counted."""
    with zipfile.ZipFile(device.notes / "many.zip", "w") as archive:
        for i in range(40):
            archive.writestr(f"{i:02}.pdf", "%PDF-1.7 broken")
    device.index()
    (line,) = device.run("status", "--failures").stdout.splitlines()
    path, kind, reason = line.split("\t")
    assert (path, kind) == (str(device.notes / "many.zip"), "part")
    assert reason.startswith("00.pdf: ")
    assert reason.endswith("; and 37 more")
    assert "0 files; 1 place in or beside others (--failures lists them)" in device.run("status").stdout


def test_a_file_of_the_year_2300_is_found_and_stops_nothing(device: Device) -> None:
    """A date beyond what a database can store becomes the nearest possible one; the file is found."""
    path = device.notes / "later.txt"
    path.write_text("a heron of the future")
    os.utime(path, (10_413_792_000, 10_413_792_000))
    if path.stat().st_mtime != 10_413_792_000:
        pytest.skip("the file system does not take such a date")
    device.index()
    found = json.loads(device.run("search", "heron", "--order", "modified", "--json").stdout.splitlines()[0])
    assert (found["path"], found["modified"][:10]) == (str(path), "2262-04-11")
    assert device.run("status", "--failures").stdout == ""


def test_pictures_that_nothing_here_can_read_do_not_wait(device: Device) -> None:
    """Without an engine status names what is missing and the line that installs it."""
    (device.notes / "scan.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(5000))
    device.index()
    waits = "pictures:     text recognised in 0, 1 wait (`index --ocr`, ocr.background)\n"
    assert waits in device.run("status").stdout or find_spec("rapidocr") is None
    status = device.run("status", "--set", "ocr.engine=tesseract", env={"PATH": ""}).stdout
    assert "pictures:     text recognised in 0, not in 1: tesseract or Pillow missing: apt install tesseract" in status
    assert "wait" not in status


def test_folders_that_are_away_are_named(device: Device) -> None:
    """A missing chosen folder is named with a remedy, until it is forgotten."""
    device.index()
    shutil.move(device.notes, device.notes.with_name("elsewhere"))
    device.run("index", "-q")
    status = device.run("status").stdout
    assert f"{device.notes} cannot be read now; 6 files are kept" in status
    assert f"index --forget {device.notes}" in status
    (line,) = json.loads(device.run("status", "--json").stdout)["away"]
    assert line.startswith(str(device.notes))


def test_folders_that_rules_leave_out_are_named_with_their_numbers(device: Device) -> None:
    """Most files first, with the remedy; `why` says the same of a file in it, and following it the file is found."""
    for n in range(4):
        mail = device.notes / f".Archive/cur/{n}.host:2,S"
        mail.parent.mkdir(parents=True, exist_ok=True)
        mail.write_text(f"From: a@example.org\nSubject: Medlar {n}\n\njelly\n")
    (device.notes / ".Archive/new").mkdir()
    (device.notes / ".secret").mkdir()
    (device.notes / ".secret/a.txt").write_text("x")
    device.index()
    helps = "`foltr-search index --source maildir` includes it"
    shown = device.run("status").stdout
    assert "left out:     5 files (`foltr-search status --left-out` lists them)" in shown
    assert f"{device.notes / '.Archive'}, 4 files, hidden, {helps}" in shown
    first, second = device.run("status", "--left-out").stdout.splitlines()
    assert first == f"{device.notes / '.Archive'}\t4 files\thidden\t{helps}"
    assert second.startswith(f"{device.notes / '.secret'}\t1 file\thidden\t")
    found = json.loads(device.run("status", "--json", "--left-out").stdout)["left_out"]
    assert [(one["n_files"], one["rule"]) for one in found] == [(4, "hidden"), (1, "hidden")]
    assert helps in device.run("why", str(mail)).stdout
    device.run("index", "--source", "maildir")
    assert len(device.run("search", "jelly").stdout.splitlines()) > 3
    assert str(device.notes / ".Archive") not in device.run("status", "--left-out").stdout


def test_the_size_is_that_of_all_that_lies_in_the_data_folder(device: Device) -> None:
    """As `du` counts it, not only the index."""
    device.index()
    device.run("status")  # makes what a first question makes
    there = sum(path.stat().st_size for path in device.data_dir.rglob("*"))
    status = json.loads(device.run("status", "--json").stdout)
    assert status["index_bytes"] + 40_000 < there
    assert there <= status["data_bytes"] <= there + 200_000  # SQLite's logs are there while it looks
