"""Reading XML as a stream of events, without ever expanding an entity or loading anything from outside.

A document that declares entities inside itself may be a bomb; office files never do, so there it is refused.
Elsewhere such references are passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from xml.parsers import expat

from indexer.errors import ExtractionError


class Readable(Protocol):
    """A file, or a member of an archive."""

    def read(self, max_bytes: int, /) -> bytes:
        """At most `max_bytes` more bytes, none at the end."""


Start = Callable[[str, dict[str, str]], None]
End = Callable[[str], None]
Text = Callable[[str], None]

CHUNK = 1 << 16
"""bytes parsed between looks at whether the reader has enough"""


def parse(
    stream: Readable, start: Start, end: End, text: Text, *, is_done: Callable[[], bool], entities: bool = False
) -> None:
    """Call `start(name, attributes)`, `end(name)` and `text(characters)` for `stream` until `is_done()`.

    Names come without their namespace prefix, attribute names too. `entities` allows a document to declare
    some, which are then left out. Raises ExtractionError "malformed" with the line of the fault.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: start(local(name), attributes)
    parser.EndElementHandler = lambda name: end(local(name))
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = None if entities else _refuse
    if entities:
        parser.UseForeignDTD(True)
        parser.DefaultHandler = _pass_over
    try:
        while chunk := stream.read(CHUNK):
            parser.Parse(chunk, False)
            if is_done():
                return
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        reason = expat.errors.messages.get(error.code, "unknown fault")
        raise ExtractionError("malformed", f"XML is not well-formed: {reason} at line {error.lineno}") from error
    except (LookupError, ValueError) as error:
        raise ExtractionError("malformed", f"XML in an encoding that is not known: {error}") from error


def local(name: str) -> str:
    """`name` without its namespace prefix."""
    return name.rpartition(":")[2]


def attribute(attributes: dict[str, str], name: str) -> str:
    """The attribute called `name` under any prefix, "" when there is none."""
    if name in attributes:
        return attributes[name]
    return next((value for key, value in attributes.items() if key.rpartition(":")[2] == name), "")


def _refuse(*declaration: object) -> None:
    raise ExtractionError("malformed", "the file declares XML entities, which office files never need")


def _pass_over(data: str) -> None:
    """An unexpanded entity reference, or markup nobody asked for."""
