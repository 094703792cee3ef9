"""What the tests of indexing share: worker processes, which start slowly, and small indexes of written documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from indexer.confined.pool import WorkerPool
from indexer.documents import ExtractedDocument, FileEntry
from indexer.prepare import PreparedDocument, PreparedFile, prepare_document, prepare_file
from indexer.storage.index import Index

Written = str | Mapping[str, Any]
"""A document's text, or its attributes; beside those of ExtractedDocument, `path`, `size` and `changed` (seconds)"""
MakeIndex = Callable[..., Index]


@pytest.fixture(scope="session")
def pool() -> Iterator[WorkerPool[PreparedFile]]:
    """Real workers, with the limits that a test can wait for."""
    with WorkerPool(prepare_file, n_workers=1, seconds=300, memory_mb=1024) as workers:
        yield workers


def _prepared(doc_id: int, written: Written) -> tuple[int, FileEntry, PreparedDocument]:
    """What `IndexWriter.add` takes for one document."""
    attributes: dict[str, Any] = {"text": written} if isinstance(written, str) else dict(written)
    path = attributes.pop("path", f"/notes/{doc_id}.txt")
    size = attributes.pop("size", 1_000)
    changed = attributes.pop("changed", 1_000_000_000)
    document = ExtractedDocument(**{"text": "", "type": "text", **attributes})
    return doc_id, FileEntry(path, size, int(changed * 1e9), 1, doc_id), prepare_document(document)


def _fill(index: Index, written: Iterable[Written], *, first_id: int = 0) -> int:
    """Add documents in one commit, numbered from `first_id`; the new generation."""
    with index.writer("test") as writer:
        for doc_id, one in enumerate(written, start=first_id):
            writer.add(*_prepared(doc_id, one))
        return writer.commit(merge=False)


@pytest.fixture(scope="session")
def make_index(tmp_path_factory: pytest.TempPathFactory) -> MakeIndex:
    """Makes an index of documents with the ids 0, 1, 2 ...; in `sizes` commits, and without those `removed` later."""

    def make(written: Iterable[Written], *, sizes: Iterable[int] = (), removed: Iterable[int] = ()) -> Index:
        index = Index.open(Path(tmp_path_factory.mktemp("index")))
        left, first = list(written), 0
        for size in (*sizes, len(left)):
            if left[first : first + size]:
                _fill(index, left[first : first + size], first_id=first)
            first += size
        gone = list(removed)
        if gone:
            with index.writer("test") as writer:
                writer.remove(gone)
                writer.commit(merge=False)
        return index

    return make


@pytest.fixture(scope="session")
def fill() -> Callable[..., int]:
    """Adds documents to an index in one commit."""
    return _fill


@pytest.fixture(scope="session")
def prepared() -> Callable[..., tuple[int, FileEntry, PreparedDocument]]:
    """Makes what `IndexWriter.add` takes for one document."""
    return _prepared
