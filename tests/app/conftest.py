"""A separate device for each test: folders, a tree of real files, and the program as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.store import Store
from tests import copied

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Device:
    """One user's folders; `run` starts the program in a process of its own."""

    home: Path

    @property
    def data_dir(self) -> Path:
        return self.home / "data"

    @property
    def config_file(self) -> Path:
        return self.home / "config" / "config.toml"

    @property
    def notes(self) -> Path:
        return self.home / "notes"

    def environment(self, **more: str) -> dict[str, str]:
        """No settings, display or programs of whoever runs the tests."""
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "FOLTR_CONFIG_DIR": str(self.home / "config"),
            "FOLTR_DATA_DIR": str(self.data_dir),
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "PYTHONUTF8": "1",
            "FOLTR_MEANING__ENABLED": "false",  # the encoder takes a while to load; its own tests switch it on
            **more,
        }

    def run(
        self, *arguments: str | bytes, env: Mapping[str, str] | None = None, cwd: Path | None = None, typed: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run one command line to its end; its output is text.

        In a copy of a process that has loaded the program, unless the variables are for Python itself.
        """
        variables = self.environment(**(env or {}))
        is_for_python = any(name.startswith(("PYTHON", "LANG", "LC_")) for name in env or {})
        if hasattr(os, "fork") and not is_for_python:
            given = [os.fsdecode(argument) for argument in arguments]
            return copied.run(given, variables=variables, cwd=cwd or self.home, typed=typed)
        return subprocess.run(
            [sys.executable, "-m", "app", *arguments],
            env=variables, cwd=cwd or self.home, capture_output=True, check=False,
            encoding="utf-8", errors="surrogateescape", input=typed, timeout=600,
        )  # fmt: skip

    def index(self) -> None:
        done = self.run("index", str(self.notes))
        assert done.returncode == 0, done.stderr


DOCUMENTS = {
    "birds/heron.txt": "Grey heron\n\nThe heron stands in shallow water and waits for fish.\n",
    "birds/kingfisher.md": "# Kingfisher\n\nThe kingfisher dives for fish. It nests in river banks.\n",
    "birds/list.txt": "heron, kingfisher, stork, crane, egret\n",
    "tax/return 2024.txt": "Tax return for 2024: income, expenses, heron street 5.\n",
    "tax/invoice.html": "<html><title>Invoice 17</title><body><p>Boat rental: 120 euros</p></body></html>",
    "code/fish_counter.py": "def count_fish(river):\n    return len(river.fish)\n",
}


def make_device(home: Path) -> Device:
    """A device with a small tree of notes, nothing of it indexed yet."""
    device = Device(home)
    device.config_file.parent.mkdir()
    for name, content in DOCUMENTS.items():
        path = device.notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return device


@pytest.fixture
def device(tmp_path: Path) -> Device:
    """A device of this test's own; nothing is indexed yet."""
    return make_device(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """The state of a device that has seen nothing yet."""
    return Store(tmp_path / "state.sqlite")


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Device:
    """A device whose notes are indexed, shared by tests that only search."""
    device = make_device(tmp_path_factory.mktemp("device"))
    device.index()
    return device
