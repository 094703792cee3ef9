"""The system's reports of changed files, as lists of paths."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

DEBOUNCE_MS = 400
"""changes that follow each other are taken together for at most this long"""
STEP_MS = 100
"""between two looks at the collected changes: what watching costs while nothing happens"""


class CannotWatch(Exception):
    """The system's limit for watches is reached, or there is nothing to watch with; the message says which."""


class FolderVanished(Exception):
    """A folder was there a moment ago; its parent's change is on the way."""


class Notifier:
    """Reports changes in `folders`: one non-recursive watch for each on Linux, so that ignored ones cost nothing."""

    def __init__(self, folders: Iterable[str], roots: Iterable[str]) -> None:
        if os.environ.get("FOLTR_FORCE_POLL"):
            raise CannotWatch("FOLTR_FORCE_POLL is set")
        per_folder = sys.platform == "linux"
        wanted = list(folders if per_folder else roots)
        targets = [folder for folder in wanted if is_text(folder) and Path(folder).is_dir()]
        self.blind = len(targets) < len(wanted)
        """some folders cannot be watched, for their names are not UTF-8"""
        try:
            # Told to ignore denied permissions, this class also ignores that the limit of watches is reached.
            self._notify = RustNotify(targets, False, False, 0, not per_folder, False)
        except (OSError, WatchfilesRustInternalError) as error:
            if isinstance(error, (FileNotFoundError, PermissionError)):
                raise FolderVanished(str(error)) from error
            raise CannotWatch(_first_words(str(error))) from error

    def wait(self, seconds: float, stop: threading.Event) -> list[str] | None:
        """The paths that changed, [] when none did for so long; None when changes were missed: scan everything."""
        try:
            found = self._notify.watch(DEBOUNCE_MS, STEP_MS, max(int(seconds * 1000), 1), stop)
        except WatchfilesRustInternalError:  # a name that is not UTF-8, for one: it never says which
            return None
        if found == "signal":  # the notifier swallowed a KeyboardInterrupt
            stop.set()
        return [path for _, path in found] if isinstance(found, set) else []

    def close(self) -> None:
        self._notify.close()


def is_text(path: str) -> bool:
    """Whether the system's notifier can take `path`: it wants UTF-8."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _first_words(message: str) -> str:
    """The message of the notifier without its debugging output."""
    return message.split(" about [", maxsplit=1)[0].rstrip(".").lower()
