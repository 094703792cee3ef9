"""Texts that were shown lately are not unpacked again, and never older than the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.following.indexing import update_index
from app.search import document_texts
from app.search.document_texts import RecentTexts
from app.settings import IndexSettings, Paths, Settings
from indexer.storage.catalogue import Catalogue

SETTINGS = Settings(index=IndexSettings(workers=1))


class Counting(Catalogue):
    """Says which texts were read."""

    read: list[int]

    def text(self, doc_id: int) -> str:
        self.read.append(doc_id)
        return super().text(doc_id)


@pytest.fixture
def index(tmp_path: Path) -> tuple[Path, Paths, Counting]:
    """A folder of two notes, where they are indexed, and the catalogue."""
    folder, paths = tmp_path / "notes", Paths(tmp_path / "config", tmp_path / "data")
    folder.mkdir()
    (folder / "heron.md").write_text("## Heron\n\nIt waits.\n")
    (folder / "pond.txt").write_text("A pond.\n")
    update_index(SETTINGS, paths, roots=[str(folder)])
    catalogue = Counting(paths.catalogue)
    catalogue.read = []
    return folder, paths, catalogue


def test_a_text_is_read_once_until_the_index_changes(index: tuple[Path, Paths, Counting]) -> None:
    """The second asking reads nothing; after a commit the text is that of the new document, of a removed one ""."""
    folder, paths, catalogue = index
    texts = RecentTexts(catalogue)
    (heron,), (pond,) = (catalogue.doc_ids_of(str(folder / name)) for name in ("heron.md", "pond.txt"))
    now = catalogue.generation
    assert texts.of(pond, now) == "A pond.\n"
    assert texts.of(heron, now) == texts.of(heron, now) == catalogue.text(heron)
    assert texts.of(heron, now, unmarked=True).strip().startswith("Heron")
    assert catalogue.read == [pond, heron, heron]
    (folder / "heron.md").write_text("## Heron\n\nIt flies away.\n")
    (folder / "pond.txt").unlink()
    update_index(SETTINGS, paths, roots=[str(folder)])
    now = catalogue.generation
    (newer,) = catalogue.doc_ids_of(str(folder / "heron.md"))
    assert "flies" in texts.of(newer, now)
    assert "flies" in texts.of(newer, now, unmarked=True)
    assert not texts.of(pond, now)
    catalogue.close()


def test_no_more_is_kept_than_has_room(index: tuple[Path, Paths, Counting], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is room for one text only the last one is at hand."""
    folder, _, catalogue = index
    monkeypatch.setattr(document_texts, "MOST_KEPT", 10)
    texts = RecentTexts(catalogue)
    heron, pond = (catalogue.doc_ids_of(str(folder / name))[0] for name in ("heron.md", "pond.txt"))
    for doc_id in (heron, pond, pond, heron):
        texts.of(doc_id, 1)
    assert catalogue.read == [heron, pond, heron]
    catalogue.close()
