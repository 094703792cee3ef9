"""Click models by numbers: the probability of every page of clicks is that which the model's paper gives it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.ranking.metrics import max_rr
from simulation.cells.parts import click_models_of
from simulation.engines import InProcess
from simulation.errors import PresetError
from simulation.experiment import work_with
from simulation.rounds.click_models import Users, expected_max_rr, in_turn
from simulation.rounds.numbered_models import DBN, Cascade, ClickModel, DependentClicks, PositionBased, SimplifiedDBN
from tests.simulation.small_study import cells_of, preset, rows_of

A, S, E = (0.1, 0.6, 0.9), (0.2, 0.5, 0.8), (1.0, 0.7, 0.4)
"""attraction and satisfaction by grade, what a rank is looked at or gone on from with"""
PAGE = (1, 0, 2, 1)
"""grades; the fourth rank has the number of the third"""
BY_RANK = (*E, E[-1])

Clicks = tuple[bool, ...]


def at_every_rank(clicks: Clicks) -> float:
    """P(C) = prod of a e or 1 - a e."""
    shares = [A[grade] * look for grade, look in zip(PAGE, BY_RANK, strict=True)]
    return float(np.prod([p if opened else 1 - p for p, opened in zip(shares, clicks, strict=True)]))


def down_to_the_end(clicks: Clicks, ends: Callable[[int, bool], float]) -> float:
    """P(C) of who looks from the top and ends after rank r with `ends(r, opened)`: the sum over where that may be."""
    total, reached = 0.0, 1.0
    for rank, (grade, opened) in enumerate(zip(PAGE, clicks, strict=True)):
        reached *= A[grade] if opened else 1 - A[grade]
        over = ends(rank, opened) if rank + 1 < len(PAGE) else 1.0
        if not any(clicks[rank + 1 :]):
            total += reached * over
        reached *= 1 - over
    return total


def patience(rank: int, opened: bool) -> float:
    """Not satisfied and persevering with .7, or ended."""
    return 1 - 0.7 * (1 - S[PAGE[rank]] if opened else 1.0)


MODELS: list[tuple[ClickModel, Callable[[Clicks], float]]] = [
    (PositionBased(attraction=A, examination=E), at_every_rank),
    (Cascade(attraction=A), lambda c: down_to_the_end(c, lambda rank, opened: float(opened))),
    (
        DependentClicks(attraction=A, go_on=E),
        lambda c: down_to_the_end(c, lambda rank, opened: 1 - BY_RANK[rank] if opened else 0.0),
    ),
    (
        SimplifiedDBN(attraction=A, satisfaction=S),
        lambda c: down_to_the_end(c, lambda rank, opened: S[PAGE[rank]] if opened else 0.0),
    ),
    (DBN(attraction=A, satisfaction=S, perseverance=0.7), lambda c: down_to_the_end(c, patience)),
]


def users_of(model: ClickModel) -> Users:
    return model.users(n_grades=3, n_clients=1, k=4, rng=np.random.default_rng(0))


@pytest.mark.parametrize(("model", "paper"), MODELS)
def test_clicks_are_drawn_as_the_paper_has_it(model: ClickModel, paper: Callable[[Clicks], float]) -> None:
    """4,000 pages: each of the sixteen patterns is as frequent as its formula says, within five standard errors."""
    users, rng = users_of(model), np.random.default_rng(3)
    page = np.array(PAGE, dtype=np.int8)
    drawn = [tuple(users.clicks(page, 0, rng).tolist()) for _ in range(4000)]
    shares = {pattern: paper(pattern) for pattern in product((False, True), repeat=4)}
    assert sum(shares.values()) == pytest.approx(1.0)
    for pattern, share in shares.items():
        assert drawn.count(pattern) / 4000 == pytest.approx(share, abs=1e-9 + 5 * np.sqrt(share * (1 - share) / 4000))
    values = [max_rr(np.array(pattern), 4) * share for pattern, share in shares.items()]
    assert expected_max_rr(users, [PAGE]) == pytest.approx([sum(values)])


def test_users_by_numbers_stand_beside_others() -> None:
    """A patient and an impatient user in turn: each has its own tables, whatever the other's depend on."""
    both = in_turn([users_of(model) for model, _ in MODELS], 5)
    assert both.stop.shape == (5, 3, 4)
    for client, (model, _) in enumerate(MODELS):
        alone = both.alone(client)
        assert expected_max_rr(alone, [PAGE]) == pytest.approx(expected_max_rr(users_of(model), [PAGE]))
        assert both.leave[client] == users_of(model).leave[0]


def test_a_preset_has_them_by_name_and_numbers() -> None:
    """Swept beside a kind of the papers; what a model does not know, or lacks, is named."""
    numbers = {"model": "dbn", "attraction": list(A), "satisfaction": list(S), "perseverance": 0.9}
    study = preset(seeds=1, sweep={"users.clicks": ["perfect", numbers]})
    rows = rows_of(InProcess().run(cells_of(study), work_with(None)))
    assert len({row.online_ndcg for row in rows if row.round == 4}) == 4  # of two folds
    for clicks, message in (
        ("perfekt", r"users.clicks: 'perfekt' is none of perfect, .*, dbn"),
        ({"model": "dbm"}, "users.clicks.model: there is no 'dbm'; there are position-based, cascade"),
        (numbers | {"gamma": 1}, "users.clicks.gamma: there is no such key"),
        ({"model": "cascade", "attraction": [2.0]}, r"users.clicks.attraction\[0\]: expected float <= 1.0"),
    ):
        with pytest.raises(PresetError, match=message):
            click_models_of(cells_of(preset(sweep={}, users={"clicks": clicks}))[0])
    with pytest.raises(ValueRangeError, match="wanted 5 numbers, one for each grade, got 3"):
        Cascade(attraction=A).users(n_grades=5, n_clients=1, k=4, rng=np.random.default_rng(0))
