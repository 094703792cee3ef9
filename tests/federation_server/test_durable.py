"""Keys and settings of a server are whole or not there, and their names are on disk when the call returns."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from federation_server import durable
from federation_server.durable import replace_durably


def test_content_then_name_then_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this order: else a power cut leaves an empty key, or takes its name back. For the owner alone."""
    seen: list[tuple[bool, bytes]] = []

    def fsync(handle: int) -> None:
        seen.append((stat.S_ISDIR(os.fstat(handle).st_mode), (tmp_path / "a").read_bytes()))

    monkeypatch.setattr(durable.os, "fsync", fsync)
    (tmp_path / "a").write_bytes(b"old")
    replace_durably(tmp_path / "a", b"new")
    assert seen == [(False, b"old"), (True, b"new")]
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
