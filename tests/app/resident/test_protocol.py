"""The messages on the line."""

from __future__ import annotations

import pytest

from app.resident import protocol
from app.resident.command_runner import BadQuestion, Question


def test_a_question_arrives_as_it_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undecodable arguments, blanks, an empty one; of the variables only those that matter."""
    monkeypatch.setenv("COLUMNS", "91")
    monkeypatch.setenv("LINES", "none")
    monkeypatch.setenv("FOLTR_INDEX__WORKERS", "a=b")
    monkeypatch.setenv("SECRET_TOKEN", "no business of the other's")
    arguments = ("search", "", "a b", "caf\udce9", "-x")
    asked = Question.decode(protocol.question(protocol.RUN, arguments))
    assert (asked.arguments, asked.wanted, asked.version) == (arguments, b"run", protocol.identity())
    assert (asked.columns, asked.lines) == (91, 24)
    assert asked.variables["FOLTR_INDEX__WORKERS"] == "a=b"
    assert "SECRET_TOKEN" not in asked.variables
    assert all(protocol.matters(name) for name in asked.variables)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"x",
        protocol.PROTOCOL,
        b"\0" * 20,
        b"foltr-search resident 2" + b"\0" * 20,
        protocol.PROTOCOL + b"\0x" * 20,
    ],
)
def test_what_is_no_question_is_refused(message: bytes) -> None:
    """Too few fields, another protocol, words where numbers belong."""
    with pytest.raises(BadQuestion, match="wanted"):
        Question.decode(message)


@pytest.mark.parametrize(
    ("place", "content"),
    [(4, b"0"), (5, b"-1"), (4, b"1000000000"), (8, b"no-such strict"), (9, b"rot13 strict"), (8, b"utf-8 no-such"),
     (9, b""), (8, b"caf\xc3\xa9 strict")],
)  # fmt: skip
def test_a_terminal_that_cannot_be_is_refused(place: int, content: bytes) -> None:
    """No columns, too many, an encoding that is not for text, an unknown name for error handling."""
    fields = protocol.question(protocol.RUN, ("status",)).split(b"\0")
    fields[place] = content
    with pytest.raises(BadQuestion, match="wanted"):
        Question.decode(b"\0".join(fields))


def test_the_parts_of_an_answer() -> None:
    """In their order, with any content; an answer that ends early is refused."""
    made = [(protocol.OUT, b"\0\n" * 5), (protocol.ERR, b""), (protocol.OUT, b"x" * 70_000), (protocol.CODE, b"1")]
    answer = b"".join(protocol.part(*one) for one in made)
    assert list(protocol.parts(answer)) == made
    with pytest.raises(ValueError, match="early"):
        list(protocol.parts(answer[:-1]))
