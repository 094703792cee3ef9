"""A client takes over what explains its own clicks better, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foltr.federated.fpdgd import FPDGD
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear
from simulation.cells.cell import expand
from simulation.cells.preset import Acceptance, decode_preset
from simulation.cells.trial import cell_events
from simulation.data.datasets import load_fold
from simulation.engines import Reported
from simulation.rounds.acceptance import AcceptingRounds, History, passes
from simulation.rounds.click_models import make_users
from simulation.rounds.federation import Population
from simulation.rounds.streams import make_streams
from simulation.run_folder import Row


def page(clicks: list[int]) -> Interaction:
    """Four documents of one feature, 0 to 3, shown as they stand."""
    return Interaction(np.arange(4.0)[:, None], np.arange(4), np.array(clicks, dtype=np.bool_))


def test_a_page_is_worth_its_clicks_by_where_they_would_stand() -> None:
    """Opened at rank 2 and 4: weights 2 and 4; theta 1 turns the order round: ranks 3 and 1, 2 / 2 + 4 / 1 = 5."""
    history = History(5)
    history.add(page([0, 1, 0, 1]))
    turned, kept = history.worths(Linear(1), [np.array([1.0]), np.array([-1.0])])[:, 0]
    assert turned == pytest.approx(5.0)
    assert kept == pytest.approx(2 / np.log2(3) + 4 / np.log2(5))


def test_a_history_holds_the_newest_pages_with_a_click() -> None:
    """Of four pages, one of them without a click, the last two."""
    history = History(2)
    for clicks in ([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]):
        history.add(page(clicks))
    assert [int(np.flatnonzero(one.clicks)[0]) for one in history.pages] == [1, 2]


def test_better_is_what_exceeds_chance() -> None:
    """Ten pages: +1 everywhere passes, -1 does not, +-1 in turns and the same ranker do not, nor nine pages."""
    own = np.zeros(10)
    worths = np.stack([own + 1, own - 1, np.tile([1.0, -1.0], 5), own, np.tile([1.4, -0.6], 5)])
    assert passes(worths, own, level=1.6449).tolist() == [True, False, False, False, False]
    assert passes(worths, own, level=0.0).tolist() == [True, False, False, False, True]
    assert not passes(worths[:, :9], own[:9], level=0.0).any()


def run(attack: dict[str, Any], malicious: int, **federation: Any) -> Row:
    tables = {
        "data": {"dataset": "sample", "folds": [1]},
        "federation": {
            "clients": 6, "local": 5, "rounds": 24, "evaluate_every": 24,
            "attack": attack, "malicious": malicious, **federation,
        },
        "method": {"name": "fpdgd"},
    }  # fmt: skip
    (cell,) = expand(decode_preset(tables, source="here"), folds_of=lambda _: (1,))
    return [event.row for event in cell_events(cell, root=None) if isinstance(event, Reported)][-1]


def test_who_tests_is_not_led_backwards() -> None:
    """Two of six reverse what they learned, fourfold: the mean is spoilt, the honest clients' rankers are not."""
    flip = {"attack": "flip", "scale": 4.0}
    spoilt = run(flip, 2)
    tested = run(flip, 2, acceptance={})
    assert spoilt.offline_ndcg is not None
    assert tested.offline_ndcg_personal is not None
    assert tested.offline_ndcg_personal > spoilt.offline_ndcg + 0.05


def test_nothing_passes_a_test_that_asks_too_much() -> None:
    """At a level that nothing reaches every client learns alone: peers and server make no difference."""
    rounds = {"rounds": 12, "evaluate_every": 12}  # histories are long enough for a test after three
    alone = [run({}, 0, acceptance={"incoming": kind, "level": 1e9}, **rounds) for kind in ("peers", "server")]
    assert alone[0].offline_ndcg_personal == alone[1].offline_ndcg_personal
    assert alone[0].online_ndcg == alone[1].online_ndcg


def test_attackers_are_told_who_would_accept() -> None:
    """The own ranker is never better than itself; before there are pages enough nobody accepts anything."""
    method, streams = FPDGD(Linear(46)), make_streams(1, 3)
    population = Population(load_fold("sample").train, make_users("perfect", top_grade=2), 3, 20)
    play = AcceptingRounds(Acceptance())
    play(method, method.initial(streams.model), population, streams)
    assert not play._passes(method, 0, play.own[:1]).any()
    play.histories[0].pages.clear()
    assert not play._passes(method, 0, play.own[1:] * 100).any()
