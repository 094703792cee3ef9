"""The key that hides what was picked: private, random, kept."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from app.learning import pick_keys
from app.learning.pick_keys import load_key
from app.store import StateError


def test_the_key_is_private_random_and_kept(tmp_path: Path) -> None:
    """32 bytes, 0600, different on each device, the same at each start."""
    one, other = load_key(tmp_path / "key"), load_key(tmp_path / "key2")
    assert len(one) == 32
    assert one != other
    assert load_key(tmp_path / "key") == one
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_a_damaged_key_is_an_error_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of another length is refused."""
    monkeypatch.setattr(pick_keys.time, "sleep", lambda _: None)
    (tmp_path / "key").write_bytes(b"short")
    with pytest.raises(StateError, match="5 bytes, not 32"):
        load_key(tmp_path / "key")
