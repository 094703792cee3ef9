"""Whether the terminal is light: answers of real pseudo-terminals, and of none."""

from __future__ import annotations

import os
import pty
import select
import struct
import threading

import pytest
from textual import events

from app.tui.bars.query_input import QueryInput
from app.tui.terminal.terminal_capabilities import (
    QUESTION,
    TerminalCapabilities,
    asked_terminal,
    is_light_colour,
    places_pictures,
    understood,
    without_late_answers,
)
from tests.app.tui.conftest import Stages

ATTRIBUTES = b"\x1b[?62;22c"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"\x1b]11;rgb:ffff/ffff/dddd\x1b\\" + ATTRIBUTES, TerminalCapabilities(is_light=True)),
        (b"\x1b]11;rgb:00/2b/36\x07" + ATTRIBUTES, TerminalCapabilities()),
        (b"wi\x1b]11;rgba:ffff/ffff/ffff/ffff\x1b\\n" + ATTRIBUTES + b"d", TerminalCapabilities(True, typed="wind")),
        (ATTRIBUTES, TerminalCapabilities()),
        (b"\x1bP>|kitty(0.35.2)\x1b\\" + ATTRIBUTES, TerminalCapabilities(name="kitty(0.35.2)")),
        (
            b"a\x1b]11;rgb:f/f/f\x07\x1bP>|tmux 3.4\x07b" + ATTRIBUTES,
            TerminalCapabilities(True, typed="ab", name="tmux 3.4"),
        ),
    ],
)
def test_a_terminal_is_asked_and_keys_are_given_back(
    answer: bytes, expected: TerminalCapabilities, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Light, dark, light while somebody types, one that knows no colours, two with a name; its modes as before."""
    monkeypatch.setattr("app.tui.terminal.terminal_capabilities.SECONDS", 60.0)
    master, slave = pty.openpty()

    def terminal() -> None:
        asked = b""
        while QUESTION not in asked:
            asked += os.read(master, 1024)
        os.write(master, answer)

    import termios

    before = termios.tcgetattr(slave)
    thread = threading.Thread(target=terminal)
    thread.start()
    with asked_terminal({"TERM": "xterm"}, reading=slave, writing=slave) as told:
        found = told()
    thread.join()
    assert found == expected
    assert termios.tcgetattr(slave) == before
    assert not select.select([slave], [], [], 0)[0]
    os.close(master)
    os.close(slave)


def test_the_size_of_a_cell_is_that_of_the_window_where_the_terminal_does_not_say() -> None:
    """As xterm is shipped: sixels, no answer about a cell, and a window of so many points."""
    import fcntl
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 480, 312))
    os.write(master, b"\x1b[?63;1;2;4;6c")
    with asked_terminal({"TERM": "xterm"}, reading=slave, writing=slave) as told:
        found = told()
    assert (found.has_sixels, found.cell) == (True, (6, 13))
    os.close(master)
    os.close(slave)


def test_one_that_never_answers_is_not_waited_for_and_told_by_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing hangs, and what comes later is known to be an answer."""
    monkeypatch.setattr("app.tui.terminal.terminal_capabilities.SECONDS", 0.05)
    master, slave = pty.openpty()
    with asked_terminal({"TERM": "xterm", "COLORFGBG": "0;15"}, reading=slave, writing=slave) as told:
        found = told()
    assert found == TerminalCapabilities(is_light=True, is_late=True)
    os.close(master)
    os.close(slave)


def test_what_came_while_there_was_other_work_is_read_however_long_that_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the time is over before anybody looks; the answer is there all the same."""
    monkeypatch.setattr("app.tui.terminal.terminal_capabilities.SECONDS", 0.0)
    master, slave = pty.openpty()
    with asked_terminal({"TERM": "xterm"}, reading=slave, writing=slave) as told:
        os.write(master, b"\x1bP>|kitty(0.35.2)\x1b\\" + ATTRIBUTES)
        assert select.select([slave], [], [], 60)[0]
        assert told() == TerminalCapabilities(name="kitty(0.35.2)")
    os.close(master)
    os.close(slave)


def test_an_answer_that_nobody_took_does_not_reach_the_shell() -> None:
    """Where the screen fails to load after the question."""
    master, slave = pty.openpty()
    with asked_terminal({"TERM": "xterm"}, reading=slave, writing=slave):
        os.write(master, ATTRIBUTES)
        assert select.select([slave], [], [], 60)[0]
    assert not select.select([slave], [], [], 0)[0]
    os.close(master)
    os.close(slave)


def test_pipes_and_plain_terminals_are_not_asked() -> None:
    """No byte is written to them; the variable alone speaks."""
    reading, writing = os.pipe()
    for env in ({"TERM": "xterm"}, {"TERM": "linux", "COLORFGBG": "15;0"}):
        with asked_terminal(env, reading=reading, writing=writing) as told:
            assert told() == TerminalCapabilities()
    assert not select.select([reading], [], [], 0)[0]
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize(
    ("variable", "light"),
    [("0;15", True), ("0;7", True), ("15;default;0", False), ("15;8", False), ("", False), ("x", False)],
)
def test_the_variable_names_the_background_last(variable: str, light: bool) -> None:
    """rxvt's COLORFGBG, where the terminal says nothing."""
    reading, writing = os.pipe()
    with asked_terminal({"COLORFGBG": variable, "TERM": "rxvt"}, reading=reading, writing=writing) as told:
        assert told().is_light is light
    os.close(reading)
    os.close(writing)


def test_light_is_what_black_is_read_on() -> None:
    """Luma .299 r + .587 g + .114 b: pure green .587 is light, red .299 and blue .114 are not."""
    assert [is_light_colour(*colour) for colour in (("0", "f", "0"), ("ff", "00", "00"), ("0000", "0000", "ffff"))] == [
        True, False, False,
    ]  # fmt: skip


def test_a_key_of_the_cursor_is_not_typed_text() -> None:
    """What holds an escape sequence is thrown away whole."""
    assert understood(b"\x1b[A" + ATTRIBUTES, False) == TerminalCapabilities()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("kitty(0.28.0)", True), ("kitty(1.0.0)", True), ("kitty(0.27.9)", False), ("ghostty 1.1.0", True),
     ("WezTerm 20240203-110809", False), ("Konsole 22.04", False), ("tmux 3.4", False), ("", False)],
)  # fmt: skip
def test_who_places_pictures_is_told_by_the_name(name: str, expected: bool) -> None:
    """kitty since 0.28, and ghostty; those that answer kitty's query without knowing its characters do not."""
    assert places_pictures(name) == expected


async def test_a_late_answer_is_taken_out_of_the_box(stage: Stages) -> None:
    """It arrives as keys, one by one, between those of the user."""
    late = "]11;rgb:ffff/ffff/ffff\\"
    assert without_late_answers(f"wi^{late}P>|XTerm(379)\\[?62;22cnd") == "wind"
    one = stage(terminal=TerminalCapabilities(is_late=True))
    async with one.app.run_test(size=(120, 40)) as pilot:
        for character in f"wi{late}nd":
            one.app.post_message(events.Key(character, character))
        await one.until(pilot, lambda: one.asked == "wind")
        assert one.app.search_screen.query_one(QueryInput).value == "wind"


@pytest.mark.parametrize(
    ("answer", "has_sixels", "cell"),
    [
        (b"\x1b[6;20;10t\x1b[?62;4;22c", True, (10, 20)),
        (b"\x1b[?62;4c\x1b[6;20;10t", True, (10, 20)),
        (b"\x1b[?62;14;22c", False, (0, 0)),
        (b"\x1b[?4c", False, (0, 0)),
        (b"", False, (0, 0)),
    ],
)
def test_sixels_are_told_by_the_attributes(answer: bytes, has_sixels: bool, cell: tuple[int, int]) -> None:
    """4 among those behind the first, which is the terminal's class; the size of a cell as height, then width."""
    traits = understood(answer, False)
    assert (traits.has_sixels, traits.cell, traits.typed) == (has_sixels, cell, "")
    assert without_late_answers("[6;20;10twind") == "wind"


async def test_a_light_terminal_gets_the_light_theme_and_what_was_typed_is_asked(stage: Stages) -> None:
    """screen.theme is auto as shipped."""
    one = stage(terminal=TerminalCapabilities(is_light=True, typed="wind"))
    async with one.app.run_test(size=(120, 40)) as pilot:
        await one.until(pilot, lambda: one.asked == "wind")
        assert one.app.theme == "day"
