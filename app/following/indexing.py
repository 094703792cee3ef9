"""Indexing with the user's settings: one update, following changes, and the question why a path is not found.

Background work gives way to everything else, and waits for mains power if asked to.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from app.following.recognising import Recognising, spent_today
from app.following.vector_making import Making
from app.settings import Paths, Settings, SettingsError, index_roots, index_sources, remember_root
from indexer.errors import IndexDamaged, LockedError
from indexer.extract import recognised
from indexer.extract.pool import WorkerPool
from indexer.extract.programs import installed
from indexer.extract.source import MEGABYTE, Limits
from indexer.extract.sources import places
from indexer.extract.worker import give_way, return_freed_memory
from indexer.files.crawl import CrawlRules, normal_roots
from indexer.files.ignore import IgnoreRules
from indexer.files.why import Why
from indexer.files.why import why as why_path
from indexer.prepare import PreparedFile, prepare_file
from indexer.progress import OnProgress, Progress, UpdateSummary
from indexer.storage.catalogue import Catalogue
from indexer.storage.file_lock import FileLock
from indexer.update import Job, Moves, Updater, open_catalogue

if TYPE_CHECKING:
    from indexer.watch import Follower


POWER_SUPPLIES = Path("/sys/class/power_supply")


def on_battery(supplies: Path = POWER_SUPPLIES) -> str:
    """ "on battery" when a battery is being emptied and no mains supply is connected, else ""."""
    batteries, mains = False, False
    for supply in sorted(supplies.glob("*")):
        kind = _content(supply / "type")
        if kind in ("Mains", "USB") and _content(supply / "online") == "1":
            mains = True
        if (
            kind == "Battery"
            and _content(supply / "status") == "Discharging"
            and _content(supply / "scope") != "Device"
        ):
            batteries = True
    return "on battery" if batteries and not mains else ""


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


READER = 1
"""Raise it when the extractors have learnt to read what failed before: failed files are then read again."""

MAX_WORKERS = 8
"""beyond this the one process that writes the index cannot keep up"""
MAX_ENCODER_THREADS = 4
"""beyond this an encoder of this size gains little"""


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
        catalogue, note = _open(paths, rebuild=rebuild)
        try:
            with _pool(settings, paths) as pool:
                updater = Updater(_job(settings, paths, catalogue, roots, holder), pool, on_progress, stop=stop)
                updater.on_moves = _followed_by_picks(settings, paths)
                updater.forget = partial(_forget_gone, paths, catalogue)
                return updater.scan(retry_failures=retry_failures, optimize=optimize, note=note)
        finally:
            catalogue.close()

    try:
        return scan(rebuild)
    except IndexDamaged:  # found while reading on; the second attempt begins from nothing
        return scan(True)


def make_vectors(settings: Settings, paths: Paths, *, on_progress: OnProgress, stop: threading.Event) -> str:
    """Read what has no vectors yet for its meaning, until `stop`; one line on what is there, "" without an encoder."""
    catalogue = Catalogue.open(paths.catalogue)
    threads = min(available_cores(), MAX_ENCODER_THREADS)
    making = Making(settings, paths, catalogue, on_progress, may_work=_may_make_vectors(settings), threads=threads)
    try:
        return making.until(stop.is_set)
    finally:
        making.close()
        catalogue.close()


def _may_make_vectors(settings: Settings) -> Callable[[], str]:
    return on_battery if settings.meaning.pause_on_battery else lambda: ""


def recognise(settings: Settings, paths: Paths, *, on_progress: OnProgress, stop: threading.Event) -> int:
    """Recognise the text of pictures until `stop`; how many files have one now and are read by the next update."""
    with (
        closing(Catalogue.open(paths.catalogue)) as catalogue,
        Recognising(settings.ocr, paths, catalogue, on_progress) as recognising,
    ):
        while not stop.is_set() and recognising.step():
            pass
        return recognising.n_texts


def _in_background(
    settings: Settings, paths: Paths, catalogue: Catalogue, on_progress: OnProgress
) -> Recognising | None:
    """What recognises text where the user has switched that on."""

    def may_work() -> str:
        return (on_battery() if settings.ocr.pause_on_battery else "") or spent_today(settings.ocr, paths)

    if not settings.ocr.background:
        return None
    recognising = Recognising(settings.ocr, paths, catalogue, on_progress, may_work=may_work, may_be_suspended=True)
    if why := recognising.why_none:
        on_progress(Progress(phase="idle", note=f"text in pictures cannot be recognised: {why}"))
    return recognising


def _after(
    step: Callable[[], bool], recognising: Recognising | None, on_progress: OnProgress
) -> tuple[Callable[[], bool], OnProgress]:
    """What to do while nothing changes, and where to report: recognition comes after `step` and stops for an update."""
    if recognising is None:
        return step, on_progress

    def report(progress: Progress) -> None:
        if progress.phase in ("scanning", "indexing", "merging"):
            recognising.suspend()
        on_progress(progress)

    return lambda: step() or recognising.step(), report


def watch(
    settings: Settings,
    paths: Paths,
    *,
    roots: Sequence[str] | None = None,
    holder: str = "foltr-search watch",
    on_progress: OnProgress = lambda progress: None,
    stop: threading.Event | None = None,
    pause_on_battery: bool = False,
    desk: Desk | None = None,
) -> None:
    """Keep the index up to date until `stop` is set, at the lowest priority; waits while another process does.

    At the `desk` other processes ask for a whole scan.
    """
    stop = stop or threading.Event()
    give_way()
    paths.create_data_dir()
    with closing(FileLock(paths.watch_lock)) as place:
        while not place.take():
            on_progress(Progress(phase="idle", note=_followed_by(place)))
            if stop.wait(2.0):
                return
        place.write(f"{holder} (process {os.getpid()})")
        with closing(desk or NoDesk()) as open_desk:
            open_desk.open()
            _follow(
                settings, paths, roots=roots, holder=holder, on_progress=_also(open_desk, on_progress), stop=stop,
                pause_on_battery=pause_on_battery, desk=open_desk,
            )  # fmt: skip


def _followed_by(place: FileLock) -> str:
    """Short, for it stays in sight: "watch (process 4711) follows the changes"."""
    return f"{place.read().removeprefix('foltr-search ') or 'another process'} follows the changes"


class Desk(Protocol):
    """Where the process that follows changes is asked for a whole scan (app.following.index_requests)."""

    asked: threading.Event

    def open(self) -> None: ...
    def close(self) -> None: ...
    def decline(self) -> None: ...
    def relay(self, progress: Progress) -> None: ...
    def answer(self, work: FollowersWork) -> None: ...


class NoDesk:
    """Nobody asks."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def open(self) -> None: ...
    def close(self) -> None: ...
    def decline(self) -> None: ...
    def relay(self, progress: Progress) -> None: ...
    def answer(self, work: FollowersWork) -> None: ...


def _also(desk: Desk, on_progress: OnProgress) -> OnProgress:
    def both(progress: Progress) -> None:
        desk.relay(progress)
        on_progress(progress)

    return both


@dataclass(frozen=True, slots=True)
class FollowersWork:
    """What the process that follows changes does for one that asks, in the thread of its follower."""

    settings: Settings
    paths: Paths
    roots: Sequence[str] | None
    follower: Follower
    making: Making

    def would_do(self, variables: Mapping[str, str]) -> bool:
        """Whether a process with these variables would index what the user chose, under the same settings."""
        try:
            paths = Paths.from_environment(variables)
            settings = Settings.load(paths, variables)
        except SettingsError:
            return False
        return (paths, settings) == (self.paths, self.settings) and self.roots is None

    def choose(self, folders: Sequence[str]) -> bool:
        """Remember `folders` as chosen by the user, before the scan; False where one cannot be."""
        try:
            for folder in folders:
                remember_root(self.paths, folder)
        except (OSError, SettingsError):
            return False
        return True

    def update(self, stop: threading.Event) -> UpdateSummary:
        """A whole scan."""
        return self.follower.scan_for(stop)

    def read_for_meaning(self, stop: threading.Event) -> str:
        """As `make_vectors`."""
        return self.making.until(lambda: stop.is_set() or self.follower.stop.is_set())


def _follow(
    settings: Settings, paths: Paths, *, roots: Sequence[str] | None, holder: str, on_progress: OnProgress,
    stop: threading.Event, pause_on_battery: bool, desk: Desk,
) -> None:  # fmt: skip
    from indexer.watch import Follower  # the notifier is loaded only by those who follow changes

    rebuild = False
    while not stop.is_set():
        try:
            catalogue, note = _open(paths, rebuild=rebuild)
        except LockedError as error:
            on_progress(Progress(phase="idle", note=f"{error}; waiting for it"))
            desk.decline()
            stop.wait(2.0)
            continue
        with _pool(settings, paths) as pool:
            updater = Updater(_job(settings, paths, catalogue, roots, holder), pool)
            updater.on_moves = _followed_by_picks(settings, paths)
            updater.forget = partial(_forget_gone, paths, catalogue)
            making = Making(settings, paths, catalogue, on_progress, may_work=_may_make_vectors(settings))
            recognising = _in_background(settings, paths, catalogue, on_progress)
            idle_work, report = _after(making.step, recognising, on_progress)
            follower = Follower(
                updater,
                scan_seconds=settings.index.scan_minutes * 60,
                on_progress=report,
                stop=stop,
                may_work=on_battery if pause_on_battery else lambda: "",
                on_quiet=pool.close,
                idle_work=idle_work,
                note=note,
                asked=desk.asked,
                decline=desk.decline,
            )
            choice = _Choice(updater, settings, paths, roots)
            follower.roots, follower.is_chosen_anew = choice.now, choice.is_anew
            follower.answer = partial(desk.answer, FollowersWork(settings, paths, roots, follower, making))
            try:
                follower.run()
            except IndexDamaged:
                rebuild = True
            finally:
                making.close()
                if recognising:
                    recognising.close()
                catalogue.close()


def why(settings: Settings, paths: Paths, path: str | os.PathLike[str]) -> Why:
    """Whether `path` can be found, or which rule, limit or error keeps it out."""
    roots = _with_sources(settings, paths, index_roots(settings, paths))
    catalogue = Catalogue.open(paths.catalogue)
    try:
        return why_path(
            _place(os.fspath(path), roots), roots=roots, rules=crawl_rules(settings, paths), catalogue=catalogue
        )
    finally:
        catalogue.close()


def _place(path: str, roots: Sequence[str]) -> str:
    """`path` as the crawl would meet it: below a root that may itself be reached through a link."""
    given = Path(path).expanduser().absolute()
    (normal,) = normal_roots([str(given)])
    if any(normal == root or normal.startswith(root.rstrip(os.sep) + os.sep) for root in normal_roots(roots)):
        return normal
    return str(given.parent.resolve() / given.name)


def _open(paths: Paths, *, rebuild: bool) -> tuple[Catalogue, str]:
    paths.create_data_dir()
    return open_catalogue(paths.index, paths.catalogue, rebuild=rebuild)


def _with_sources(settings: Settings, paths: Paths, roots: Sequence[str]) -> tuple[str, ...]:
    """`roots`, and where the named sources lie now."""
    return (*roots, *places(index_sources(settings, paths), Path.home()))


def _limits(settings: Settings, paths: Paths) -> Limits:
    return Limits(
        max_text_bytes=int(settings.index.max_text_mb * MEGABYTE),
        sources=frozenset(index_sources(settings, paths)),
        secrets=tuple(settings.index.secrets),
        recognised=str(paths.data_dir / recognised.FILE),
    )


def _pool(settings: Settings, paths: Paths) -> WorkerPool[PreparedFile]:
    chosen = settings.index
    return WorkerPool(
        prepare_file,
        n_workers=chosen.workers or min(available_cores(), MAX_WORKERS),
        seconds=chosen.seconds_per_file,
        memory_mb=chosen.memory_mb,
        limits=_limits(settings, paths),
    )


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _job(settings: Settings, paths: Paths, catalogue: Catalogue, roots: Sequence[str] | None, holder: str) -> Job:
    chosen = settings.index
    reader = f"{READER} text={chosen.max_text_mb:g} seconds={chosen.seconds_per_file:g} memory={chosen.memory_mb}"
    reader += "" if chosen.names else " no names"
    reader += "".join(f" {name}" for name in ("bsdtar", "djvutxt") if installed(name))
    return Job(
        index=paths.index,
        catalogue=catalogue,
        roots=_followed(settings, paths, roots),
        rules=crawl_rules(settings, paths),
        holder=holder,
        reader=reader,
    )


def _followed(settings: Settings, paths: Paths, roots: Sequence[str] | None) -> tuple[str, ...]:
    """`roots`, or what the user has chosen by now, with the sources that are named."""
    return normal_roots(_with_sources(settings, paths, index_roots(settings, paths) if roots is None else roots))


@dataclass(slots=True)
class _Choice:
    """What the user has chosen to have followed, as it is now, whoever chose it."""

    updater: Updater
    settings: Settings
    paths: Paths
    roots: Sequence[str] | None
    _seen: tuple[int, int] = (0, 0)
    """which file of what was chosen `now` has read"""

    def now(self) -> tuple[str, ...]:
        """The folders, or what they were where the file of what was chosen cannot be read."""
        self._seen = self._stamp()
        try:
            return _followed(self.settings, self.paths, self.roots)
        except SettingsError:
            return self.updater.job.roots

    def is_anew(self) -> bool:
        """Whether something was chosen since `now` was asked."""
        return self.roots is None and self._stamp() != self._seen

    def _stamp(self) -> tuple[int, int]:
        try:
            status = os.stat(self.paths.roots)
        except OSError:
            return 0, 0
        return status.st_mtime_ns, status.st_ino


def _forget_gone(paths: Paths, catalogue: Catalogue, is_deleted: bool) -> None:
    """Leave no copy of a mail for long; where something was deleted, nothing of it beside index and catalogue."""
    if is_deleted:
        recognised.forget_gone(paths.data_dir / recognised.FILE, catalogue.connection)
    if (paths.data_dir / "mail").exists():
        from app import loose_mail  # which few need here

        loose_mail.remove_old(paths.data_dir)
        if is_deleted and loose_mail.copies(paths.data_dir):
            loose_mail.remove_gone(paths.data_dir, catalogue.read_at())


def _followed_by_picks(settings: Settings, paths: Paths) -> Callable[[Moves], None]:
    """What was learned about a file goes where the file goes."""

    def follow(moves: Moves) -> None:
        if not paths.state.exists() or not settings.learning.remember_picks:
            return
        from app.learning.pick_keys import load_key
        from app.learning.picks import Picks
        from app.store import Store

        with Store(paths.state) as store:
            picks = Picks(store, load_key(paths.key, store))
            for old, new in fold_moves(moves):
                picks.rename(old, new)

    return follow


def fold_moves(moves: Moves) -> list[tuple[str, str]]:
    """`moves` with the files of a moved folder taken together, where nothing is left at the old place."""
    found: dict[tuple[str, str], None] = {}
    for old, new in moves:
        while os.path.basename(old) == os.path.basename(new):
            above = os.path.dirname(old), os.path.dirname(new)
            if os.path.lexists(above[0]):
                break
            old, new = above
        found[old, new] = None
    return list(found)
