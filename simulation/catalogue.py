"""What `--list` shows: data sets, methods and presets, one line each."""

from __future__ import annotations

from pathlib import Path

from foltr.federated.registry import METHODS
from simulation.dataset_info import DATASETS
from simulation.datasets import folds_present
from simulation.errors import DatasetError, PresetError
from simulation.preset import decode_preset, load_tables, preset_names


def catalogue(root: Path | None) -> str:
    """The whole list; a data set is marked with the folds that are there below `root`."""
    datasets = [(name, _presence(name, root), info.title) for name, info in DATASETS.items()]
    methods = [(name, "", _first_line(method.__doc__)) for name, method in METHODS.items()]
    presets = [(name, "", _title(name)) for name in preset_names()]
    where = f"in {root}" if root else "no folder named: --data DIR, or FOLTR_DATASETS"
    return "\n\n".join(
        [
            _section(f"Data sets ({where}), or the path of a folder or file in LETOR's format", datasets),
            _section("Methods", methods),
            _section("Presets", presets),
        ]
    )


def _section(heading: str, lines: list[tuple[str, str, str]]) -> str:
    names, marks = (max((len(line[column]) for line in lines), default=0) for column in (0, 1))
    return "\n".join([heading, *(f"  {name:<{names}}  {mark:<{marks}}  {text}".rstrip() for name, mark, text in lines)])


def _presence(name: str, root: Path | None) -> str:
    try:
        folds = folds_present(name, root)
    except DatasetError:
        return "not here"
    return f"{len(folds)} fold{'s' if len(folds) > 1 else ''}"


def _first_line(doc: str | None) -> str:
    return (doc or "").strip().partition("\n")[0].partition(";")[0].rstrip(".")


def _title(name: str) -> str:
    """A preset's title with its figure or table."""
    try:
        paper = decode_preset(load_tables(name), source=name).paper
    except PresetError as error:
        return f"cannot be read: {error}"
    return ", ".join(part for part in (paper.title, paper.figure, paper.table) if part)
