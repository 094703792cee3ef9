"""Machines of one person in one folder, and a child process in place of ssh that answers for each."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from app.search.search import Search
from app.settings import DevicesSettings, IndexSettings, LearningSettings, MeaningSettings, Paths, Settings
from tests.app.indexed import index_files

SETTINGS = Settings(
    index=IndexSettings(workers=1),
    learning=LearningSettings(exploration=0.0),
    meaning=MeaningSettings(enabled=False),
    devices=DevicesSettings(ask_seconds=60.0),
)
IN_PLACE_OF_SSH = """
import os, sys
folder = os.path.join(sys.argv[1], sys.argv[sys.argv.index("--") + 1])
if os.path.exists(folder + "/instead.py"):
    os.execv(sys.executable, [sys.executable, folder + "/instead.py"])
if not os.path.isdir(folder):
    sys.exit("ssh: Could not resolve hostname")
os.environ.update(FOLTR_DATA_DIR=folder + "/data", FOLTR_CONFIG_DIR=folder + "/config", FOLTR_MEANING__ENABLED="false")
os.execv(sys.executable, [sys.executable, "-m", "app", "devices", "answer"])
"""
"""a folder may hold what another program would do in its place"""
MODIFIED = 1_700_000_000.0


def paths_of(folder: Path) -> Paths:
    return Paths(folder / "config", folder / "data")


def make_machine(folder: Path, files: Mapping[str, str]) -> Path:
    """One that has these files indexed, of equal age."""
    for name, text in files.items():
        path = folder / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (MODIFIED, MODIFIED))
    index_files(SETTINGS, paths_of(folder), [str(folder / "notes")])
    return folder


def ssh_to(base: Path) -> str:
    """The program that reaches the machines below a folder."""
    return shlex.join([sys.executable, "-c", IN_PLACE_OF_SSH, str(base)])


@contextmanager
def searching(folder: Path, *, seconds: float = 60.0) -> Iterator[Search]:
    """On one machine, from which those beside it can be asked."""
    devices = DevicesSettings(ssh=ssh_to(folder.parent), ask_seconds=seconds)
    search = Search(msgspec.structs.replace(SETTINGS, devices=devices), paths_of(folder))
    try:
        yield search
    finally:
        search.close()


def instead(folder: Path, program: str) -> None:
    """Another program answers for the machine of this name."""
    folder.mkdir()
    (folder / "instead.py").write_text(program, encoding="utf-8")
