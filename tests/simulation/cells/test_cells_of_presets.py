"""What every preset of a publication runs: a shorter way to write one down loses no cell and changes none.

`python -m tests.simulation.cells.test_cells_of_presets` writes the file anew; a line of it that changes is a study that
is another one.
"""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

from simulation.cells.cell import expand, flat
from simulation.cells.preset import Data, Preset, decode_preset, preset_tables
from simulation.cells.preset_tables import load_tables, preset_names

KNOWN = Path(__file__).with_name("cells_of_presets.csv")
FOLDS = (1, 2, 3, 4, 5)
"""of every data set"""
SAID_OF_CELLS = ("paper", "expect", "sweep", "seeds")
"""what is for people, and what makes cells and is in each of them"""
DEFAULT = dict(flat(preset_tables(Preset(data=Data(dataset=""), method={}))))


def with_values(preset: Preset) -> dict[str, Any]:
    """The keys of a cell whose value is not the default, so that a new key with a default changes nothing."""
    own = flat({key: table for key, table in preset_tables(preset).items() if key not in SAID_OF_CELLS})
    return {key: value for key, value in own if DEFAULT.get(key) != value}


def cells_of(name: str) -> tuple[str, str, str]:
    """The preset, how many cells it has, and what they are."""
    cells = expand(decode_preset(load_tables(name), source=name), folds_of=lambda dataset: FOLDS)
    own = {key: with_values(preset) for key, preset in {id(cell.preset): cell.preset for cell in cells}.items()}
    said = {cell.id: [cell.settings, own[id(cell.preset)]] for cell in cells}  # folds and seeds share a preset
    digest = hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=8)
    return name, str(len(cells)), digest.hexdigest()


def test_every_preset_has_the_cells_it_had() -> None:
    """None is lost, none is changed, and none of the presets is."""
    with KNOWN.open(encoding="utf-8", newline="") as lines:
        known = [(name, n_cells, digest) for name, n_cells, digest in csv.reader(lines)]
    assert [cells_of(name) for name in preset_names()] == known


if __name__ == "__main__":
    with KNOWN.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(map(cells_of, preset_names()))
