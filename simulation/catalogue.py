"""What `--list` shows: data sets, methods and presets, one line each."""

from __future__ import annotations

from pathlib import Path

from foltr.federated.registry import METHODS
from simulation.dataset_info import DATASETS, DatasetInfo
from simulation.errors import PresetError
from simulation.fold_files import find_folds
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
    n_folds = _n_folds(name, DATASETS[name], root)
    return f"{n_folds} fold{'s' if n_folds > 1 else ''}" if n_folds else "not here"


def _n_folds(name: str, info: DatasetInfo, root: Path | None) -> int:
    """How many folds are there; looks at names of files alone, so that the list needs no compiler."""
    if name == "sample" or info.layout == "generated":
        return info.n_folds
    if root is None or not root.is_dir():
        return 0
    accepted = {folder.lower() for folder in info.folders}
    return max(len(find_folds(path)) if path.name.lower() in accepted else 0 for path in (root, *root.iterdir()))


def _first_line(doc: str | None) -> str:
    return (doc or "").strip().partition("\n")[0].partition(";")[0].rstrip(".")


def _title(name: str) -> str:
    """A preset's title with its figure or table."""
    try:
        paper = decode_preset(load_tables(name), source=name).paper
    except PresetError as error:
        return f"cannot be read: {error}"
    return ", ".join(part for part in (paper.title, paper.figure, paper.table) if part)
