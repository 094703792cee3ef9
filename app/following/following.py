"""Following changes with the user's settings: the index first, then vectors, then the text of pictures and recordings.

Background work gives way to everything else, and waits for mains power if asked to. Between two turns it does the
whole scans that other processes ask for (app.following.index_requests).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from app.chosen_folders import remember_root
from app.data_folder import create_data_folder
from app.following.battery import on_battery
from app.following.index_requests import IndexRequests
from app.following.indexing import followed_roots, make_updater, may_make_vectors, open_index, reader_pool
from app.following.recognising import Recognising
from app.following.vector_making import Making
from app.settings import OcrSettings, Paths, Settings, SettingsError, SpeechSettings
from indexer.confined.pool import WorkerPool
from indexer.confined.reading_process import give_way
from indexer.errors import IndexDamaged, IndexerError, LockedError
from indexer.prepare import PreparedFile
from indexer.progress import OnProgress, Progress
from indexer.storage.catalogue import Catalogue
from indexer.storage.file_lock import FileLock
from indexer.storage.index import Index
from indexer.watch import Follower, Scan, Work

HOLDER = "foltr-search watch"
WAIT_SECONDS = 2.0
"""seconds between two attempts while another process follows or writes"""
MEET_SECONDS = 50.0
"""seconds between two meetings with this person's other devices"""
UPDATING = ("scanning", "indexing", "merging")
"""phases of an update"""


def follow_changes(
    settings: Settings, paths: Paths, *, on_progress: OnProgress, stop: threading.Event, pause_on_battery: bool = False
) -> None:
    """Keep the index up to date until `stop` is set, at the lowest priority; waits while another process does."""
    rebuild, said = False, ""
    give_way()
    create_data_folder(paths)
    with ExitStack() as ending:
        place = ending.enter_context(closing(FileLock(paths.watch_lock)))
        while not place.take():
            other = place.read().removeprefix("foltr-search ") or "another process"  # short, as it stays on the screen
            if other != said:  # once, as a screen draws each report
                on_progress(Progress(phase="idle", note=f"{(said := other)} follows the changes"))
            if stop.wait(WAIT_SECONDS):
                return
        place.write(f"{HOLDER} (process {os.getpid()})")
        requests = ending.enter_context(IndexRequests(paths.data_dir))
        while not stop.is_set():
            try:
                catalogue, note = open_index(paths, rebuild=rebuild)
            except LockedError as error:
                on_progress(Progress(phase="idle", note=f"{error}; waiting for it"))
                requests.decline()
                stop.wait(WAIT_SECONDS)
                continue
            with closing(catalogue), reader_pool(settings, paths) as pool:
                updater = make_updater(settings, paths, catalogue, pool, holder=HOLDER)
                work = FollowersWork(settings, paths, on_progress, stop, requests, catalogue, pool, pause_on_battery)
                with closing(work):
                    try:
                        Follower(updater, work, settings.index.scan_minutes * 60, stop, note).run()
                    except IndexDamaged:
                        if other := Index.of_another_version(paths.index):  # or each would undo what the other made
                            raise IndexerError(f"another version of the program ({other}) works here now") from None
                        rebuild = True


@dataclass(slots=True)
class FollowersWork(Work):
    """What is done around the index while changes are followed, in the thread of the follower."""

    settings: Settings
    paths: Paths
    on_progress: OnProgress
    stop: threading.Event
    requests: IndexRequests
    catalogue: Catalogue
    pool: WorkerPool[PreparedFile]
    pause_on_battery: bool
    _making: Making = field(init=False)
    _recognising: list[Recognising] = field(init=False)
    _met: float = float("-inf")
    """when the other devices of this person were met last"""
    _trouble: str = ""
    """why they were not"""
    _seen: tuple[int, int] = (0, 0)
    """identifies the version of the user's choice that `folders` has read"""

    def __post_init__(self) -> None:
        may_work = may_make_vectors(self.settings)
        self._making = Making(self.settings, self.paths, self.catalogue, self.report, may_work=may_work)
        self._recognising = []
        for chosen in (self.settings.ocr, self.settings.speech):
            if chosen.background:
                self._recognising.append(self._new_recognising(chosen))

    def _new_recognising(self, chosen: OcrSettings | SpeechSettings) -> Recognising:
        def may_work() -> str:
            return (on_battery() if chosen.pause_on_battery else "") or new.spent_today()

        new = Recognising(chosen, self.paths, self.catalogue, self.report, may_work=may_work, may_be_suspended=True)
        if why := new.why_none:
            self.report(Progress(phase="idle", note=f"{new.medium.what} cannot be recognised: {why}"))
        return new

    def close(self) -> None:
        self._making.close()
        for one in self._recognising:
            one.close()

    def report(self, progress: Progress) -> None:
        """Show progress, also to commands that asked for a scan; recognition stops for an update."""
        if progress.phase in UPDATING:
            self._suspend()
        self.requests.show(progress)
        self.on_progress(progress)

    def _suspend(self) -> None:
        for one in self._recognising:
            one.suspend()

    def why_to_pause(self) -> str:
        why = on_battery() if self.pause_on_battery else ""
        if why:
            self._suspend()
        return why

    def do_a_little(self) -> bool:
        """Meet the other devices when it is time, then make vectors; recognise only when nothing else is left."""
        if self.paths.device_keys.exists() and time.monotonic() - self._met > MEET_SECONDS:
            self._meet()
        if self._making.step():
            self._suspend()
            return True
        return any(one.step() for one in self._recognising)

    def _meet(self) -> None:
        from app.devices.own_devices import meet_quietly  # few have any

        trouble = meet_quietly(self.paths, self.settings)
        if trouble and trouble != self._trouble:
            self.report(Progress(phase="idle", note=trouble))
        self._met, self._trouble = time.monotonic(), trouble

    def rest(self) -> None:
        """End the processes that read files until they are needed."""
        self.pool.close()

    def folders(self) -> tuple[str, ...] | None:
        """The folders that the user has chosen by now; None where they cannot be read."""
        self._seen = self._stamp()
        try:
            return followed_roots(self.settings, self.paths)
        except SettingsError:
            return None

    def is_chosen_anew(self) -> bool:
        return self._stamp() != self._seen

    def _stamp(self) -> tuple[int, int]:
        try:
            status = os.stat(self.paths.roots)
        except OSError:
            return 0, 0
        return status.st_mtime_ns, status.st_ino

    def is_asked(self) -> bool:
        return self.requests.asked.is_set()

    def decline(self) -> None:
        self.requests.decline()

    def answer(self, scan: Scan) -> None:
        """Do what is asked; raises IndexDamaged."""
        self.requests.answer(self, scan)

    def is_theirs(self, variables: Mapping[str, str]) -> bool:
        """Whether a process with these variables would index what the user chose, under the same settings."""
        try:
            paths = Paths.from_environment(variables)
            settings = Settings.load(paths, variables)
        except SettingsError:
            return False
        return (paths, settings) == (self.paths, self.settings)

    def choose(self, folders: Sequence[str]) -> bool:
        """Remember `folders` as chosen by the user, before the scan; False where one cannot be."""
        try:
            for folder in folders:
                remember_root(self.paths, folder)
        except (OSError, SettingsError):
            return False
        return True

    def read_for_meaning(self, stop: threading.Event, *, is_waited_for: bool) -> str:
        """As app.following.indexing.make_vectors; if nobody waits only a little of it, as it goes on by itself."""
        if not is_waited_for and self._making.step() and self._making.step():
            return "words can be searched; reading for meaning goes on"
        return self._making.until(lambda: not is_waited_for or stop.is_set() or self.stop.is_set())
