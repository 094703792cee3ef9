"""Statements about who is better, judged by the rows of a run."""

from __future__ import annotations

import numpy as np

from simulation.cells.cell import expand
from simulation.cells.preset import decode_preset
from simulation.cells.preset_tables import load_tables
from simulation.report.paper_claims import Claim, claims, judge, table
from simulation.run_folder import Row, Setting

A, B, C, D = ({"method": name} for name in "abcd")


def row(settings: dict[str, Setting], values: list[float], *, fold: int = 1, seed: int = 1) -> Row:
    return Row(cell="", settings=settings, fold=fold, seed=seed, round=9, interactions=9, query_ndcg=tuple(values))


def test_a_difference_of_differences_by_hand() -> None:
    """(a - b) - (c - d) of ten queries is .2 everywhere: right with p = 2^-10, and its opposite wrong."""
    values = np.random.default_rng(0).random((4, 10))
    values[0] = values[1] + values[2] - values[3] + 0.2
    rows = [row(settings, list(v)) for settings, v in zip((A, B, C, D), values, strict=True)]
    said, opposite = Claim("said", "", (A, D), (B, C)), Claim("opposite", "", (B, C), (A, D))
    right, wrong = judge(rows, [said, opposite])
    assert (right.verdict, wrong.verdict) == ("right", "wrong")
    np.testing.assert_allclose([right.difference, -wrong.difference], 0.2)
    assert (right.p, right.p_opposite) == (2 * 2.0**-10, 1 - 2.0**-10), "Holm doubles the smaller of two"
    assert table([right, wrong])[2:] == [
        "| said | 1 | 0 | 0 | : +0.200 |",
        "| opposite | 0 | 1 | 0 | : -0.200 (wrong) |",
    ]


def test_noise_is_undecided_and_what_was_not_run_is_left_out() -> None:
    """Two runs that differ by lot; a third that nobody made; and runs that only one side has do not count."""
    rng = np.random.default_rng(1)
    rows = [row(one, list(rng.random(50)), fold=fold) for one in (A, B) for fold in (1, 2)]
    rows.append(row(A, [1.0] * 50, fold=3))
    (judged,) = judge(rows, [Claim("s", "case", (A,), (B,)), Claim("t", "case", (A,), (C,))])
    assert judged.verdict == "undecided"
    assert judged.n_runs == 2


def test_an_attack_that_is_not_named_is_another_run() -> None:
    """Settings must be the same: neither more nor less."""
    rows = [row({**A, "federation.attack.attack": "lie"}, [0.5]), row(B, [0.4])]
    assert judge(rows, [Claim("s", "", (A,), (B,))]) == []


def test_every_claim_is_about_cells_of_a_preset() -> None:
    """Each side of each statement is a cell of one of the figures' presets."""
    names = ("figure-5.2", "figure-5.3a", "figure-5.3b-c", "figure-5.4")
    studies = [decode_preset(load_tables(f"wang-2024/{name}"), source=name) for name in names]
    cells = [[cell.settings for cell in expand(study, folds_of=lambda _: (1,))] for study in studies]
    found = claims("wang-2024/chapter-5")
    assert len(found) == 101
    for claim in found:
        assert any(all(side in study for side in (*claim.more, *claim.less)) for study in cells), claim
