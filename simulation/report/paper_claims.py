"""A publication's statements about which method is better, and whether the rows of a run bear them out.

    python -m simulation.report.paper_claims wang-2024/chapter-5 DIR ...

PAPER/NAME.claims.csv holds a line for each contrast of a statement: a sum of runs with signs that it says is above 0.
"Krum helps" is nDCG with Krum (more) less nDCG without (less); "perfect clicks are hardest to poison" is the loss under
other clicks less that under perfect ones. A run is all its settings as KEY=VALUE, KEY=VALUE; several are added up with
" + ". The test is one-sided, over the held-out queries of the last rows (simulation.report.differences), its p
by Holm among all contrasts of the table. A statement can be right, wrong (its opposite has p < .05), or undecided.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from simulation.cells.preset_tables import parse_value, publication_file
from simulation.report.differences import QueryValues, contrast, query_test
from simulation.report.significance import holm
from simulation.report.statistics import Settings, query_values
from simulation.run_folder import Row, Setting, read_run

LEVEL = 0.05

Wanted: TypeAlias = Mapping[str, Setting]
"""settings of a run, all of them"""


class Claim(Struct, frozen=True):
    """One contrast of a statement."""

    statement: str
    case: str
    """clicks and m"""
    more: tuple[Wanted, ...]
    """the runs that count with +"""
    less: tuple[Wanted, ...]
    """the runs that count with -"""


class JudgedClaim(Struct, frozen=True):
    """What the rows say of a claim."""

    claim: Claim
    difference: float
    p: float
    """one-sided, of the statement; by Holm"""
    p_opposite: float
    """of its opposite"""
    n_runs: int

    @property
    def verdict(self) -> Literal["right", "wrong", "undecided"]:
        return "right" if self.p < LEVEL else "wrong" if self.p_opposite < LEVEL else "undecided"


def claims(name: str) -> list[Claim]:
    """The contrasts of a publication, as PAPER/NAME; PresetError when it has none of that name."""
    with publication_file(f"{name}.claims.csv").open(encoding="utf-8", newline="") as file:
        return [
            Claim(line["statement"], line["case"], _wanted(line["more"]), _wanted(line["less"]))
            for line in csv.DictReader(file)
        ]


def _wanted(text: str) -> tuple[Wanted, ...]:
    """The runs of one side."""
    runs = ((pair.split("=", 1) for pair in run.split(", ")) for run in text.split(" + "))
    return tuple({key: parse_value(word) for key, word in run} for run in runs)


def judge(rows: Iterable[Row], wanted: Iterable[Claim]) -> list[JudgedClaim]:
    """The claims of whose runs there are rows with values of single queries, on the runs that all their sides have."""
    runs = query_values(rows)
    found: list[tuple[Claim, float, float, int]] = []
    for claim in wanted:
        more, less = ([_values(runs, one) for one in side] for side in (claim.more, claim.less))
        if per_fold := contrast(more, less):
            test = query_test(per_fold)
            p = test.p / 2 if test.difference > 0 else 1 - test.p / 2
            found.append((claim, test.difference, p, sum(map(len, per_fold.values()))))
    corrected = holm([p for _, _, p, _ in found])
    opposite = holm([1 - p for _, _, p, _ in found])
    return [
        JudgedClaim(claim, difference, p, p_opposite, n_runs)
        for (claim, difference, _, n_runs), p, p_opposite in zip(found, corrected, opposite, strict=True)
    ]


def _values(runs: Mapping[Settings, QueryValues], wanted: Wanted) -> QueryValues:
    """Of the run with exactly these settings; {} without one."""
    return next((values for settings, values in runs.items() if dict(settings) == wanted), {})


def table(judged: Sequence[JudgedClaim]) -> list[str]:
    """Markdown: for each statement how often it is right, wrong and undecided, and every difference."""
    lines = ["| statement | right | wrong | undecided | differences |", "|---|---|---|---|---|"]
    for statement in dict.fromkeys(one.claim.statement for one in judged):
        own = [one for one in judged if one.claim.statement == statement]
        counts = [sum(one.verdict == verdict for one in own) for verdict in ("right", "wrong", "undecided")]
        marks = {"right": "", "wrong": " (wrong)", "undecided": "?"}
        cases = "; ".join(f"{one.claim.case}: {one.difference:+.3f}{marks[one.verdict]}" for one in own)
        lines.append(f"| {statement} | {' | '.join(map(str, counts))} | {cases} |")
    return lines


def main(name: str, *folders: str) -> None:
    """Print the table of each folder."""
    for folder in folders:
        print("\n".join([f"{folder}", "", *table(judge(read_run(Path(folder)).complete, claims(name))), ""]))


if __name__ == "__main__":
    main(*sys.argv[1:])
