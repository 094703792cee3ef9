"""A command in the place of another process."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from app.resident import messages
from app.resident.answering import Question, answer


def question(folder: Path, *arguments: str, **variables: str) -> Question:
    return Question(
        b"", messages.RUN, os.fsencode(folder), 60, 20, (True, False), ("utf-8 strict", "latin-1 strict"),
        arguments, {"HOME": str(folder), "FOLTR_DATA_DIR": str(folder / "data"), **variables},
    )  # fmt: skip


def test_the_process_is_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables, folder, streams and time zone are exchanged for one command and then restored."""
    monkeypatch.setenv("FOLTR_NOT_THERE", "mine")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    before = dict(os.environ), os.getcwd(), sys.stdin, sys.stdout, sys.stderr, time.timezone
    asked = question(tmp_path, "config", "path", TZ="Asia/Tokyo", FOLTR_CONFIG_DIR="here")
    assert list(messages.parts(answer(asked))) == [
        (messages.OUT, os.fsencode(tmp_path.resolve() / "here" / "config.toml\n")), (messages.CODE, b"0"),
    ]  # fmt: skip
    assert (dict(os.environ), os.getcwd(), sys.stdin, sys.stdout, sys.stderr, time.timezone) == before


def test_each_stream_has_the_encoding_and_the_order_of_the_one_that_asked(tmp_path: Path) -> None:
    """Usage errors go to its stderr, in its encoding, with its exit code."""
    parts = list(messages.parts(answer(question(tmp_path, "search", "--café", "x"))))
    assert [kind for kind, _ in parts] == [messages.ERR, messages.CODE]
    assert b"caf\xe9" in parts[0][1]
    assert parts[1][1] == b"2"


def test_a_folder_that_is_gone_is_for_the_asking_process(tmp_path: Path) -> None:
    """It works alone, and says what it says then."""
    assert [kind for kind, _ in messages.parts(answer(question(tmp_path / "gone", "status")))] == [messages.ALONE]
