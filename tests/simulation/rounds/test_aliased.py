"""FedPer on one hidden layer in memory, against arrays that really are one; and what it is not for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from foltr.federated.fpdgd import FPDGD
from foltr.online import pdgd
from foltr.ranking.interaction import Interaction
from foltr.ranking.plackett_luce import draw
from foltr.ranking.rankers import Neural
from simulation.cells.cell import expand
from simulation.cells.parts import fold_of
from simulation.cells.preset import decode_preset
from simulation.cells.trial import Trial, cell_events
from simulation.engines import Reported
from simulation.errors import PresetError
from simulation.experiment import check_method
from simulation.rounds.round_kinds import aliased_round
from simulation.rounds.streams import keep_user_state, make_streams, user_generator

TABLES: dict[str, Any] = {
    "data": {"dataset": "sample", "folds": [1], "evaluate_clients_on": {"kind": "queries"}},
    "users": {"clicks": "informational"},
    "federation": {"clients": 3, "local": 2, "rounds": 4, "aliased": True},
    "method": {"name": "fpdgd", "ranker": "neural", "hidden": 4, "personal": True, "learning_rate": 0.3},
}


def cell_of(**changed: dict[str, Any]) -> Any:
    tables = {name: {**table, **changed.get(name, {})} for name, table in TABLES.items()}
    (cell,) = expand(decode_preset(tables, source="here"), folds_of=lambda _: (1,))
    return cell


def test_it_is_one_array() -> None:
    """Three rounds of three clients beside a program whose rankers are views of one hidden layer."""
    cell = cell_of()
    trial = Trial.prepared(cell, fold_of(cell, None))
    assert isinstance(trial.ranker, Neural)
    method, n_clients = FPDGD(trial.ranker, learning_rate=0.3, personal=True), 3
    model = method.initial(make_streams(1, n_clients).model)
    population = replace(trial.population, personal=np.tile(model.theta, (n_clients, 1)))
    hidden, outputs = model.theta[: method.n_sent].copy(), [model.theta[method.n_sent :].copy()] * n_clients
    streams, theirs, n_rounds = make_streams(1, n_clients), make_streams(1, n_clients), 3
    for _ in range(n_rounds):
        model, shown = aliased_round(method, model, population, streams)
        assert shown.interactions == 6
        for client in range(n_clients):
            rng = user_generator(theirs, client)
            for _ in range(2):
                rows = population.data.rows(population.draw_query(client, rng))
                features, theta = population.data.features[rows].astype(float), np.r_[hidden, outputs[client]]
                ranking = draw(method.ranker.score(theta, features), population.users.k, rng)
                clicks = population.users.clicks(population.data.grades[rows][ranking], client, rng)
                step = 0.3 * pdgd.gradient(method.ranker, theta, Interaction(features, ranking, clicks))
                hidden += step[: len(hidden)]
                outputs[client] = outputs[client] + step[len(hidden) :]
            keep_user_state(theirs, client, rng)
    assert population.personal is not None
    np.testing.assert_allclose(model.theta[: len(hidden)], hidden, rtol=1e-12)
    np.testing.assert_allclose(population.personal, [np.r_[hidden, own] for own in outputs], rtol=1e-12)
    assert model.round == n_rounds


def test_of_one_client_it_is_fedper() -> None:
    """Nobody to share a layer with: the same rows, but for the time they took."""

    def rows(aliased: bool) -> list[Any]:
        cell = cell_of(federation={"clients": 1, "aliased": aliased, "in_order": True})
        found = [event.row for event in cell_events(cell, root=None) if isinstance(event, Reported)]
        return [(row.round, row.offline_ndcg, row.offline_ndcg_personal, row.online_ndcg) for row in found]

    assert len(rows(True)) == 5
    np.testing.assert_allclose(np.array(rows(True)[1:], float), np.array(rows(False)[1:], float), rtol=1e-9)


def test_of_three_clients_it_is_another_method() -> None:
    """The same seed, other rankers."""
    one, other = (
        [event.row for event in cell_events(cell_of(federation={"aliased": aliased}), root=None)
         if isinstance(event, Reported)][-1]
        for aliased in (True, False)
    )  # fmt: skip
    assert one.offline_ndcg_personal != other.offline_ndcg_personal


@pytest.mark.parametrize(
    "changed",
    [
        {"method": {"personal": False}},
        {"federation": {"aggregation": {"rule": "median"}}},
        {"federation": {"attack": {"attack": "opposed", "z": 2.0}, "malicious": 1}},
        {"method": {"privacy": {"mechanism": "gaussian", "clip": 1.0, "noise_multiplier": 1.0}}},
    ],
)
def test_what_it_is_not_for_is_refused(changed: dict[str, Any]) -> None:
    """One line that names the key."""
    cell = cell_of(**changed)
    with pytest.raises(PresetError, match=r"federation\.aliased: wanted"):
        check_method(cell)
