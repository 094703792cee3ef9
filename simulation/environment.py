"""The environment of a run: enough to repeat it, nothing about the person who made it.

Rows are the same on every processor of one architecture, from the same build: the versions of what computes, and the
code. Rows of different builds are never mixed in one run.

There is no user name, no host name and no path in it: of the command line, whatever may be a path is left out.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import msgspec

from simulation.errors import SimulationError
from simulation.run_folder import replace_file

ENVIRONMENT = "environment.json"

DECISIVE = ("numpy", "numba", "llvmlite", "scipy", "lightgbm")
"""packages that numbers in rows may depend on"""
PACKAGES = ("foltr-search", *DECISIVE, "msgspec")

NUMBERS = 1
"""Raise it with any change to the numbers in rows: shipped rows with another number come from another build."""

COMMIT = "commit.txt"
"""beside this file where the program was installed from a package: the commit that the package was made of"""

_TELLING = ("sse4.2", "avx", "avx2", "fma", "avx512f", "neon", "sve")

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
    """of the package's own git checkout, with "+" where files were changed, or the one it was packaged at; else None"""
    build: dict[str, str] = {}
    """what rows depend on, as `build` has it"""
    platform: str
    cpu: str
    instructions: str = ""
    """the kind of processor that is compiled for, and which of some sets of instructions it has"""
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
        packages=_versions(PACKAGES),
        commit=_commit(Path(__file__).resolve().parents[1]),
        build=build(),
        platform=f"{platform.system()} {platform.machine()}",
        cpu=_cpu(),
        instructions=_instructions(),
        cores=cores(),
        stand_in=stand_in,
        data=dict(data or {}),
    )


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=1)
def build() -> dict[str, str]:
    """What rows depend on besides preset, data and seed: architecture, versions, and BLAKE2b of the code."""
    digest, root = hashlib.blake2b(digest_size=8), Path(__file__).resolve().parents[1]
    code = [path for house in ("foltr", "simulation") for path in (root / house).rglob("*.py")]
    for path in sorted([*code, root / "simulation/data/datasets.toml"]):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return {"machine": platform.machine(), **_versions(DECISIVE), "code": digest.hexdigest()}


def difference(first: Mapping[str, str], second: Mapping[str, str]) -> str:
    """The first thing in which two builds differ, `numpy 2.3.1, here 2.4.6`; "" where they are alike."""
    for key in (*first, *second):
        if first.get(key) != second.get(key):
            return f"{key} {first.get(key, 'unknown')}, here {second.get(key, 'none')}"
    return ""


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


def check_alike(entries: Iterable[Environment], data: Mapping[str, str], folder: Path) -> None:
    """SimulationError names what differs from an earlier start: rows of one run are of one build and the same data."""
    for entry in entries:
        if other := difference(entry.build, build()):
            raise SimulationError(f"cannot go on in {folder}: it was begun with {other}; begin anew with another --out")
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


def _versions(packages: Iterable[str]) -> dict[str, str]:
    versions = {}
    for name in packages:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _commit(root: Path) -> str | None:
    """The commit of a checkout whose top is `root`, else that of the package."""
    if not (root / ".git").exists():
        kept = root / "simulation" / COMMIT
        return kept.read_text(encoding="ascii").strip() if kept.exists() else None
    head, changes = _git(root, "rev-parse", "HEAD"), _git(root, "status", "--porcelain", "--untracked-files=no")
    return None if not head else head + ("+" if changes else "")


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", root, *words], capture_output=True, timeout=GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode().strip()


def _instructions() -> str:
    """`znver4: avx avx2 fma`; where NUMBA_CPU_NAME asks for another kind of processor, that one's name."""
    import numba
    from llvmlite import binding

    asked = numba.config.CPU_NAME  # type: ignore[attr-defined]
    has = binding.get_host_cpu_features()
    return f"{asked or binding.get_host_cpu_name()}: {' '.join(name for name in _TELLING if has.get(name))}"


def _cpu() -> str:
    """The processor's name where the system tells it."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), flags=re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()
