"""Crawling real trees: what is seen, what is passed over and why, and what is never opened."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from indexer.documents import FileEntry, Skipped
from indexer.files.crawl import Crawl, CrawlRules, Folder, is_below, normal_roots, root_of
from indexer.files.ignore_rules import IgnoreRules

SHARED = Path(os.environ.get("FOLTR_SHARED") or Path(__file__).parents[3].parent / "shared")
ODD_FILES = SHARED / "corpus" / "make_odd_files.sh"


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text")


def files(crawl: Crawl) -> set[str]:
    return {item.path for item in crawl if isinstance(item, FileEntry)}


def skipped(crawl: Crawl) -> dict[str, str]:
    return {item.path: item.rule for item in crawl if isinstance(item, Skipped)}


@contextmanager
def nobody() -> Iterator[None]:
    """Be a user without rights where the tests run as root, for whom nothing is unreadable."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_an_entry_is_what_the_system_says(tmp_path: Path) -> None:
    """Size, time, device and inode of an entry are those of the file."""
    make(tmp_path, "a.txt")
    status = (tmp_path / "a.txt").stat()
    (entry,) = Crawl([str(tmp_path)], CrawlRules())
    assert entry == FileEntry(
        str(tmp_path / "a.txt"), len("text"), status.st_mtime_ns, status.st_dev, status.st_ino, status.st_ctime_ns
    )  # fmt: skip


def test_ignored_folders_are_pruned_and_recorded_once(tmp_path: Path) -> None:
    """A thousand files under node_modules are one line, and none of them is listed."""
    make(tmp_path, "src/a.py", *(f"node_modules/p/{i}.js" for i in range(20)))
    crawl = Crawl([str(tmp_path)], CrawlRules())
    items = list(crawl)
    assert {item.path for item in items if isinstance(item, FileEntry)} == {str(tmp_path / "src/a.py")}
    assert [item.path for item in items if isinstance(item, Skipped)] == [str(tmp_path / "node_modules")]
    assert str(tmp_path / "node_modules/p") not in crawl.folders
    assert crawl.by_rule == {"default-ignore": 1}


def test_a_root_is_never_ignored_by_its_own_name(tmp_path: Path) -> None:
    """Someone who names node_modules or a hidden folder wants it crawled."""
    make(tmp_path, "node_modules/a.js", ".hidden/b.txt")
    roots = [str(tmp_path / "node_modules"), str(tmp_path / ".hidden")]
    assert files(Crawl(roots, CrawlRules())) == {f"{roots[0]}/a.js", f"{roots[1]}/b.txt"}


def test_a_root_inside_an_ignored_folder_of_another_root_is_crawled(tmp_path: Path) -> None:
    """The outer root leaves node_modules out; the inner one asks for a part of it."""
    make(tmp_path, "a.txt", "node_modules/x/b.txt", "node_modules/y/c.txt")
    inner = tmp_path / "node_modules" / "x"
    assert files(Crawl([str(tmp_path), str(inner)], CrawlRules())) == {str(tmp_path / "a.txt"), str(inner / "b.txt")}


def test_overlapping_roots_give_each_file_once(tmp_path: Path) -> None:
    """A root in a root, and the same root twice, change nothing."""
    make(tmp_path, "a/b/c.txt", "a/d.txt")
    roots = [str(tmp_path), str(tmp_path / "a"), f"{tmp_path}/a/../a/", str(tmp_path / "a/b")]
    found = [item.path for item in Crawl(roots, CrawlRules()) if isinstance(item, FileEntry)]
    assert sorted(found) == [str(tmp_path / "a/b/c.txt"), str(tmp_path / "a/d.txt")]
    assert skipped(Crawl(roots, CrawlRules())) == {}


def test_a_nested_ignore_file_holds_only_in_its_tree(tmp_path: Path) -> None:
    """The .gitignore of one folder says nothing about its neighbour."""
    make(tmp_path, "a/x.log", "b/x.log")
    (tmp_path / "a" / ".gitignore").write_text("*.log\n")
    assert files(Crawl([str(tmp_path)], CrawlRules())) == {str(tmp_path / "b/x.log")}
    without = CrawlRules(ignore=IgnoreRules(ignore_files=False))
    assert files(Crawl([str(tmp_path)], without)) == {str(tmp_path / "a/x.log"), str(tmp_path / "b/x.log")}


def test_special_files_are_recorded_and_not_opened(tmp_path: Path) -> None:
    """A FIFO would block and a socket fail: both are named with what they are."""
    os.mkfifo(tmp_path / "fifo.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(tmp_path)  # a socket's name must be short
        try:
            listener.bind("socket.txt")
        finally:
            os.chdir(here)
        found = {item.path: item for item in Crawl([str(tmp_path)], CrawlRules())}
    fifo, sock = found[str(tmp_path / "fifo.txt")], found[str(tmp_path / "socket.txt")]
    assert isinstance(fifo, Skipped)
    assert isinstance(sock, Skipped)
    assert (fifo.rule, sock.rule) == ("special", "special")
    assert "FIFO" in fifo.reason
    assert "socket" in sock.reason


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    """A name with a stray byte, or a newline, comes out as the bytes that went in."""
    names = {b"bad\xff name.txt", b"new\nline.txt"}
    for name in names:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(b"x")
    found = files(Crawl([str(tmp_path)], CrawlRules()))
    assert {os.path.basename(os.fsencode(path)) for path in found} == names


def test_links_are_not_followed_by_default(tmp_path: Path) -> None:
    """Links to files and folders are recorded as links."""
    make(tmp_path, "real/a.txt")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "a-link.txt").symlink_to(tmp_path / "real/a.txt")
    crawl = Crawl([str(tmp_path)], CrawlRules())
    assert skipped(crawl) == {str(tmp_path / "link"): "symlink", str(tmp_path / "a-link.txt"): "symlink"}


def test_a_loop_of_links_is_walked_once(tmp_path: Path) -> None:
    """Followed, a link to a folder above is seen to be the same folder; the files come once, by their real path."""
    make(tmp_path, "a/b/c.txt")
    (tmp_path / "a" / "b" / "loop").symlink_to(tmp_path / "a")
    crawl = Crawl([str(tmp_path)], CrawlRules(follow_symlinks=True))
    items = list(crawl)
    assert [item.path for item in items if isinstance(item, FileEntry)] == [str(tmp_path / "a/b/c.txt")]
    assert [(item.path, item.rule) for item in items if isinstance(item, Skipped)] == [
        (str(tmp_path / "a/b/loop"), "loop")
    ]


def test_a_followed_link_leads_outside(tmp_path: Path) -> None:
    """Followed, a link out of the root brings in what it points to, under the link's path."""
    make(tmp_path, "elsewhere/x.txt")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "root" / "broken").symlink_to(tmp_path / "nowhere")
    crawl = Crawl([str(tmp_path / "root")], CrawlRules(follow_symlinks=True))
    items = {item.path: item for item in crawl}
    assert isinstance(items[str(tmp_path / "root/link/x.txt")], FileEntry)
    broken = items[str(tmp_path / "root/broken")]
    assert isinstance(broken, Skipped)
    assert broken.rule == "unreadable"


def test_a_file_above_its_types_cap_names_both_numbers(tmp_path: Path) -> None:
    """Too large is a failure with its limit, by type, and is found by its name; a rule where names are not wanted."""
    (tmp_path / "big.txt").write_bytes(b"x" * 2001)
    (tmp_path / "big.html").write_bytes(b"x" * 2001)
    rules = CrawlRules(max_bytes={"text": 2000})
    found = {item.path: item for item in Crawl([str(tmp_path)], rules) if isinstance(item, FileEntry)}
    one, other = found[str(tmp_path / "big.txt")], found[str(tmp_path / "big.html")]
    assert (one.failure, other.failure, other.unread) == ("too-large", "", "")
    assert "2 kB" in one.unread
    (item,) = [i for i in Crawl([str(tmp_path)], replace(rules, names=False)) if isinstance(i, Skipped)]
    assert (item.path, item.rule, item.reason) == (str(tmp_path / "big.txt"), "too-large", one.unread)


def test_files_without_text_are_found_by_name(tmp_path: Path) -> None:
    """Programs and fonts are files with the reason why nothing of them is read; what programs leave behind is not."""
    make(tmp_path, "a.ttf", "setup.exe", "libc.so.6", "b.txt", "c.pyc", "d.part", "e.lock")
    found = {Path(item.path).name: item for item in Crawl([str(tmp_path)], CrawlRules()) if isinstance(item, FileEntry)}
    assert {name: bool(item.unread) for name, item in found.items()} == {
        "a.ttf": True, "setup.exe": True, "libc.so.6": True, "b.txt": False,
    }  # fmt: skip
    assert found["a.ttf"].unread == "files that end in .ttf are not read"


def test_types_that_are_not_indexed_are_counted_per_folder(tmp_path: Path) -> None:
    """A hundred fonts are one line with their number, where names are not wanted."""
    make(tmp_path, "a.txt", *(f"photos/{i}.ttf" for i in range(100)))
    crawl = Crawl([str(tmp_path)], CrawlRules(names=False))
    (item,) = [item for item in crawl if isinstance(item, Skipped)]
    assert (item.path, item.rule) == (str(tmp_path / "photos"), "type")
    assert ".ttf (100)" in item.reason
    assert crawl.by_rule == {"type": 100}


def test_archives_can_be_switched_off(tmp_path: Path) -> None:
    """Without archives a ZIP file has a name and nothing more."""
    make(tmp_path, "a.zip")
    assert [item.unread for item in Crawl([str(tmp_path)], CrawlRules()) if isinstance(item, FileEntry)] == [""]
    found = [item for item in Crawl([str(tmp_path)], CrawlRules(archives=False)) if isinstance(item, FileEntry)]
    assert [item.unread for item in found] == ["index.archives is off"]
    assert files(Crawl([str(tmp_path)], CrawlRules(archives=False, names=False))) == set()


def test_an_unreadable_folder_is_recorded_and_its_neighbours_are_not_harmed(tmp_path: Path) -> None:
    """Permission denied is one line; whoever keeps files of that folder knows that nobody could look."""
    make(tmp_path, "closed/a.txt", "open/b.txt")
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    (tmp_path / "closed").chmod(0o000)
    try:
        with nobody():
            crawl = Crawl([str(tmp_path)], CrawlRules())
            items = {item.path: item for item in crawl}
    finally:
        (tmp_path / "closed").chmod(0o700)
    closed = items[str(tmp_path / "closed")]
    assert isinstance(closed, Skipped)
    assert closed.rule == "unreadable"
    assert crawl.unread == [str(tmp_path / "closed")]
    assert str(tmp_path / "open/b.txt") in items


def test_a_root_that_is_gone_is_reported(tmp_path: Path) -> None:
    """A missing root is unread, not empty."""
    crawl = Crawl([str(tmp_path / "usb")], CrawlRules())
    assert skipped(crawl) == {str(tmp_path / "usb"): "unreadable"}
    assert crawl.unread == [str(tmp_path / "usb")]


def test_a_root_may_be_one_file(tmp_path: Path) -> None:
    """A file named as a root is that one file."""
    make(tmp_path, "a.txt", "b.txt")
    assert files(Crawl([str(tmp_path / "a.txt")], CrawlRules())) == {str(tmp_path / "a.txt")}


def test_this_programs_own_folder_is_never_indexed(tmp_path: Path) -> None:
    """A data folder below a root would index its own index."""
    make(tmp_path, "a.txt", "data/catalogue.txt")
    rules = CrawlRules(never=frozenset({str(tmp_path / "data")}))
    assert files(Crawl([str(tmp_path)], rules)) == {str(tmp_path / "a.txt")}


def test_another_file_system_is_not_entered_unless_asked(tmp_path: Path) -> None:
    """A mount below a root is recorded; /dev/shm stands for one where it is a file system of its own."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or shm.stat().st_dev == shm.parent.stat().st_dev:
        pytest.skip("no other file system at /dev/shm")
    assert skipped(Crawl(["/dev"], CrawlRules())).get("/dev/shm") == "mount"
    assert isinstance(Crawl(["/dev"], CrawlRules(cross_mounts=True)).locate("/dev/shm"), Folder)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("kept.txt", ""),
        ("a/kept.txt", ""),
        ("a/dropped.log", "ignored"),
        ("node_modules/x/y.js", "default-ignore"),
        (".secret/x.txt", "hidden"),
        ("photo.ttf", ""),
        ("photo.pyc", "type"),
    ],
)
def test_one_path_is_judged_as_in_the_walk(tmp_path: Path, name: str, rule: str) -> None:
    """`locate` replays the rules along one path and comes to the verdict of the whole walk."""
    make(tmp_path, "kept.txt", "a/kept.txt", "a/dropped.log", "node_modules/x/y.js", ".secret/x.txt")
    make(tmp_path, "photo.ttf", "photo.pyc")
    (tmp_path / "a" / ".gitignore").write_text("*.log\n")
    crawl = Crawl([str(tmp_path)], CrawlRules())
    found = crawl.locate(str(tmp_path / name))
    assert (found.rule if isinstance(found, Skipped) else "") == rule
    assert isinstance(found, FileEntry) == (str(tmp_path / name) in files(Crawl([str(tmp_path)], CrawlRules())))


def test_what_is_not_there_or_outside_is_nothing(tmp_path: Path) -> None:
    """`locate` gives None for missing paths, for paths below a file, and outside the roots."""
    make(tmp_path, "root/a.txt", "outside.txt")
    crawl = Crawl([str(tmp_path / "root")], CrawlRules())
    for name in ("root/gone.txt", "root/a.txt/b", "outside.txt", "root/gone/deep.txt"):
        assert crawl.locate(str(tmp_path / name)) is None


def test_below_gives_a_part_of_the_walk(tmp_path: Path) -> None:
    """Walking one folder gives what the whole walk gives for it."""
    make(tmp_path, "a/1.txt", "a/b/2.txt", "c/3.txt", "a/node_modules/x.js")
    whole = files(Crawl([str(tmp_path)], CrawlRules()))
    part = {i.path for i in Crawl([str(tmp_path)], CrawlRules()).below(str(tmp_path / "a")) if isinstance(i, FileEntry)}
    assert part == {path for path in whole if path.startswith(str(tmp_path / "a") + "/")}


def test_roots_are_made_absolute_once(tmp_path: Path) -> None:
    """`..` and a closing slash do not make another root; the innermost root holds a path."""
    roots = normal_roots([f"{tmp_path}/a/", f"{tmp_path}/b/../a", str(tmp_path)])
    assert roots == (f"{tmp_path}/a", str(tmp_path))
    assert root_of(f"{tmp_path}/a/x", roots) == f"{tmp_path}/a"
    assert root_of(f"{tmp_path}/ab", roots) == str(tmp_path)
    assert root_of("/elsewhere", roots) is None


@pytest.mark.skipif(not ODD_FILES.exists() or not shutil.which("sh"), reason="the shared corpus is not there")
def test_the_odd_files_are_crawled_twice_with_the_same_result(tmp_path: Path) -> None:
    """A link to an ancestor, a FIFO, strange names: each is there once or recorded, on both runs."""
    target = tmp_path / "odd"
    subprocess.run(["sh", str(ODD_FILES), str(target)], check=True, capture_output=True)
    first, second = (set(Crawl([str(target)], CrawlRules())) for _ in range(2))
    assert first == second
    rules = {item.path: item.rule for item in first if isinstance(item, Skipped)}
    assert rules == {str(target / "a/b/loop"): "symlink", str(target / "fifo"): "special"}
    assert len([item for item in first if isinstance(item, FileEntry)]) == len(os.listdir(target)) - 2  # a, fifo


def test_a_folder_below_a_root_is_no_new_root() -> None:
    """A neighbour whose name begins alike is one."""
    assert is_below("/a/b", "/a")
    assert is_below("/a", "/a")
    assert is_below("/a", "/")
    assert not is_below("/ab", "/a")
