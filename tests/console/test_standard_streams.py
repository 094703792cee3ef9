"""Standard streams as they are found."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest

from console.standard_streams import show_everything

PROGRAM = "from console.standard_streams import open_missing; import os, sys; open_missing(); "


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "utf-16-le"])
def test_json_stays_json_in_any_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    """What the encoding does not have is written by its number, beyond the first plane as two; ASCII is UTF-8."""
    record = {"text": "café 中文 😀 \ud800"}
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    show_everything()
    print(json.dumps(record, ensure_ascii=False), flush=True)
    assert json.loads(raw.getvalue().decode(encoding.replace("ascii", "utf-8"))) == record


def test_names_that_are_not_utf_8_leave_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte, in any encoding of ASCII's family."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    show_everything()
    print(os.fsdecode(b"caf\xe9"), flush=True)
    assert raw.getvalue() == b"caf\xe9\n"


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the streams")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_no_file_takes_the_place_of_a_closed_stream(closed: str) -> None:
    """What is opened next has a descriptor of its own, and what is printed goes nowhere."""
    code = PROGRAM + "print(1); print(2, file=sys.stderr); sys.exit(40 + (os.open(os.devnull, os.O_RDONLY) > 2))"
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code], capture_output=True, check=False
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (41, b"" if ">&-" in closed.replace("2>&-", "") else b"1\n")
