"""Going on with a run that was interrupted: only the same study may go on in a folder."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simulation.cell import flat
from simulation.errors import SimulationError
from simulation.preset import Preset, decode_preset, preset_tables
from simulation.results import PRESET

FOR_PEOPLE = ("paper.", "expect.")


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
    """SimulationError names a key in which the preset is not the folder's; what only people read may differ."""
    stored, asked = (dict(flat(preset_tables(p))) for p in (stored_preset(folder), preset))
    for key in sorted(key for key in {*stored, *asked} if not key.startswith(FOR_PEOPLE)):
        if stored.get(key) != asked.get(key):
            raise SimulationError(
                f"cannot go on in {folder}: it was begun with {_named(key, stored)}, now it is {_named(key, asked)}"
            )


def _named(key: str, values: Mapping[str, Any]) -> str:
    return f"{key} = {values[key]!r}" if key in values else f"no {key}"
