"""The folder of a run: what was run (preset.toml) and every row as soon as it exists (rows.jsonl).

A run that was interrupted is taken up in its folder: rows of finished cells stay, partial cells begin again.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec
import tomli_w

from simulation.cell import flat
from simulation.errors import SimulationError
from simulation.preset import Preset, decode_preset, preset_tables
from simulation.results import Row

PRESET = "preset.toml"
ROWS = "rows.jsonl"


class Keep(Protocol):
    """Writes a row down for good."""

    def __call__(self, row: Row) -> None: ...


def begin(folder: Path, preset: Preset) -> None:
    """Make the folder and write down what will run; SimulationError when it holds a run already."""
    if (folder / PRESET).exists() or (folder / ROWS).exists():
        raise SimulationError(f"{folder} holds a run already: --resume goes on with it, another --out begins anew")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PRESET).write_text(tomli_w.dumps(preset_tables(preset)), encoding="utf-8")
    (folder / ROWS).touch()


def stored_preset(folder: Path) -> Preset:
    """What runs in that folder; SimulationError when it holds no run."""
    path = folder / PRESET
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SimulationError(f"{folder} holds no run to go on with: there is no {PRESET}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SimulationError(f"{path}: not TOML: {error}") from error
    return decode_preset(tables, source=str(path))


def check_same(folder: Path, preset: Preset) -> None:
    """SimulationError names a key in which the preset is another than the folder's."""
    stored, asked = (dict(flat(preset_tables(p))) for p in (stored_preset(folder), preset))
    for key in sorted({*stored, *asked}):
        if stored.get(key) != asked.get(key):
            raise SimulationError(
                f"cannot go on in {folder}: it was begun with {_named(key, stored)}, now it is {_named(key, asked)}"
            )


def read_rows(folder: Path) -> list[Row]:
    """The rows so far, in the order of their arrival; a last line that was cut off is passed over."""
    path = folder / ROWS
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows += [msgspec.json.decode(line, type=Row)] if line else []
        except msgspec.DecodeError as error:
            if number < len(lines):
                raise SimulationError(f"{path}, line {number}: this is no row: {error}") from error
    return rows


def keep_only(folder: Path, cells: Collection[str]) -> None:
    """Take the rows of all other cells out."""
    kept = [row for row in read_rows(folder) if row.cell in cells]
    fresh = folder / f"{ROWS}.new"
    fresh.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in kept))
    os.replace(fresh, folder / ROWS)


@contextmanager
def appending(folder: Path) -> Iterator[Keep]:
    """A function that appends a row and hands it to the operating system at once."""
    with (folder / ROWS).open("ab") as file:

        def keep(row: Row) -> None:
            file.write(msgspec.json.encode(row) + b"\n")
            file.flush()

        yield keep


def _named(key: str, values: Mapping[str, Any]) -> str:
    return f"{key} = {values[key]!r}" if key in values else f"no {key}"
