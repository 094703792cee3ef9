"""Indexing with the user's settings: one update, what is made after it, and the question why a path is not found."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from app.chosen_folders import index_roots, index_sources
from app.data_folder import create_data_folder
from app.following.battery import on_battery
from app.following.recognising import Recognising
from app.following.vector_making import Making, opened_picks
from app.paths import typed_path
from app.settings import OcrSettings, Paths, Settings, SpeechSettings
from indexer.confined.pool import WorkerPool
from indexer.confined.programs import installed
from indexer.confined.reading_process import return_freed_memory
from indexer.documents import MEGABYTE
from indexer.errors import IndexDamaged
from indexer.extract.media import recognised
from indexer.extract.source import Limits
from indexer.extract.sources.known import places
from indexer.files.crawl import CrawlRules, normal_roots
from indexer.files.ignore_rules import IgnoreRules
from indexer.files.why_not_indexed import Why
from indexer.files.why_not_indexed import why as why_path
from indexer.prepare import PreparedFile, prepare_file
from indexer.progress import OnProgress, UpdateSummary
from indexer.storage.catalogue import Catalogue
from indexer.storage.index import Index
from indexer.update import Job, Moves, Updater, open_catalogue

READER = 1
"""Raise it when the extractors have learnt to read what failed before: failed files are then read again."""

LONG_IN_ONE_RUN = 100
"""long documents that one command reads whole for their meaning, those opened often first; `watch` reads the rest"""
MAX_WORKERS = 8
"""beyond this the one process that writes the index cannot keep up"""


def crawl_rules(settings: Settings, paths: Paths) -> CrawlRules:
    """The user's rules about what is indexed; this program's own folders never are."""
    chosen = settings.index
    own = (paths.data_dir, paths.config_dir)
    return CrawlRules(
        ignore=IgnoreRules(exclude=tuple(chosen.exclude), hidden=chosen.hidden, ignore_files=chosen.ignore_files),
        follow_symlinks=chosen.follow_symlinks,
        cross_mounts=chosen.cross_mounts,
        max_bytes={kind: int(size * MEGABYTE) for kind, size in chosen.max_file_mb.items()},
        archives=chosen.archives,
        names=chosen.names,
        secrets=tuple(chosen.secrets),
        sources=frozenset(index_sources(settings, paths)),
        never=frozenset(str(path) for folder in own for path in (folder.absolute(), folder.resolve())),
    )


def update_index(
    settings: Settings,
    paths: Paths,
    *,
    roots: Sequence[str] | None = None,
    rebuild: bool = False,
    optimize: bool = False,
    retry_failures: bool = False,
    holder: str = "foltr-search index",
    on_progress: OnProgress = lambda progress: None,
    stop: threading.Event | None = None,
) -> UpdateSummary:
    """Bring the index up to date with `roots` (default: the folders the user chose); keeps what is done on `stop`.

    An index that is damaged or of another version is made anew, and the summary's note says so. Raises LockedError
    when another process is writing, IndexerError when the disk is full.
    """
    stop = stop or threading.Event()
    return_freed_memory()

    def scan(rebuild: bool) -> UpdateSummary:
        catalogue, note = open_index(paths, rebuild=rebuild)
        with closing(catalogue), reader_pool(settings, paths) as pool:
            updater = make_updater(settings, paths, catalogue, pool, roots=roots, holder=holder)
            updater.on_progress, updater.stop = on_progress, stop
            return updater.scan(retry_failures=retry_failures, optimize=optimize, note=note)

    try:
        return scan(rebuild)
    except IndexDamaged:  # found while reading on; the second attempt begins from nothing
        return scan(True)


def make_vectors(
    settings: Settings, paths: Paths, *, on_progress: OnProgress, stop: threading.Event,
    most_long: int | None = LONG_IN_ONE_RUN,
) -> str:  # fmt: skip
    """Read what has no vectors yet for its meaning, until `stop`; one line on what is there, "" without an encoder."""
    with closing(Catalogue.open(paths.catalogue)) as catalogue:
        may_work = may_make_vectors(settings)
        with closing(Making(settings, paths, catalogue, on_progress, may_work=may_work, most_long=most_long)) as making:
            return making.until(stop.is_set)


def may_make_vectors(settings: Settings) -> Callable[[], str]:
    return on_battery if settings.meaning.pause_on_battery else lambda: ""


def recognise(
    chosen: OcrSettings | SpeechSettings, paths: Paths, *, on_progress: OnProgress, stop: threading.Event
) -> int:
    """Recognise text until `stop`; returns how many files got a text, which the next update reads."""
    with (
        closing(Catalogue.open(paths.catalogue)) as catalogue,
        closing(Recognising(chosen, paths, catalogue, on_progress)) as recognising,
    ):
        while not stop.is_set() and recognising.step():
            pass
        return recognising.n_texts


def why(settings: Settings, paths: Paths, path: str | os.PathLike[str]) -> Why:
    """Whether `path` can be found, or which rule, limit or error keeps it out; IndexDamaged for a bad index."""
    if paths.index.is_dir():
        Index.open(paths.index)
    roots = _with_sources(settings, paths, index_roots(settings, paths))
    with closing(Catalogue.open(paths.catalogue)) as catalogue:
        rules = crawl_rules(settings, paths)
        return why_path(_place(os.fspath(path), roots), roots=roots, rules=rules, catalogue=catalogue)


def _place(path: str, roots: Sequence[str]) -> str:
    """`path` as the crawl would meet it: below a root that may itself be reached through a link."""
    given = typed_path(path)
    (normal,) = normal_roots([str(given)])
    if any(normal == root or normal.startswith(root.rstrip(os.sep) + os.sep) for root in normal_roots(roots)):
        return normal
    return str(given.parent.resolve() / given.name)


def open_index(paths: Paths, *, rebuild: bool) -> tuple[Catalogue, str]:
    create_data_folder(paths)
    return open_catalogue(paths.index, paths.catalogue, rebuild=rebuild)


def _with_sources(settings: Settings, paths: Paths, roots: Sequence[str]) -> tuple[str, ...]:
    """`roots`, and where the named sources lie now."""
    return (*roots, *places(index_sources(settings, paths), Path(os.path.expanduser("~"))))


def reader_pool(settings: Settings, paths: Paths) -> WorkerPool[PreparedFile]:
    chosen = settings.index
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return WorkerPool(
        prepare_file,
        n_workers=chosen.workers or min(n_cores, MAX_WORKERS),
        seconds=chosen.seconds_per_file,
        memory_mb=chosen.memory_mb,
        limits=Limits(
            max_text_bytes=int(chosen.max_text_mb * MEGABYTE),
            sources=frozenset(index_sources(settings, paths)),
            secrets=tuple(chosen.secrets),
            recognised=str(paths.data_dir / recognised.FILE),
        ),
    )


def make_updater(
    settings: Settings, paths: Paths, catalogue: Catalogue, pool: WorkerPool[PreparedFile],
    *, holder: str, roots: Sequence[str] | None = None,
) -> Updater:  # fmt: skip
    """The updater for `roots`, by default the folders the user chose; `holder` names it to other processes."""
    chosen = settings.index
    reader = f"{READER} text={chosen.max_text_mb:g} seconds={chosen.seconds_per_file:g} memory={chosen.memory_mb}"
    reader += "" if chosen.names else " no names"
    reader += "".join(f" {name}" for name in ("bsdtar", "djvutxt") if installed(name))
    job = Job(
        index=paths.index,
        catalogue=catalogue,
        roots=followed_roots(settings, paths, roots),
        rules=crawl_rules(settings, paths),
        holder=holder,
        reader=reader,
    )
    forget = partial(_forget_gone, paths, catalogue)
    return Updater(job, pool, on_moves=partial(_move_picks, settings, paths, catalogue), forget=forget)


def followed_roots(settings: Settings, paths: Paths, roots: Sequence[str] | None = None) -> tuple[str, ...]:
    """`roots`, or the folders that the user has chosen by now, with the places of the named sources."""
    return normal_roots(_with_sources(settings, paths, index_roots(settings, paths) if roots is None else roots))


def _forget_gone(paths: Paths, catalogue: Catalogue, is_deleted: bool) -> None:
    """Remove old copies of mails; if something was deleted, also all traces of it outside index and catalogue."""
    if is_deleted:
        recognised.forget_gone(paths.data_dir / recognised.FILE, catalogue.connection)
    if (paths.data_dir / "mail").exists():
        from app import document_to_open  # few need it here

        document_to_open.remove_old_mails(paths.data_dir)
        if is_deleted and document_to_open.mail_copies(paths.data_dir):
            document_to_open.remove_gone_mails(paths.data_dir, catalogue.read_at())


def _move_picks(settings: Settings, paths: Paths, catalogue: Catalogue, moves: Moves) -> None:
    """Let what was learned about a file follow the file."""
    with opened_picks(settings, paths, catalogue) as picks:
        if picks is not None:
            for old, new in fold_moves(moves):
                picks.rename(old, new)


def fold_moves(moves: Moves) -> list[tuple[str, str]]:
    """`moves`, with the files of a moved folder as one move where nothing is left at the old place."""
    found: dict[tuple[str, str], None] = {}
    for old, new in moves:
        while os.path.basename(old) == os.path.basename(new):
            above = os.path.dirname(old), os.path.dirname(new)
            if os.path.lexists(above[0]):
                break
            old, new = above
        found[old, new] = None
    return list(found)
