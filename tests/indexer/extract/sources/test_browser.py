"""Bookmarks and visited pages."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from indexer.errors import ExtractionError
from indexer.extract.source import Limits, Source
from indexer.extract.sources.browser import read_chromium, read_firefox
from tests.indexer.extract.sources.browser_profiles import VISIT, make_chromium, make_places


def at(path: Path) -> Source:
    return Source(name=str(path), path=str(path))


def test_firefox_gives_a_document_for_each_address(tmp_path: Path) -> None:
    """The bookmark's own title, folder and tag; the page's description; no frame and no address of the program."""
    make_places(tmp_path / "places.sqlite")
    soup, heron = read_firefox(at(tmp_path / "places.sqlite"), Limits()).documents
    assert (heron.title, heron.text, heron.modified) == ("Heron page", "All about herons", VISIT)
    assert heron.properties == (("url", "https://birds.example/heron"),)
    assert (soup.title, soup.text, soup.modified) == ("Leek soup", "Folder: Recipes", VISIT - 60)
    assert set(soup.properties) == {("url", "https://soup.example/"), ("tag", "bookmark"), ("tag", "winter")}
    assert {heron.type, soup.type} == {"site"}


def test_a_profile_of_before_there_were_descriptions_is_read_too(tmp_path: Path) -> None:
    """Its pages have their titles alone."""
    file = make_places(tmp_path / "places.sqlite", keep_log=True)
    file.execute("ALTER TABLE moz_places DROP COLUMN description")
    file.close()
    _, heron = read_firefox(at(tmp_path / "places.sqlite"), Limits()).documents
    assert (heron.title, heron.text) == ("Heron page", "")


def test_a_file_that_a_browser_has_open_is_read_with_its_log_and_not_touched(tmp_path: Path) -> None:
    """All rows lie in the write-ahead log alone; the folder holds the same bytes after reading."""
    file = make_places(tmp_path / "places.sqlite", keep_log=True)
    file.execute("BEGIN EXCLUSIVE")

    def digests() -> dict[str, str]:
        return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in tmp_path.iterdir()}

    before = digests()
    assert (tmp_path / "places.sqlite-wal").stat().st_size > 0
    assert len(read_firefox(at(tmp_path / "places.sqlite"), Limits()).documents) == 2
    assert digests() == before
    file.close()


def test_bookmarks_and_the_newest_pages_are_kept_where_there_are_too_many(tmp_path: Path) -> None:
    """Room for two of three addresses: the bookmark, however old, and the page visited last; a note says so."""
    file = make_places(tmp_path / "places.sqlite", keep_log=True)
    for number, address in ((5, "https://birds.example/crane"), (6, "https://birds.example/stork")):
        visit = (VISIT + number) * 1_000_000
        file.execute("INSERT INTO moz_places VALUES (?, ?, ?, 0, ?, NULL)", (number, address, address[-5:], visit))
    file.commit()
    file.close()
    found = read_firefox(at(tmp_path / "places.sqlite"), Limits(max_messages=2))
    assert [one.title for one in found.documents] == ["Leek soup", "stork"]
    assert found.notes == ("only the newest 2 pages, bookmarks first",)


def test_chromium_gives_bookmarks_and_visits(tmp_path: Path) -> None:
    """Times since 1601 become times since 1970; what is no address of the web is left out."""
    make_chromium(tmp_path)
    (king,) = read_chromium(at(tmp_path / "Bookmarks"), Limits()).documents
    assert (king.title, king.text, king.modified) == ("Kingfisher", "Folder: Birds", VISIT)
    assert king.properties == (("url", "https://birds.example/kingfisher"), ("tag", "bookmark"))
    (sea,) = read_chromium(at(tmp_path / "History"), Limits()).documents
    assert (sea.title, sea.part, sea.modified) == ("The sea", "https://sea.example/", VISIT)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"roots": 5}', b"SQLite format 3\0 and no more"])
def test_what_is_no_profile_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "Bookmarks").write_bytes(content)
    with pytest.raises(ExtractionError):
        read_chromium(at(tmp_path / "Bookmarks"), Limits())
