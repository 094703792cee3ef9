"""A server that waits for nobody: each message moves it by its age."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.ranking.rankers import Linear, Neural, Ranker
from simulation.cells.cell import Cell, expand
from simulation.cells.preset import Asynchrony, decode_preset
from simulation.cells.trial import cell_events
from simulation.data.datasets import load_fold
from simulation.engines import Reported
from simulation.errors import PresetError
from simulation.experiment import check_method
from simulation.rounds.asynchronous import AsynchronousRounds
from simulation.rounds.click_models import in_turn, make_users
from simulation.rounds.federation import Population, Shown, learned
from simulation.rounds.streams import make_streams
from simulation.run_folder import Row


def population(**changed: Any) -> Population:
    """Three clients who click differently, with features of 64 bits, so that compiled scores are those of NumPy."""
    data = load_fold("sample").train
    kinds = ("perfect", "navigational", "informational")
    users = in_turn([make_users(kind, top_grade=2) for kind in kinds], 3)
    wide = replace(data, features=data.features.astype(np.float64))
    return Population(wide, users, **{"n_clients": 3, "n_local": 3, **changed})


@pytest.mark.parametrize("joins", ["rankers", "updates"])
@pytest.mark.parametrize("ranker", [Linear(46), Neural(46, n_hidden=4)])
def test_messages_move_the_server_by_their_age(joins: Any, ranker: Ranker) -> None:
    """Nine arrivals of three clients, each worked out from the list of all rankers that the server ever had."""
    halves = np.array([[0, 20], [20, 40], [5, 15]])
    method, everyone = FPDGD(ranker), population(n_local=np.array([2, 3, 4]), holds=halves)
    play = AsynchronousRounds(Asynchrony(joins=joins, weight=0.8, decay=0.5))
    streams, theirs = make_streams(4, 3), make_streams(4, 3)
    model = method.initial(streams.model)
    history, taken, arrivals = [method.initial(theirs.model).theta], [0, 0, 0], 0
    for _ in range(3):
        model, shown = play(method, model, everyone, streams)
        pages = []
        for client in [int(3 * theirs.model.random()) for _ in range(3)]:
            began = history[taken[client]]
            local = method.begin(Model(began), theirs.devices[client])
            local, _, of_client = learned(method, local, everyone, theirs, client, 0)
            pages += of_client
            ended = local.theta
            arrivals += 1
            w = 0.8 / (1 + arrivals - taken[client]) ** 0.5
            newest = history[-1]
            history.append((1 - w) * newest + w * ended if joins == "rankers" else newest + w * (ended - began))
            taken[client] = arrivals
        assert (shown.interactions, shown.clicks) == (len(pages), Shown.total(pages).clicks)
        assert shown.ndcg == pytest.approx(Shown.total(pages).ndcg, rel=1e-12)
    assert len(set(taken)) == 3
    np.testing.assert_allclose(model.theta, history[-1], rtol=1e-10, atol=1e-12)
    assert model.round == 3


def test_scores_beyond_all_numbers_are_refused() -> None:
    """No client goes on learning from them."""
    play, streams = AsynchronousRounds(Asynchrony()), make_streams(4, 3)
    with pytest.raises(ValueRangeError, match="scores must be finite"):
        play(FPDGD(Linear(46)), Model(np.full(46, np.inf)), population(), streams)


def test_pace_says_who_arrives_how_often() -> None:
    """Pace 1: of 4,400 arrivals four clients have 48, 24, 16 and 12 %; pace 0: a quarter each."""
    for pace, shares in ((1.0, [0.48, 0.24, 0.16, 0.12]), (0.0, [0.25] * 4)):
        rounds, rng = AsynchronousRounds(Asynchrony(pace=pace)), np.random.default_rng(7)
        arrived = [client for _ in range(1100) for client in rounds._arriving(4, rng)]
        np.testing.assert_allclose(np.bincount(arrived) / 4400, shares, atol=0.03)


def test_who_has_asked_everything_moves_nothing_more() -> None:
    """Two clients with two and one queries: after three pages the ranker stands still, however often they arrive."""
    holds = np.array([[0, 2], [2, 3]])
    everyone = Population(population().data, make_users("perfect", top_grade=2), 2, 1, holds=holds, in_order=True)
    method, play, streams = FPDGD(Linear(46)), AsynchronousRounds(Asynchrony()), make_streams(1, 2)
    model, pages = method.initial(streams.model), 0
    for _ in range(20):
        model, shown = play(method, model, everyone, streams)
        pages += shown.interactions
    after, shown = play(method, model, everyone, streams)
    assert (pages, shown.interactions) == (3, 0)
    assert after.theta.tolist() == model.theta.tolist()


def cell_of(federation: dict[str, Any], **method: Any) -> Cell:
    tables = {
        "data": {"dataset": "sample", "folds": [1]},
        "federation": {"clients": 4, "local": 2, "rounds": 5, "evaluate_every": 5, **federation},
        "method": {"name": "fpdgd", **method},
    }
    (cell,) = expand(decode_preset(tables, source="here"), folds_of=lambda _: (1,))
    return cell


def test_waiting_for_everybody_is_fpdgd() -> None:
    """joins = "rounds" makes the rows of a study that says nothing of it; the others make others."""

    def last(**federation: Any) -> Row:
        events = cell_events(cell_of(federation), root=None)
        return [event.row for event in events if isinstance(event, Reported)][-1]

    without, waiting, apart = last(), last(asynchrony={"joins": "rounds"}), last(asynchrony={})
    assert without.offline_ndcg == waiting.offline_ndcg != apart.offline_ndcg
    assert without.interactions == apart.interactions == 40


@pytest.mark.parametrize(
    ("federation", "method"),
    [
        ({"aggregation": {"rule": "median"}}, {}),
        ({"attack": {"attack": "opposed", "z": 2.0}, "malicious": 1}, {}),
        ({"aliased": True}, {"ranker": "neural", "personal": True}),
        ({"acceptance": {}}, {}),
        ({}, {"privacy": {"mechanism": "gaussian", "clip": 1.0, "noise_multiplier": 1.0}}),
        ({}, {"name": "foltr-es"}),
    ],
)
def test_what_needs_a_round_is_refused(federation: dict[str, Any], method: dict[str, Any]) -> None:
    """One line that names the key."""
    with pytest.raises(PresetError, match=r"federation\.asynchrony: wanted"):
        check_method(cell_of({"asynchrony": {}, **federation}, **method))


@pytest.mark.parametrize("key", [{"asynchrony": {}}, {"acceptance": {}}, {"in_order": True}])
def test_nobody_is_forgotten_of_other_rounds(key: dict[str, Any]) -> None:
    """Forgetting plays plain rounds: another kind beside it would be left out without a word."""
    forgetting = {"forgotten": 1, "unlearning": {"unlearning": "retrain"}}
    with pytest.raises(PresetError, match=r"federation\.unlearning: clients are forgotten of plain rounds alone"):
        check_method(cell_of({**forgetting, **key}))
