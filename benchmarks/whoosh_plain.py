"""Whoosh without changes, over the same texts: its codec, analyzer, query parser and BM25F. The reference for speed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from indexer.storage.catalogue import Catalogue

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import whoosh.index
    from whoosh import fields, qparser, scoring


def build(catalogue_file: Path, folder: Path) -> float:
    """Index title and text of every document of a catalogue into `folder`; the seconds of CPU that took."""
    catalogue = Catalogue.open(catalogue_file)
    folder.mkdir(parents=True)
    schema = fields.Schema(id=fields.STORED, title=fields.TEXT(field_boost=2.0), body=fields.TEXT)
    started = time.process_time()
    writer = whoosh.index.create_in(str(folder), schema).writer(limitmb=256)
    ids = sorted(catalogue.doc_ids())
    for row in catalogue.documents(ids).values():
        writer.add_document(id=row.doc_id, title=row.title, body=catalogue.text(row.doc_id))
    writer.commit()
    catalogue.close()
    return time.process_time() - started


def searcher(folder: Path, *, every_word: bool, limit: int = 100) -> Callable[[str], Any]:
    """A bare search over such an index: all words wanted, or any."""
    index = whoosh.index.open_dir(str(folder))
    group = qparser.AndGroup if every_word else qparser.OrGroup
    parser = qparser.MultifieldParser(["title", "body"], schema=index.schema, group=group)
    search = index.searcher(weighting=scoring.BM25F())
    return lambda text: search.search(parser.parse(text), limit=limit)
