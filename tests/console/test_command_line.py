"""What all command lines do alike, in a program of two commands."""

from __future__ import annotations

import errno
import sys
from types import ModuleType

import click
import pytest

from console.command_line import FAILED, INTERRUPTED, CommandsByName, CommandWithExamples, run


@click.command(cls=CommandWithExamples, examples="\nheron catch   two  blanks\n")
@click.argument("what", type=click.Choice(["fish", "nothing", "cold", "bug"]))
def catch(what: str) -> int:
    """Catch something."""
    if what == "nothing":
        raise click.Abort
    if what == "cold":
        raise OSError(errno.ENOSPC, "full")
    if what == "bug":
        raise LookupError("a bug")
    return 7


class Heron(CommandsByName):
    modules = {"catch": "heron_catch"}  # noqa: RUF012


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ModuleType("heron_catch")
    made.command = catch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "heron_catch", made)


def call(*arguments: str) -> int:
    return run(
        Heron("heron"), arguments, program="heron", describe=lambda e: "no room" if isinstance(e, OSError) else None
    )


def test_an_exit_code_is_that_of_the_command_or_of_how_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    """Its own number, 130 for one that was ended, 2 and one line for an error or a word that does not fit."""
    assert (call("catch", "fish"), call("catch", "nothing"), call("catch", "cold")) == (7, INTERRUPTED, FAILED)
    assert capsys.readouterr().err == "heron: no room\n"
    assert call("catch", "frog") == FAILED
    assert (said := capsys.readouterr().err).endswith("; see `heron catch --help`\n")
    assert said.count("\n") == 1


def test_an_error_that_nobody_knows_is_seen_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the program has no words for it, and any error with FOLTR_DEBUG."""
    with pytest.raises(LookupError, match="a bug"):
        call("catch", "bug")
    monkeypatch.setenv("FOLTR_DEBUG", "1")
    with pytest.raises(OSError, match="full"):
        call("catch", "cold")


def test_examples_stand_in_the_help_as_they_were_written(capsys: pytest.CaptureFixture[str]) -> None:
    """Blanks are kept, and nothing is re-wrapped."""
    assert call("catch", "--help") == 0
    assert capsys.readouterr().out.endswith("\nExamples:\n  heron catch   two  blanks\n")
