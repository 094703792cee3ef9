"""With what a run was made: enough to repeat it, nothing about the person who made it.

There is no user name, no host name and no path in it: of the command line, whatever may be a path is left out.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import msgspec

from simulation.errors import SimulationError
from simulation.run_folder import replace_file

ENVIRONMENT = "environment.json"

PACKAGES = ("foltr-search", "numpy", "numba", "scipy", "msgspec")

PATH_OPTIONS = ("--data", "--out", "--with", "--submit")
PLACEHOLDER = "PATH"

GIT_SECONDS = 5.0


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """One start of a run."""

    started: str
    """UTC, ISO 8601"""
    finished: str | None = None
    """None while it runs, and after it was killed"""
    command: str
    """the command line, paths left out"""
    python: str
    packages: dict[str, str]
    """versions of those that are installed"""
    commit: str | None
    """of the package's own git checkout, with "+" where files were changed; None elsewhere"""
    platform: str
    cpu: str
    cores: int
    """that the process may use"""
    stand_in: str = ""
    """which data set this was not, where another stood in for it"""
    data: dict[str, str] = {}
    """digests of the data by file, as simulation.data.datasets has them"""


def environment(command: Sequence[str], *, stand_in: str = "", data: Mapping[str, str] | None = None) -> Environment:
    """The present environment of a run that was started with those words, on those data."""
    return Environment(
        started=_now(),
        command=" ".join(without_paths(command)),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        packages=_versions(),
        commit=_commit(Path(__file__).resolve().parents[1]),
        platform=f"{platform.system()} {platform.machine()}",
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        stand_in=stand_in,
        data=dict(data or {}),
    )


def keep_environment(folder: Path, entry: Environment) -> None:
    """Write an entry into environment.json: over the one of the same start, else after those of earlier starts."""
    earlier = [old for old in read_environments(folder) if old.started != entry.started]
    content = msgspec.json.format(msgspec.json.encode([*earlier, entry]), indent=1)
    replace_file(folder / ENVIRONMENT, content + b"\n")


def finished(entry: Environment) -> Environment:
    """The entry, ended now."""
    return msgspec.structs.replace(entry, finished=_now())


def read_environments(folder: Path) -> list[Environment]:
    """The entries of a folder; SimulationError when the file cannot be read."""
    path = folder / ENVIRONMENT
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Environment])
    except FileNotFoundError:
        return []
    except msgspec.DecodeError as error:
        raise SimulationError(f"{path}: wanted the environments of a run, got {error}") from error


def check_same_data(entries: Iterable[Environment], data: Mapping[str, str], folder: Path) -> None:
    """SimulationError names a file whose bytes are others than at an earlier start: rows of one run are of one data."""
    for entry in entries:
        for name, digest in entry.data.items():
            if data.get(name, digest) != digest:
                raise SimulationError(
                    f"cannot go on in {folder}: it was begun with {name} = {digest}, now it is {data[name]}"
                )


def without_paths(command: Sequence[str]) -> list[str]:
    """The words of a command line with PATH for each that may be one; the program itself keeps its last part.

    A name of a preset such as quick/fpdgd stays, unless there is a file of that name.
    """
    words, hide = [re.split(r"[/\\]", command[0])[-1]] if command else [], False
    for word in command[1:]:
        option, equals, value = word.partition("=")
        if hide:
            words.append(PLACEHOLDER)
        elif equals and (option in PATH_OPTIONS or _may_be_path(value)):
            words.append(f"{option}={PLACEHOLDER}")
        else:
            words.append(PLACEHOLDER if _may_be_path(word) else word)
        hide = word in PATH_OPTIONS
    return words


def _may_be_path(word: str) -> bool:
    return bool(re.search(r"^[~.]|^/|\\|^[A-Za-z]:|\.toml$", word)) or ("/" in word and Path(word).exists())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _commit(root: Path) -> str | None:
    """The commit of a checkout whose top is `root`; a package installed inside of another project has none."""
    if not (root / ".git").exists():
        return None
    head, changes = _git(root, "rev-parse", "HEAD"), _git(root, "status", "--porcelain", "--untracked-files=no")
    return None if not head else head + ("+" if changes else "")


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", root, *words], capture_output=True, timeout=GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode().strip()


def _cpu() -> str:
    """The processor's name where the system tells it."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), flags=re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()
