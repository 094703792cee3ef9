"""A command that runs in another process's place."""

from __future__ import annotations

import gc
import os
import random
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from app.following.indexing import update_index
from app.resident import on_behalf, protocol
from app.resident.command_runner import Question, alone, answer
from app.settings import IndexSettings, Paths, Settings
from benchmarks.odd_queries import odd_query


def question(folder: Path, *arguments: str, **variables: str) -> Question:
    return Question(
        b"", protocol.RUN, os.fsencode(folder), 60, 20, (True, False), ("utf-8 strict", "latin-1 strict"),
        arguments, {"HOME": str(folder), "FOLTR_DATA_DIR": str(folder / "data"), **variables},
    )  # fmt: skip


def test_the_process_is_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables, folder, streams and time zone are exchanged for one command and then restored."""
    monkeypatch.setenv("FOLTR_NOT_THERE", "mine")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    before = dict(os.environ), os.getcwd(), sys.stdin, sys.stdout, sys.stderr, time.timezone
    asked = question(tmp_path, "config", "path", TZ="Asia/Tokyo", FOLTR_CONFIG_DIR="here")
    assert list(protocol.parts(answer(asked))) == [
        (protocol.OUT, os.fsencode(tmp_path.resolve() / "here" / "config.toml\n")), (protocol.CODE, b"0"),
    ]  # fmt: skip
    assert (dict(os.environ), os.getcwd(), sys.stdin, sys.stdout, sys.stderr, time.timezone) == before


def test_each_stream_has_the_encoding_and_the_order_of_the_one_that_asked(tmp_path: Path) -> None:
    """Usage errors go to the caller's stderr, in its encoding, with its exit code."""
    parts = list(protocol.parts(answer(question(tmp_path, "search", "--café", "x"))))
    assert [kind for kind, _ in parts] == [protocol.ERR, protocol.CODE]
    assert b"caf\xe9" in parts[0][1]
    assert parts[1][1] == b"2"


def test_no_encoding_is_left_over_for_the_next(tmp_path: Path) -> None:
    """Whatever the order of callers; ASCII counts as no choice and becomes UTF-8."""
    for encoding, wanted in (("ascii", "utf-8"), ("latin-1", "latin-1"), ("utf-8", "utf-8"), ("ascii", "utf-8")):
        asked = structs.replace(question(tmp_path, "search", "--café", "x"), encodings=(f"{encoding} strict",) * 2)
        assert "café".encode(wanted) in next(protocol.parts(answer(asked)))[1]


def test_a_folder_that_is_gone_is_for_the_asking_process(tmp_path: Path) -> None:
    """The caller works alone and reports it."""
    assert [kind for kind, _ in protocol.parts(answer(question(tmp_path / "gone", "status")))] == [protocol.ALONE]


@pytest.fixture
def kept_searches() -> Iterator[None]:
    """This process keeps its searches as the resident one does, until the test is over."""
    with on_behalf.keep_searches():
        yield


def test_nothing_of_a_question_stays(tmp_path: Path, kept_searches: None) -> None:
    """Sixty more of the same questions (right, odd, mistaken, with other settings) leave but a few pages."""
    (tmp_path / "notes").mkdir()
    for i in range(20):
        (tmp_path / "notes" / f"{i}.txt").write_text(f"a heron and {i} grey fish by the river", encoding="ascii")
    settings = Settings(index=IndexSettings(workers=1))
    update_index(settings, Paths(tmp_path / "config", tmp_path / "data"), roots=[str(tmp_path / "notes")])
    rng = random.Random(7)
    odd = [odd_query(rng, ("heron", "fish", "river"))[:300].replace("\0", "") for _ in range(6)]
    questions = [
        question(tmp_path, *arguments, FOLTR_CONFIG_DIR=str(tmp_path / "config"), FOLTR_MEANING__ENABLED="false")
        for arguments in (
            *(("search", "--json", "--", text.encode("utf-8", "replace").decode()) for text in odd),
            *(("search", f"--strength=0.{i}", "--explain", "heron fish") for i in range(2)),
            ("search", "--no-such-option"), ("search", "heorn"), ("why", "/nowhere"), ("open", "1", "--print"),
        )
    ]  # fmt: skip

    def n_objects(rounds: int) -> int:
        for _ in range(rounds):
            for asked in questions:
                answer(asked)
        gc.collect()
        return sum(type(one) is not weakref.ref for one in gc.get_objects())  # of which modules keep some

    before = n_objects(14)  # caches are full by then, with any version of Python
    n_more = n_objects(6) - before
    assert n_more < 6 * len(questions) / 2  # some pages of the searches with other settings


def test_what_the_collector_does_not_see_stays_neither(tmp_path: Path) -> None:
    """Four hundred questions leave less than one block of memory each, of any kind."""
    asked = question(tmp_path, "config", "path", FOLTR_CONFIG_DIR="here")

    def n_blocks(rounds: int) -> int:
        for _ in range(rounds):
            answer(asked)
        gc.collect()
        return sys.getallocatedblocks()

    before = n_blocks(100)
    assert n_blocks(400) - before < 400


def test_an_error_that_no_command_knows_is_left_to_who_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With FOLTR_DEBUG a command raises unknown errors; the resident process must go on all the same."""
    monkeypatch.setattr("app.cli.program.main", lambda **_: 1 // 0)
    parts = list(protocol.parts(answer(question(tmp_path, "status", FOLTR_DEBUG="1"))))
    assert parts == [(protocol.ALONE, b"ZeroDivisionError: integer division or modulo by zero")]
    assert alone("\udcff of a name") == protocol.part(protocol.ALONE, b"? of a name")
