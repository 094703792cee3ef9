"""Results for programs: JSON of version 1, paths, chosen fields, odd names."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.app.conftest import Device


def test_json_is_one_document_per_line_in_version_1(indexed: Device) -> None:
    """Each line has the documented fields, with the snippet's matches as offsets into its text."""
    done = indexed.run("search", "kingfisher", "--json", "--explain")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["rank"] for record in records] == list(range(1, len(records) + 1))
    first = records[0]
    assert first["v"] == 1
    assert first["path"] == str(indexed.notes / "birds" / "kingfisher.md")
    assert (first["name"], first["folder"]) == ("kingfisher.md", str(indexed.notes / "birds"))
    assert first["size"] == (indexed.notes / "birds" / "kingfisher.md").stat().st_size
    start, end = first["snippet"]["spans"][0]
    assert first["snippet"]["text"][start:end].lower() == "kingfisher"
    assert first["explanation"]["contributions"][0].keys() == {"feature", "description", "value", "prior", "learned"}
    documented = (Path(__file__).parents[3] / "docs" / "json-output.md").read_text(encoding="utf-8")
    assert all(f"`{field}`" in documented for field in [*first, *first["snippet"], *first["explanation"]])


def test_paths0_and_format(indexed: Device) -> None:
    """--paths0 ends each path with a NUL; --format fills fields and knows \\t and \\n."""
    found = indexed.run("search", "kingfisher", "--paths0").stdout
    assert found.endswith("\0")
    assert found.split("\0")[0] == str(indexed.notes / "birds" / "kingfisher.md")
    done = indexed.run("search", "boat", "--format", r"{rank}\t{name}\t{type}\n{title}{!}")
    assert done.stdout == "1\tinvoice.html\thtml\nInvoice 17{!}\n"


def test_an_unknown_field_names_the_known_ones(indexed: Device) -> None:
    """A misspelt field of --format is an error that lists the fields."""
    done = indexed.run("search", "boat", "--format", "{titel}")
    assert done.returncode == 2
    assert "no field {titel}; there are rank, path, title, snippet" in done.stderr


def test_odd_names_come_through_every_format(device: Device) -> None:
    """Plain lines, --paths0 and JSON keep the exact bytes; a line end in a name breaks neither --paths0 nor JSON."""
    names = [b"two\nlines.txt", b"escape\x1b[31m.txt", b"caf\xe9.txt", b"-dash.txt"]
    for name in names:
        try:
            Path(os.fsdecode(os.fsencode(device.notes) + b"/" + name)).write_bytes(b"ocelot " + name[:2])
        except OSError:
            pytest.skip("this file system does not take such names")
    device.index()
    plain = os.fsencode(device.run("search", "ocelot").stdout)
    wanted = {os.fsencode(device.notes) + b"/" + name for name in names}
    assert all(path + b"\t" in plain for path in wanted)
    listed = os.fsencode(device.run("search", "ocelot", "--paths0").stdout)
    assert set(listed.split(b"\0")[:-1]) == wanted
    records = [json.loads(line) for line in device.run("search", "ocelot", "--json").stdout.splitlines()]
    assert {path_bytes(record) for record in records} == wanted


def path_bytes(record: dict[str, str]) -> bytes:
    return base64.b64decode(record["path_base64"]) if "path_base64" in record else record["path"].encode()
