"""Results for people: plain lines in a pipe, wrapped and coloured ones in a terminal."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.commands.search import say_about
from app.paths import Paths
from app.search.results import Hit, ResultPage, SearchRequest

if TYPE_CHECKING:
    from tests.app.conftest import Device


def test_plain_lines_are_path_title_part_snippet(indexed: Device) -> None:
    """Without a terminal each result is one line of four columns."""
    done = indexed.run("search", "boat", "rental")
    (line,) = done.stdout.splitlines()
    path, title, part, snippet = line.split("\t")
    assert path == str(indexed.notes / "tax" / "invoice.html")
    assert (title, part) == ("Invoice 17", "")
    assert "Boat rental" in snippet


def test_results_of_meaning_alone_are_told_from_matches(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In a pipe, too, a line says that no document holds the words."""
    hits = (Hit(1, 1, "/a.txt", "", "A", "text", "", 0.0, 10, "", 1.0, 1),)
    for n, said in ((3, ""), (0, "foltr-search: nothing has these words; found by meaning alone\n")):
        page = ResultPage(SearchRequest("wind"), hits, n_matches=n, n_all_words=n, n_documents=10, seconds=0.0)
        say_about(page, Paths(tmp_path, tmp_path))
        assert capsys.readouterr().err == said


def test_explain_tells_why_on_plain_output(indexed: Device) -> None:
    """--explain adds a sentence, and what distinguishes a result from its neighbour."""
    done = indexed.run("search", "heron", "--explain", "--no-explore")
    assert "stands at 1" in done.stdout
    assert "against result 2, of which" in done.stdout
    assert "what its words are worth" in done.stdout


def test_a_terminal_gets_wrapped_and_coloured_lines(indexed: Device) -> None:
    """On a terminal results have colour and fit its width; NO_COLOR removes the colour."""
    coloured = on_terminal(indexed, "search", "heron")
    assert "\x1b[" in coloured
    plain = on_terminal(indexed, "search", "heron", NO_COLOR="1")
    assert "\x1b[" not in plain
    assert "matches in 6 documents" in plain
    results = [line for line in plain.splitlines() if not line.startswith("foltr-search:")]
    assert max(map(len, results)) <= 60


def test_a_narrow_terminal_still_tells_which_file_it_is(device: Device) -> None:
    """Type, day and long headings leave room for the title and the end of the path."""
    long = "Remarks on everything that was ever said in this house about herons, and on who said it and when"
    (device.notes / "diary.md").write_text(f"# Diary\n\n## {long}\n\nA pangolin came by.\n", encoding="utf-8")
    device.index()
    for width in ("20", "30", "80"):
        plain = on_terminal(device, "search", "pangolin", NO_COLOR="1", COLUMNS=width)
        first, second = plain.splitlines()[:2]
        assert "Diary" in first
        assert "diary.md" in second


def on_terminal(device: Device, *arguments: str, **env: str) -> str:
    """What a user of a terminal sees, of 60 columns if nothing else is said."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(device.home)
        environment = device.environment(**{"COLUMNS": "60", "LINES": "24", "TERM": "xterm", **env})
        os.execve(sys.executable, [sys.executable, "-m", "app", *arguments], environment)
    output = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not chunk:
            break
        output += chunk
    os.close(terminal)
    os.waitpid(pid, 0)
    return output.decode().replace("\r\n", "\n")
