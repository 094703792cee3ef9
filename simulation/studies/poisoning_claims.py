"""What Chapter 5 of the thesis says of poisoning, and whether the rows of a run bear it out.

    python -m simulation.studies.poisoning_claims DIR ...

Each statement is a contrast, a sum of runs with signs that it says is above 0: "Krum helps" is nDCG with Krum less nDCG
without; "perfect clicks are hardest to poison" is the loss under other clicks less that under perfect ones. The test is
one-sided, over the held-out queries of the last rows (simulation.report.query_tests), its p by Holm among all contrasts
of the table. A statement can be right, wrong (its opposite has p < .05), or undecided. The thesis prints no numbers and
no test; its words are about curves, in part of data sets that are not here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from foltr.arrays import FloatVector
from simulation.report.query_tests import query_test
from simulation.report.significance import holm
from simulation.results import Row, Setting, read_run

LEVEL = 0.05
CLICKS = ("perfect", "navigational", "informational")
MALICIOUS = (1, 2, 3, 4)

Wanted: TypeAlias = Mapping[str, Setting]
"""settings of a run; it may have others, but not those of an attack that is not named"""
Values: TypeAlias = Mapping[tuple[int, int], FloatVector]
"""by (fold, seed) the nDCG of the held-out queries"""


@dataclass(frozen=True, slots=True)
class Claim:
    """One contrast of a statement."""

    statement: str
    case: str
    """clicks and m"""
    more: tuple[Wanted, ...]
    """the runs that count with +"""
    less: tuple[Wanted, ...]
    """the runs that count with -"""


@dataclass(frozen=True, slots=True)
class JudgedClaim:
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


def claims() -> Iterator[Claim]:
    """All statements of Sections 5.5 to 5.7 that are about who is better."""
    for clicks in CLICKS:
        yield from _of_clicks(clicks)
    for other in CLICKS[1:]:
        for m in MALICIOUS:
            yield Claim(
                "perfect clicks are the hardest to poison (5.5.1)",
                f"{other}, m = {m}",
                (_poisoned(other, 0), _poisoned("perfect", m)),
                (_poisoned(other, m), _poisoned("perfect", 0)),
            )


def _of_clicks(clicks: str) -> Iterator[Claim]:
    peaceful = _in_peace(clicks, "FedAvg")
    for m in MALICIOUS:
        case, plain = f"{clicks}, m = {m}", _poisoned(clicks, m)
        yield Claim("more attackers, more loss (5.5.1)", case, (_poisoned(clicks, m - 1),), (plain,))
        krum, helps = (_poisoned(clicks, m, "Krum"),), m > 1
        yield Claim(
            "Krum helps from 20 % (5.5.2)" if helps else "Krum does not help at 10 % (5.5.2)",
            case,
            krum if helps else (plain,),
            (plain,) if helps else krum,
        )
        for rule in ("trimmed mean", "median"):
            better = (_poisoned(clicks, m, rule),)
            yield Claim(f"{rule} is better than Krum (5.5.2, of MQ2007)", case, better, krum)
        lie = _attacked(clicks, m, "FedAvg", "lie")
        yield Claim("LIE does less than data poisoning (5.6.1)", case, (lie,), (_attacked(clicks, m, "FedAvg"),))
        full = _attacked(clicks, m, "Krum", "fang-krum")
        partial = {**full, "federation.attack.knowledge": "partial"}
        if m < 3:
            yield Claim("full knowledge does more than partial at 10 and 20 % (5.6.2)", case, (partial,), (full,))
        yield Claim(
            "Fang's attack does more than data poisoning (5.6.2)", case, (_attacked(clicks, m, "Krum"),), (full,)
        )
        yield Claim("Krum loses in peace (5.7)", case, (peaceful,), (_in_peace(clicks, f"Krum {m}"),))
    yield Claim("the median loses in peace (5.7)", clicks, (peaceful,), (_in_peace(clicks, "median"),))


def _poisoned(clicks: str, m: int, method: str = "FedAvg") -> dict[str, Setting]:
    return {"users.clicks": clicks, "federation.malicious": m, "method": method}


def _attacked(clicks: str, m: int, method: str, attack: str = "poisoned-clicks") -> dict[str, Setting]:
    return {**_poisoned(clicks, m, method), "federation.attack.attack": attack}


def _in_peace(clicks: str, method: str) -> dict[str, Setting]:
    return {"users.clicks": clicks, "method": method}


def judge(rows: Iterable[Row], wanted: Iterable[Claim]) -> list[JudgedClaim]:
    """The claims of whose runs there are rows with values of single queries, on the runs that all their sides have."""
    runs = _runs(rows)
    found: list[tuple[Claim, float, float, int]] = []
    for claim in wanted:
        sides = [
            *((1.0, _values(runs, one)) for one in claim.more),
            *((-1.0, _values(runs, one)) for one in claim.less),
        ]
        common = set.intersection(*(set(values) for _, values in sides))
        if common:
            per_fold: dict[int, list[FloatVector]] = {}
            for run in sorted(common):
                contrast = np.sum([sign * values[run] for sign, values in sides], axis=0)
                per_fold.setdefault(run[0], []).append(contrast)
            test = query_test({fold: np.stack(of_seeds) for fold, of_seeds in per_fold.items()})
            p = test.p / 2 if test.difference > 0 else 1 - test.p / 2
            found.append((claim, test.difference, p, len(common)))
    corrected = holm([p for _, _, p, _ in found])
    opposite = holm([1 - p for _, _, p, _ in found])
    return [
        JudgedClaim(claim, difference, p, p_opposite, n_runs)
        for (claim, difference, _, n_runs), p, p_opposite in zip(found, corrected, opposite, strict=True)
    ]


def _runs(rows: Iterable[Row]) -> list[tuple[dict[str, Setting], Values]]:
    """By settings the values of every run."""
    runs: dict[str, tuple[dict[str, Setting], dict[tuple[int, int], FloatVector]]] = {}
    for row in rows:
        if row.query_ndcg is not None:
            _, values = runs.setdefault(repr(sorted(row.settings.items())), (row.settings, {}))
            values[row.fold, row.seed] = np.array(row.query_ndcg)
    return [(settings, values) for settings, values in runs.values()]


def _values(runs: Sequence[tuple[dict[str, Setting], Values]], wanted: Wanted) -> Values:
    """Of the run with exactly these settings; {} without one."""
    return next((values for settings, values in runs if settings == wanted), {})


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


def main(folders: Sequence[str]) -> None:
    """Print the table of each folder."""
    for folder in folders:
        print("\n".join([f"{folder}", "", *table(judge(read_run(Path(folder)).complete, claims())), ""]))


if __name__ == "__main__":
    main(sys.argv[1:])
