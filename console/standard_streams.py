"""Standard input, output and error in whatever state: closed by cron and daemons, or in a poor encoding."""

from __future__ import annotations

import codecs
import io
import os
import sys

NUMBERED = "foltr-search.numbered"
"""name of the error handler for what cannot be encoded: see `_numbered`"""


def open_missing() -> None:
    """Open /dev/null for each of the three that is closed, so that no other file gets its descriptor."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            os.dup2(opened, descriptor)
            if opened > 2:
                os.close(opened)
            stream = open(descriptor, "w" if descriptor else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def show_everything() -> None:
    """Make stdout write whatever is printed: a character that its encoding lacks is written as its number.

    File names that are not UTF-8 are written as their bytes. ASCII, which mostly means that no encoding is set, is
    taken as UTF-8, as click takes it: it would wrap the stream once and use that for all later output, too.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name == "ascii":
            stream.reconfigure(encoding="utf-8", errors=stream.errors)
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return
    if os.name == "nt":
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogatepass")
    else:
        codecs.register_error(NUMBERED, _numbered)
        sys.stdout.reconfigure(errors=NUMBERED)


def _numbered(error: UnicodeError) -> tuple[str | bytes, int]:
    """Write a character by its number as JSON does, \\u00e9, so that JSON stays JSON in any encoding."""
    assert isinstance(error, UnicodeEncodeError), "it is for writing"
    sign = error.object[error.start]
    if "\udc80" <= sign <= "\udcff":
        return bytes((ord(sign) - 0xDC00,)), error.start + 1
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)), error.start + 1
