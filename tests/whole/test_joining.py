"""One way to join: a served group and the laboratory end at the same ranker, and a preset is a group's default."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from federation_server.group.group import method_of
from federation_server.rounds.rounds import policy_of
from federation_server.settings import MethodSection, ServerSettings
from federation_server.setup import terms_of
from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.ranking.rankers import Linear
from indexer.retrieval.features import NAMES
from simulation.batched.fpdgd_rounds import reported_thetas, run_round
from simulation.cells.cell import expand
from simulation.cells.parts import method_of as method_of_cell
from simulation.cells.preset import decode_preset
from simulation.cells.preset_tables import load_tables
from simulation.data.queries import QuerySet
from simulation.rounds.click_models import Users
from simulation.rounds.federation import Population
from simulation.rounds.streams import make_streams
from tests.federation_server.client import Client, make_server, member, running
from tests.waiting import until

N_MEMBERS = 7


def laboratory_default(n_features: int) -> FPDGD:
    """The method that the preset group/default runs."""
    (cell, *_) = expand(decode_preset(load_tables("group/default"), source="group/default"), folds_of=lambda _: (1,))
    method = method_of_cell(cell, Linear(n_features))
    assert isinstance(method, FPDGD)
    return method


def test_the_preset_is_what_a_server_does_unless_told_otherwise() -> None:
    """Method, privacy, rule, caps, guard and optimiser of group/default are those of the server's settings.

    But for the features whose weights are shared: made-up data has none of those names.
    """
    settings = ServerSettings(method=MethodSection(mode="open"))
    served = method_of(terms_of(settings, "group", features=NAMES, manifest_hash=""))
    lab = laboratory_default(len(NAMES))
    assert lab.joining == msgspec.structs.replace(policy_of(settings).joining, noise=served.joining.noise)
    same = ("ranker", "learning_rate", "temperature", "update", "weighting", "privacy", "longest_step", "longest_query")
    for field in same:
        assert getattr(lab, field) == getattr(served, field), field
    federation = decode_preset(load_tables("group/default"), source="group/default").federation
    assert (federation.local, federation.rounds) == (settings.rounds.n_local, settings.rounds.in_period)


def population(rng: np.random.Generator) -> Population:
    """Twenty queries of ten documents with the features of the index."""
    grades = rng.integers(0, 3, 200).astype(np.int8)
    data = QuerySet(rng.random((200, len(NAMES))), grades, np.arange(0, 201, 10), tuple(map(str, range(20))))
    return Population(data, Users(np.array([[0.0, 0.5, 1.0]]), np.zeros((1, 3)), np.ones((1, 10))), N_MEMBERS, 12)


def answered(devices: list[Client], thetas: FloatMatrix, counts: FloatVector) -> FloatVector:
    """Every device reports; the ranker that the server then publishes."""
    told = devices[0].announcement()
    for device, theta, count in zip(devices, thetas, counts, strict=True):
        assert device.report(theta, count=int(count), told=told).status_code == 200
    until(lambda: devices[0].announcement().round > told.round)
    return devices[0].theta()


def assert_same(published: FloatVector, theta: FloatVector) -> None:
    """Bit for bit."""
    assert published.tobytes() == theta.tobytes()


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_served_group_ends_where_the_compiled_rounds_end(tmp_path: Path, optimizer: str) -> None:
    """Seven devices over HTTP send what the compiled round learned, three rounds, the last of them attacked."""
    more = f'[aggregation]\noptimizer = {{ optimizer = "{optimizer}" }}'
    made = make_server(tmp_path / "group", quorum=N_MEMBERS, more=more)
    joining = policy_of(made.settings).joining
    lab = FPDGD(Linear(len(NAMES)), learning_rate=0.05, largest_weight=50, guard=True, optimizer=joining.optimizer)
    assert lab.joining == joining
    with running(made):
        # The server adds up in the order of the pseudonyms, the laboratory in that of its clients.
        devices = sorted((member(made) for _ in range(N_MEMBERS)), key=lambda device: device.device)
        people, model = population(np.random.default_rng(1)), Model(devices[0].theta())
        counts = np.full(N_MEMBERS, float(people.n_local))
        for seed in (1, 2):
            thetas, _ = reported_thetas(lab, model, people, make_streams(seed, N_MEMBERS))
            model, _ = run_round(lab, model, people, make_streams(seed, N_MEMBERS))
            assert_same(answered(devices, thetas, counts), model.theta)
            assert not model.guard.alert
        thetas, _ = reported_thetas(lab, model, people, make_streams(3, N_MEMBERS))
        thetas[4] = model.theta - 40.0 * (thetas[3] - model.theta)
        model = lab.joined(model, thetas, counts).model
        assert_same(answered(devices, thetas, counts), model.theta)
        assert model.guard.alert


def test_three_devices_of_1_30_and_5000_pages(tmp_path: Path) -> None:
    """A served group without privacy weighs them (1, 30, 50) / 81, and so does the laboratory with its settings."""
    made = make_server(tmp_path / "group", quorum=3)
    lab = FPDGD(Linear(len(NAMES)), largest_weight=50, guard=True)
    with running(made):
        devices = sorted((member(made) for _ in range(3)), key=lambda device: device.device)
        start, counts = devices[0].theta(), np.array([1.0, 30.0, 5000.0])
        moved = 0.1 * np.random.default_rng(0).normal(size=(3, len(start)))
        found = answered(devices, start + moved, counts)
    assert found.tobytes() == lab.joined(Model(start), start + moved, counts).model.theta.tobytes()
    np.testing.assert_allclose(found - start, (moved[0] + 30 * moved[1] + 50 * moved[2]) / 81, rtol=1e-9)
