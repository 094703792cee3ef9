"""Mailboxes in one file: each message a document, read one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.gathered import Gathered
from indexer.extract.limits import Limits, shown_size
from indexer.extract.mail import read_message
from indexer.extract.plain import extract as extract_text
from indexer.extract.source import Extractor, Source

_FROM = re.compile(rb"^From .*(?:\d\d:\d\d|\d{4})")
_QUOTED = re.compile(rb"^>+From ")


def extract(source: Source, limits: Limits, member: Extractor) -> Extraction:
    """A document per message, its part "message 3"; a file without a message is read as plain text."""
    if not source.read(5).startswith(b"From "):
        return extract_text(source, limits)
    gathered = Gathered(limits)
    for number, (data, size) in enumerate(messages(source, limits), 1):
        if number > limits.max_messages:
            gathered.note(f"only the first {limits.max_messages} messages are read")
            break
        part = f"message {number}"
        try:
            if size > limits.max_member_bytes:
                raise ExtractionError("too-large", f"{shown_size(size)}, more than {shown_size(len(data))}")
            gathered.add(read_message(data, source.depth, limits, member), part)
        except ExtractionError as error:
            gathered.fail(part, error)
        if gathered.full:
            break
    found = gathered.extraction()
    if not found.documents:
        raise ExtractionError("malformed", found.notes[0] if found.notes else "no message in the mailbox")
    return found


def messages(source: Source, limits: Limits) -> Iterator[tuple[bytes, int]]:
    """Each message without its "From " line, at most `max_member_bytes` of it, with its size in bytes.

    A message begins at a line "From ..." with a date, after an empty line; ">From " in a body is unquoted.
    """
    with source.open() as stream:
        lines, size, after_empty = list[bytes](), -1, True
        while line := stream.readline(1 << 20):
            if after_empty and line.startswith(b"From ") and _FROM.match(line[:500]):
                if size >= 0:
                    yield b"".join(lines), size
                lines, size = [], 0
            elif size >= 0:
                size += len(line)
                if size <= limits.max_member_bytes:
                    lines.append(line[1:] if _QUOTED.match(line) else line)
            after_empty = line in (b"\n", b"\r\n")
        if size >= 0:
            yield b"".join(lines), size
