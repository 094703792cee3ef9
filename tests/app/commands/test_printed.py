"""Paths on stdout: exact bytes in a pipe, and on a terminal nothing that it would obey."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from app.commands.command import print_json
from tests.app.commands.test_results_text import on_terminal
from tests.app.conftest import Device, make_device

NAMES = [
    "請求書\u3000帳.txt", "Foto\u00a0tapir.txt", "Screenshot 9.41\u202fAM tapir.txt", "می\u200cخواهم.txt",
    "family 👩\u200d👧.txt", "soft\u00adhyphen.txt", "zero\u200bwidth.txt", "mark\u202egnp.txt", "line\nend.txt",
    "esc\x1b[2J.txt", "c1\u009b2J.txt",
]  # fmt: skip
RAW = b"caf\xe9 tapir.txt"
"""Latin-1, as old archives leave them"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Device:
    """A device with one document about tapirs under each name."""
    device = make_device(tmp_path_factory.mktemp("odd"))
    for number, name in enumerate(NAMES):
        (device.notes / name).write_text(f"A tapir, number {number}.\n", encoding="utf-8")
    Path(os.fsdecode(os.fsencode(device.notes) + b"/" + RAW)).write_text("A tapir in Latin.\n", encoding="utf-8")
    device.index()
    return device


def every_path(device: Device) -> set[str]:
    return {str(device.notes / name) for name in [*NAMES, os.fsdecode(RAW)]}


def test_a_format_gives_every_name_byte_for_byte(odd: Device) -> None:
    """Each path, folder and name can be opened as printed; NUL separates those with line ends."""
    found = odd.run("search", "tapir", "--limit", "50", "--format", r"{folder}/{name}\0{path}\0").stdout
    rows = [part.removeprefix("\n") for part in found.split("\0") if part.strip("\n")]
    assert set(rows[::2]) == set(rows[1::2]) == every_path(odd)
    assert all(Path(path).is_file() for path in rows)


def test_plain_lines_and_json_hold_the_real_names(odd: Device) -> None:
    """The plain output of a pipe begins with the path; JSON has the bytes beside a name that is not UTF-8."""
    plain = odd.run("search", "tapir", "--limit", "50").stdout
    assert all(path + "\t" in plain for path in every_path(odd))
    records = [json.loads(line) for line in odd.run("search", "tapir", "--limit", "50", "--json").stdout.splitlines()]
    assert set(NAMES) < {record["name"] for record in records}
    assert {record["folder"] for record in records} == {str(odd.notes)}
    (raw,) = [record for record in records if "path_base64" in record]
    assert base64.b64decode(raw["path_base64"]) == os.fsencode(odd.notes) + b"/" + RAW


def test_open_why_and_status_print_the_real_path(odd: Device) -> None:
    """What they print in a pipe names the file."""
    first = odd.run("search", "tapir", "--limit", "1", "--paths0").stdout.rstrip("\0")
    assert odd.run("open", "1", "--print").stdout == first + "\n"
    for name in (NAMES[0], os.fsdecode(RAW)):
        assert odd.run("why", str(odd.notes / name)).stdout.startswith(f"{odd.notes / name}: indexed\n")
    assert str(odd.notes) in odd.run("status").stdout


def test_a_terminal_gets_no_control_and_no_direction(odd: Device) -> None:
    """The rest of a name is printed as it is, so that it can be copied from there."""
    shown = on_terminal(odd, "search", "tapir", "--limit", "50", "--format", "{name}", NO_COLOR="1")
    for name in NAMES[:7]:
        assert name in shown
    for name in ("mark\ufffdgnp.txt", "line\ufffdend.txt", "esc\ufffd[2J.txt", "c1\ufffd2J.txt", "caf\ufffd tapir.txt"):
        assert name in shown
    assert "\x1b" not in shown


def test_json_can_be_read_whatever_it_holds(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Undecodable names and signs that a terminal would obey are escaped; others stay as they are."""
    record = {"path": "caf\udce9", "query": "\x9b2J \u202e"}
    print_json(record)
    print_json({"path": "Räumung\u00a0帳\u3000"})
    escaped, plain = capfdbinary.readouterr().out.splitlines()
    assert json.loads(escaped.decode("ascii")) == record
    assert plain.decode() == '{"path": "Räumung\u00a0帳\u3000"}'
