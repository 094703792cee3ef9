"""What `--list` shows: data sets, methods and presets, one line each."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import msgspec

from foltr.federated.aggregation.registry import RULES
from foltr.federated.optimizers import Optimizer
from foltr.federated.registry import METHODS
from foltr.privacy.mechanisms import Mechanism
from simulation.attacks.registry import ATTACKS
from simulation.cells.cell import LEARN_FROM_LABELS
from simulation.cells.preset_tables import named_preset, preset_names
from simulation.data.known_datasets import DATASETS, folds_present, substitute
from simulation.errors import DatasetError, PresetError
from simulation.merging.splits import SPLITS
from simulation.partitions import PARTITIONS
from simulation.rounds.click_models import KINDS
from simulation.rounds.numbered_models import CLICK_MODELS
from simulation.studies.registry import MEASUREMENTS
from simulation.unlearning import UNLEARNING

NOTES = {
    "pdgd": "PDGD, centralised: one learner sees the pages of all clients, one after another",
    "fpdgd": "FPDGD: every client learns by PDGD, the server averages",
    "least-squares": "baseline on labels: linear regression of the grades",
    "ranksvm": "baseline on labels: linear RankSVM",
    "lambdarank": "baseline on labels: linear LambdaRank",
    "lambdamart": "baseline on labels: boosted trees by LightGBM (extra lambdamart)",
}
"""where the first line of a method's own description does not tell"""

UNBROKEN = 10_000
"""columns; wider than any line, for programs that read the list"""


def catalogue(root: Path | None, *, width: int) -> str:
    """The whole list, no line longer than `width`; a data set is marked with the folds that are there below `root`."""
    datasets = [(name, _presence(name, root), info.title) for name, info in DATASETS.items()]
    methods = [(name, "", NOTES.get(name) or _first_line(method.__doc__)) for name, method in METHODS.items()]
    methods += [(name, "", NOTES[name]) for name in LEARN_FROM_LABELS]
    methods += [(name, "", _first_line(kind.__doc__)) for name, kind in MEASUREMENTS.items()]
    presets = [(name, "", _title(name)) for name in preset_names()]
    where = f"in {root}" if root else "no folder named: --data DIR, or FOLTR_DATASETS"
    text = "\n\n".join(
        [
            _section(f"Data sets ({where}), or the path of a folder or file in LETOR's format", datasets),
            _section("Methods", methods),
            _section("Aggregation rules: --aggregation RULE, or RULE:KEY=VALUE,...", _records(RULES.values())),
            _section("Steps of the server: --set federation.optimizer.optimizer=NAME", _records(get_args(Optimizer))),
            _section(
                f"Users: --clicks {', '.join(KINDS)}; by numbers, users.clicks.model", _records(CLICK_MODELS.values())
            ),
            _section("Partitions: --set federation.partition.kind=NAME", _records(PARTITIONS.values())),
            _section("Queries of two owners: --set merging.split.kind=NAME", _records(SPLITS.values())),
            _section("Attacks: --set federation.attack.attack=NAME", _records(ATTACKS.values())),
            _section("Unlearning: --set federation.unlearning.unlearning=NAME", _records(UNLEARNING.values())),
            _section("Privacy: --privacy MECHANISM:KEY=VALUE,...", _records(get_args(Mechanism))),
            _section("Presets", presets),
        ]
    )
    return "\n".join(_wrapped(line, width) for line in text.splitlines())


def _wrapped(line: str, width: int) -> str:
    """What goes on stands below the last column."""
    last = len(line) - len(line.rpartition("  ")[2])
    return textwrap.fill(line, width, subsequent_indent=" " * last or "  ", break_on_hyphens=False)


def _records(kinds: Iterable[type[msgspec.Struct]]) -> list[tuple[str, str, str]]:
    """Tagged records: their names and their fields, with the default of each that has one."""
    lines = []
    for kind in kinds:
        fields = [
            field.name if field.required else f"{field.name}={field.default}" for field in msgspec.structs.fields(kind)
        ]
        lines.append((str(kind.__struct_config__.tag), "", ", ".join(fields)))
    return lines


def _section(heading: str, lines: list[tuple[str, str, str]]) -> str:
    names, marks = (max((len(line[column]) for line in lines), default=0) for column in (0, 1))
    return "\n".join([heading, *(f"  {name:<{names}}  {mark:<{marks}}  {text}".rstrip() for name, mark, text in lines)])


def _presence(name: str, root: Path | None) -> str:
    try:
        n_folds = len(folds_present(name, root))
    except DatasetError:
        other = substitute(name, root)
        return f"not here; {other} stands in" if other else "not here"
    return f"{n_folds} fold{'s' if n_folds > 1 else ''}"


def _first_line(doc: str | None) -> str:
    return (doc or "").strip().partition("\n")[0].partition(";")[0].rstrip(".")


def _title(name: str) -> str:
    try:
        return named_preset(name).paper.title
    except PresetError as error:
        return f"cannot be read: {error}"
