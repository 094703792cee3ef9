"""What `foltr-search doctor` looks at. It changes nothing, and one broken part does not hide the next."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from importlib import metadata
from pathlib import Path
from typing import Literal

from msgspec import Struct

from app.chosen_folders import index_roots
from app.data_folder import open_to_others, refuse_foreign
from app.paths import Paths, SettingsError
from app.settings import Settings, examine
from console.printable import display_path
from console.wording import count
from foltr.errors import FoltrError
from indexer.errors import IndexDamaged, IndexerError

Level = Literal["ok", "note", "broken"]

LIBRARIES = ("textual", "Whoosh", "PyStemmer", "numpy", "msgspec", "click", "watchfiles", "pypdfium2", "selectolax")
LOW_SPACE = 500_000_000
"""bytes free, below which an index may not fit"""
BREAKAGE = (FoltrError, IndexerError, SettingsError, sqlite3.Error, OSError, metadata.PackageNotFoundError)
"""what a broken part may raise"""

INOTIFY = Path("/proc/sys/fs/inotify/max_user_watches")


class Finding(Struct, frozen=True):
    level: Level
    subject: str
    message: str


class Patient(Struct, frozen=True):
    """The device under examination, with the settings that can be used."""

    paths: Paths
    settings: Settings
    problems: tuple[str, ...]
    """problems of the settings"""


def examine_device(flags: Mapping[str, str]) -> Iterator[Finding]:
    paths = Paths.from_environment()
    effective, problems = examine(paths, os.environ, flags=flags)
    patient = Patient(paths, effective.settings, tuple(problems))
    for subject, check in CHECKS.items():
        try:
            for level, message in check(patient):
                yield Finding(level, subject, message)
        except BREAKAGE as error:
            yield Finding("broken", subject, f"{type(error).__name__}: {' '.join(str(error).split())}")


Findings = Iterator[tuple[Level, str]]


def _versions(patient: Patient) -> Findings:
    try:
        version = metadata.version("foltr-search")
    except metadata.PackageNotFoundError:
        version = "not installed (run from source)"
    yield "ok", f"foltr-search {version}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    yield "ok", f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} cores"
    yield "ok", ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES)


def _settings(patient: Patient) -> Findings:
    file = patient.paths.config_file
    yield "ok", display_path(str(file)) + ("" if file.exists() else " (missing: defaults apply)")
    for problem in patient.problems:
        yield "broken", problem


def _folders(patient: Patient) -> Findings:
    folder = patient.paths.data_dir
    if not folder.exists():
        at = next(one for one in folder.parents if one.exists())
        may = os.access(at, os.W_OK | os.X_OK)
        how = "yet; `foltr-search index FOLDER` creates it" if may else f"and {display_path(str(at))} lets none be made"
        yield "note" if may else "broken", f"{display_path(str(folder))} does not exist {how}"
        return
    try:
        refuse_foreign(patient.paths)
        yield "ok", display_path(str(folder))
    except SettingsError as error:
        yield "broken", str(error)
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield "broken", "the data folder is not writable"
    if unclosed := list(open_to_others(patient.paths)):
        shown = display_path(str(unclosed[0]))
        yield "note", f"other users can open {len(unclosed)} of its files, as {shown}; any other command closes them"
    free = shutil.disk_usage(folder).free
    yield "note" if free < LOW_SPACE else "ok", f"{free / 1e9:,.1f} GB free there"


def _roots(patient: Patient) -> Findings:
    roots = index_roots(patient.settings, patient.paths)
    if not roots:
        yield "note", "no folders are indexed yet; `foltr-search index FOLDER` adds one"
    for root in roots:
        readable = os.access(root, os.R_OK | os.X_OK)
        yield "ok" if readable else "note", display_path(root) + ("" if readable else " is gone or cannot be read")


def _index(patient: Patient) -> Findings:
    from indexer.storage.catalogue import Catalogue
    from indexer.storage.index import Index, lock_holder

    paths = patient.paths
    if not paths.catalogue.exists() or not paths.index.exists():
        yield "note", "there is none yet"
        return
    with closing(Catalogue.open(paths.catalogue)) as catalogue:
        counts, generation = catalogue.counts(), catalogue.generation
    snapshot = Index.open(paths.index).snapshot()
    documents, files = count(counts.n_documents, "document"), count(counts.n_files, "file")
    yield "ok", f"{documents} in {files}, commit {snapshot.generation}"
    holder = lock_holder(paths.index)
    yield "ok", f"being written by {holder}" if holder else "no process is writing to it"
    if generation != snapshot.generation and not holder:
        yield "note", f"the catalogue is at commit {generation}: `foltr-search index` makes them agree"


def _reading(patient: Patient) -> Findings:
    from indexer.confined.confinement import available, rights_left
    from indexer.confined.pool import WorkerPool
    from indexer.documents import FileEntry
    from indexer.extract.kinds import ADDED, KINDS, take_readers

    take_readers()
    with WorkerPool(rights_left, n_workers=1, seconds=10, memory_mb=500) as pool:
        ((_, left),) = pool.run([FileEntry(os.sep, 0, 0, 0, 0)])
    if isinstance(left, IndexerError):
        yield "broken", f"no file can be read: {left}"
    elif left:
        why = f"has only {available()[0]}" if available() else "offers neither Landlock nor seccomp"
        yield "note", f"a malicious file could {', '.join(left)} with your rights: this system {why}"
        yield "note", "readers are separate processes with limits of time and memory, and nothing more"
    else:
        yield "ok", f"a reader can reach only the file that it reads ({', '.join(available())})"
    for name, kind in ADDED.items():
        yield "ok", f"{name if '.' in name else f'.{name}'} is read by {KINDS[kind].reader}, which a package adds"


def _meaning(patient: Patient) -> Findings:
    from indexer.meaning import encoder
    from indexer.meaning.vectors import n_with_vectors
    from indexer.storage.index import Index

    chosen = patient.settings.meaning
    if not chosen.enabled:
        yield "note", "switched off (meaning.enabled)"
        return
    why = encoder.why_none(chosen.model)
    if why:
        yield "note", f"{why} (search by meaning, on this device only)"
        return
    loaded = encoder.load(chosen.model)
    vector = loaded.encode(["a text"])
    yield "ok", f"{display_path(chosen.model) or 'all-MiniLM-L6-v2, int8'}, {vector.shape[1]} numbers a passage"
    if not patient.paths.index.exists():
        return
    with suppress(IndexDamaged):  # the check of the index says so
        made, total = n_with_vectors(Index.open(patient.paths.index).snapshot(), patient.paths.index, loaded.kind)
        rest = "" if made == total else "; `foltr-search index`, `watch` and the screen read the rest"
        yield "ok", f"{made:,} of {total:,} different documents read{rest}"


def _state(patient: Patient) -> Findings:
    from app.store import Store

    paths = patient.paths
    if not paths.state.exists():
        yield "note", "nothing was learned yet"
        return
    with Store(paths.state, writable=False) as store:
        yield "ok", f"{count(store.count_interactions(), 'result page')} kept to learn from"
    if paths.key.exists() and paths.key.stat().st_size != 32:
        yield "broken", f"{display_path(str(paths.key))}: wanted 32 bytes, got {paths.key.stat().st_size}"


def _group(patient: Patient) -> Findings:
    import time

    from app.devices.own_devices import who_answers
    from app.federation import group_roster
    from app.federation.group_status import overview
    from app.store import Store

    if not patient.paths.state.exists():
        yield "ok", "none: nothing is sent to one"
        return
    with Store(patient.paths.state, writable=False) as store:
        found = overview(store, patient.settings.federation, now=int(time.time()))
    if found["group"] is None:
        yield "ok", "none: nothing is sent to one"
        return
    yield "ok", f"{found['group']['name']} at {found['group']['address']}"
    if elsewhere := who_answers(patient.paths, patient.settings):
        yield "note", elsewhere
    if found["last_error"]:
        yield "note", f"the last sync failed: {found['last_error']}"
    if found["sealed"] is not None and found["sealed"]["growth"]:
        yield "note", f"{found['sealed']['growth']} `foltr-search sync` asks whether you agree; nothing is sent before"
    if found["sealed"] is not None and found["sealed"]["waiting"]:
        yield "note", group_roster.asks(found["sealed"]["waiting"])


def _watching(patient: Patient) -> Findings:
    if not INOTIFY.exists():
        yield "ok", "this system reports changes without a limit"
        return
    limit = int(INOTIFY.read_text(encoding="ascii"))
    few = limit < 65_536
    advice = "; large trees are scanned periodically instead (sysctl fs.inotify.max_user_watches)" if few else ""
    yield "note" if few else "ok", f"{limit:,} folders can be watched{advice}"


def _resident(patient: Patient) -> Findings:
    from app.resident.local_socket import AVAILABLE, socket_path
    from app.resident.resident_client import standing

    if not AVAILABLE:
        yield "note", "this system has no Unix sockets; every command works alone"
        return
    socket = Path(socket_path(str(patient.paths.data_dir)))
    at = display_path(str(socket))
    said = standing(str(patient.paths.data_dir))
    if said:
        yield "ok", said
    elif socket.exists():
        yield "note", f"nobody answers at {at}; commands work alone, and the next `serve` takes its place"
    else:
        yield "ok", "none: every command works alone (`foltr-search serve` starts one)"
    for path in (socket.parent, socket):
        if path.exists() and (path.stat().st_mode & 0o077 or path.stat().st_uid != os.getuid()):
            yield "broken", f"{display_path(str(path))}: wanted a file of yours that others cannot open"


def _terminal(patient: Patient) -> Findings:
    columns, lines = shutil.get_terminal_size()
    names = ("TERM", "COLORTERM", "NO_COLOR", "LANG", "TMUX", "SSH_TTY")
    said = ", ".join(f"{name}={os.environ[name]}" for name in names if os.environ.get(name))
    yield "ok", f"{columns}x{lines}, output in {sys.stdout.encoding}" + (f", {said}" if said else "")
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        yield "note", "the output is not UTF-8; set LANG to a UTF-8 locale, as C.UTF-8"


def _programs(patient: Patient) -> Findings:
    from app.external_programs import How, OpenError, plan

    ways: tuple[How, ...] = ("system", "editor", "pager", "folder")
    for how in ways:
        try:
            command = plan(__file__, how, settings=patient.settings)
        except OpenError as error:
            yield "note", f"{how}: {error}"
            continue
        yield "ok", f"{how}: {'the Windows shell' if command.startfile else command.argv[0]}"


CHECKS: Mapping[str, Callable[[Patient], Findings]] = {
    "versions": _versions,
    "settings": _settings,
    "data folder": _folders,
    "folders": _roots,
    "index": _index,
    "reading": _reading,
    "meaning": _meaning,
    "learning": _state,
    "group": _group,
    "watching": _watching,
    "resident": _resident,
    "terminal": _terminal,
    "programs": _programs,
}
