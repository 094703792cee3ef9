"""The answer to "why is my file not found?", for each thing that can keep a file out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from indexer.confined.pool import WorkerPool
from indexer.documents import Skipped
from indexer.files.crawl import Crawl, CrawlRules
from indexer.files.why_not_indexed import Why, left_out, remedy, why
from indexer.prepare import PreparedFile
from indexer.storage.catalogue import Catalogue
from indexer.storage.catalogue_writing import note_scan
from indexer.update import Job, Updater, open_catalogue


@pytest.fixture
def tree(tmp_path: Path, pool: WorkerPool[PreparedFile]) -> Path:
    """An indexed tree with one file for each reason."""
    root = tmp_path / "files"
    for name in (
        "good.txt",
        "a/b.log",
        "node_modules/x/y.js",
        ".secret/x.txt",
        "font.ttf",
        "c.pyc",
        "old.txt",
        "gone.txt",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("text")
    (root / "a" / ".gitignore").write_text("*.log\n")
    (root / "bad.pdf").write_text("%PDF-1.4 broken")
    (root / "big.txt").write_bytes(b"x" * 3000)
    os.mkfifo(root / "fifo")
    catalogue, _ = open_catalogue(tmp_path / "index", tmp_path / "catalogue.sqlite")
    job = Job(tmp_path / "index", catalogue, (str(root),), CrawlRules(max_bytes={"text": 2000}), "the test", "1")
    Updater(job, pool).scan()
    (root / "old.txt").write_text("changed since")
    (root / "gone.txt").unlink()
    (root / "new.txt").write_text("new")
    return root


def ask(tree: Path, name: str) -> Why:
    catalogue = Catalogue.open(tree.parent / "catalogue.sqlite")
    return why(
        os.path.normpath(tree / name),
        roots=[str(tree)],
        rules=CrawlRules(max_bytes={"text": 2000}),
        catalogue=catalogue,
    )


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("good.txt", "indexed", "1 document"),
        ("old.txt", "changed", "changed since"),
        ("new.txt", "new", "next scan"),
        ("bad.pdf", "failed", "could not be read"),
        ("gone.txt", "missing", "no such file"),
        ("never.txt", "missing", "no such file"),
        ("a/b.log", "skipped", "'*.log' in {tree}/a/.gitignore"),
        ("node_modules/x/y.js", "skipped", "the folder above it, {tree}/node_modules, is skipped"),
        (".secret/x.txt", "skipped", "index.hidden is off"),
        ("font.ttf", "named", "found by its name, folder, date and size"),
        ("font.ttf", "named", "files that end in .ttf are not read"),
        ("c.pyc", "skipped", ".pyc"),
        ("big.txt", "failed", "3 kB, and the limit for the type 'text' is 2 kB"),
        ("big.txt", "failed", "it is found by its name"),
        ("fifo", "skipped", "FIFO"),
        ("../elsewhere.txt", "outside", "outside the folders that are indexed: {tree}"),
        ("a", "folder", "0 files"),
        ("", "folder", "4 files"),  # good, old, the font, and gone, which is still indexed
        ("", "folder", "1 of them by their names alone"),
    ],
)
def test_each_reason_is_named(tree: Path, name: str, status: str, said: str) -> None:
    """The status is right, and the first line names the rule, the pattern, the limit or the error."""
    answer = ask(tree, name)
    assert answer.status == status
    assert said.format(tree=tree) in "\n".join(answer.lines[:2])


def test_a_removed_file_that_is_still_indexed_says_so(tree: Path) -> None:
    """Until the next scan a deleted file is still in the index."""
    assert "next scan removes it" in ask(tree, "gone.txt").lines[-1]


def test_a_folder_lists_what_was_passed_over_in_it(tree: Path) -> None:
    """Asked about the root, the answer names the pruned folders and special files."""
    text = "\n".join(ask(tree, "").lines)
    for name in ("node_modules", "fifo", ".pyc (1)", ".secret"):
        assert name in text


def test_the_rule_that_passes_something_over_can_be_printed(tmp_path: Path) -> None:
    """The folder of an ignore file may have any name."""
    catalogue = Catalogue.open(tmp_path / "catalogue.sqlite")
    skipped = Skipped(str(tmp_path / "a"), "ignored", "pattern '*' in /x\x1b[31m/.gitignore")
    note_scan(catalogue, roots=[str(tmp_path)], skipped=[skipped], by_rule={})
    lines = why(str(tmp_path), roots=[str(tmp_path)], rules=CrawlRules(), catalogue=catalogue).lines
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize(("n_more", "last"), [(0, "skipped: "), (1, "and 1 more")])
def test_twenty_are_named_and_the_rest_is_counted(tmp_path: Path, n_more: int, last: str) -> None:
    """Nothing is counted where all are named."""
    catalogue = Catalogue.open(tmp_path / "catalogue.sqlite")
    skipped = [Skipped(str(tmp_path / f"{number:03d}"), "special", "a FIFO") for number in range(20 + n_more)]
    note_scan(catalogue, roots=[str(tmp_path)], skipped=skipped, by_rule={})
    lines = why(str(tmp_path), roots=[str(tmp_path)], rules=CrawlRules(), catalogue=catalogue).lines
    assert lines[-1].startswith(last)
    assert sum(line.startswith("skipped: ") for line in lines) == 20


def test_a_root_that_is_passed_over_is_one_file(tmp_path: Path) -> None:
    """A single file of a type that is not indexed, named as a root, counts as itself."""
    (file := tmp_path / "a.pyc").touch()
    catalogue, skipped = Catalogue.open(tmp_path / "catalogue.sqlite"), list(Crawl([str(file)], CrawlRules()))
    note_scan(catalogue, roots=[str(file)], skipped=[one for one in skipped if isinstance(one, Skipped)], by_rule={})
    assert [(one.path, one.n_files) for one in left_out(catalogue)] == [(str(file), 1)]


def test_a_hidden_folder_of_mails_is_taken_in_by_its_source(tmp_path: Path) -> None:
    """Any other hidden folder by a setting."""
    for folder in ("cur", "new"):
        (tmp_path / ".mail" / folder).mkdir(parents=True)
    assert remedy(str(tmp_path / ".mail"), "hidden") == "`foltr-search index --source maildir` includes it"
    assert "index.hidden" in remedy(str(tmp_path / ".mail" / "cur"), "hidden")
