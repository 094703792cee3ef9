"""What the index holds, whether someone is writing to it, and what is still to be read or recognised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:  # as for app.search.results: the screen knows the record before it needs the rest
    from app.paths import Paths
    from app.search.meaning import Meaning
    from app.search.open_commit import Reading
    from app.settings import Settings
    from indexer.storage.catalogue import Catalogue


class IndexStatus(Struct, frozen=True):
    """What the index holds and whether someone is writing to it."""

    n_files: int
    n_named: int
    """files that are found by their names alone"""
    n_documents: int
    n_failures: int
    n_skipped: int
    generation: int
    """grows with each commit"""
    index_bytes: int
    roots: tuple[str, ...]
    writer: str
    """"" or who holds the write lock: "foltr-search watch (process 4711, since 10:02)" """
    last_update: float
    """seconds since the epoch, 0 for never"""
    away: tuple[str, ...] = ()
    """a line for each folder whose files the last scan did not see and kept, fit to be printed"""
    n_read_for_meaning: int = 0
    """different documents with vectors"""
    n_for_meaning: int = 0
    """different documents that can have them: those in a language that the encoder knows; 0 without an encoder"""
    why_no_meaning: str = ""
    """why there is no encoder, "" when there is one"""
    n_recognised: int = 0
    """pictures, and PDFs that are pictures, whose text was recognised; each content counts once"""
    n_to_recognise: int = 0
    """those that nobody has tried yet"""
    n_without_text: int = 0
    """those in which there was none"""
    n_unrecognised: int = 0
    """those that could not be read"""
    n_heard: int = 0
    """the same of recordings and films: what was said was recognised"""
    n_to_hear: int = 0
    n_without_speech: int = 0
    n_unheard: int = 0
    data_bytes: int = 0
    """of the whole data folder: the index, the catalogue, what was learned and recognised"""
    n_unwiped: int = 0
    """deleted documents and older versions of changed ones whose words are still on the disk (docs/privacy.md)"""


def index_status(
    settings: Settings, paths: Paths, catalogue: Catalogue, reading: Reading, meaning: Meaning
) -> IndexStatus:  # fmt: skip
    """What is known at this moment."""
    from app.chosen_folders import index_roots
    from console.printable import display_path
    from indexer.extract.media.recognised import FILE, PICTURES, RECORDINGS, coverage
    from indexer.storage.index import Index, lock_holder

    counts = catalogue.counts()
    why_none, n_read, n_all = meaning.coverage(reading)
    ocr, speech = (
        coverage(catalogue.connection, paths.data_dir / FILE, kind, max_bytes)
        for kind, max_bytes in ((PICTURES, settings.ocr.max_bytes), (RECORDINGS, settings.speech.max_bytes))
    )
    return IndexStatus(
        n_files=counts.n_files, n_named=counts.n_named, n_documents=counts.n_documents,
        n_failures=counts.n_failures, n_skipped=counts.n_skipped,
        generation=reading.snapshot.generation, index_bytes=Index.bytes_on_disk(paths.index),
        data_bytes=Index.bytes_on_disk(paths.data_dir), roots=catalogue.roots or index_roots(settings, paths),
        writer=lock_holder(paths.index), last_update=catalogue.last_update,
        away=tuple(display_path(f"{one.path} {one.reason}") for one in catalogue.away()),
        n_read_for_meaning=n_read, n_for_meaning=n_all, why_no_meaning=why_none,
        n_recognised=ocr.n_recognised, n_to_recognise=ocr.n_waiting, n_without_text=ocr.n_empty,
        n_unrecognised=ocr.n_failed, n_heard=speech.n_recognised, n_to_hear=speech.n_waiting,
        n_without_speech=speech.n_empty, n_unheard=speech.n_failed, n_unwiped=Index(paths.index).n_unwiped,
    )  # fmt: skip
