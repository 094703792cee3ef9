"""A server and the laboratory join the same messages: the same ranker, bit for bit."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from msgspec import structs
from sqlalchemy import Engine

from federation_server.database import reading, writing
from federation_server.group import group
from federation_server.rounds import closing
from federation_server.rounds.closing import Closed
from federation_server.rounds.rounds import Policy
from foltr.arrays import FloatMatrix
from foltr.federated.aggregation.registry import RULES
from foltr.federated.fpdgd import FPDGDMessage
from foltr.federated.guard import GuardState, RunningSums
from foltr.federated.joining import Joining
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD, Adagrad, Adam, Momentum, Optimizer, Yogi
from tests.federation_server.groups import NOW, OPEN, PRIVATE, SCHEDULE, START, VAULT, device, make_group, send
from tests.foltr.federated.aggregation.test_registry import ALL
from tests.foltr.federated.test_joining import fpdgd

N_MEMBERS = 7
OPTIMIZERS: list[Optimizer] = [
    SGD(),
    SGD(learning_rate=0.5),
    Momentum(),
    Adagrad(),
    Adam(),
    Adam(bias_correction=True),
    Yogi(),
]


def served(engine: Engine, joining: Joining, thetas: FloatMatrix, counts: list[int]) -> tuple[Closed, Model]:
    """One round: every member's update sealed, checked, stored, and all of them joined; the next model of the table."""
    for number, (theta, count) in enumerate(zip(thetas, counts, strict=True)):
        send(engine, number, theta, count=count)
    schedule = structs.replace(SCHEDULE, quorum=len(thetas))
    with writing(engine) as connection:
        closed = closing.close_due(connection, VAULT, Policy(schedule, joining), now=NOW)
    assert closed is not None
    with reading(engine) as connection:
        return closed, group.newest(connection).model


def messages(thetas: FloatMatrix, counts: list[int]) -> list[FPDGDMessage]:
    """As the server stores them: in the order of the pseudonyms."""
    order = sorted(range(len(thetas)), key=device)
    return [FPDGDMessage(thetas[row], counts[row]) for row in order]


def assert_same(found: Model, expected: Model) -> None:
    """Theta and moments to the last bit."""
    assert found.round == expected.round
    assert found.theta.tobytes() == expected.theta.tobytes()
    assert [moment.tobytes() for moment in found.moments] == [moment.tobytes() for moment in expected.moments]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=repr)
def test_every_rule_and_optimiser_gives_what_the_laboratory_gives(engine: Engine, optimizer: Optimizer) -> None:
    """Without a guard, with a calm one, and with one that is alarmed; moments go on from round to round.

    The plain optimiser follows each rule, the others the first.
    """
    assert {type(rule) for rule in ALL} == set(RULES.values())
    rules = ALL if optimizer == SGD() else ALL[:1]
    make_group(engine, settings=OPEN, n_members=N_MEMBERS)
    account = GuardState(sums=RunningSums.none(N_MEMBERS, 3))
    rng, model = np.random.default_rng(8), Model(START, guard=account)
    for state in ("off", "calm", "alarmed"):
        for rule in rules:
            joining = Joining(rule=rule, largest_weight=50, guard=state != "off", optimizer=optimizer)
            thetas = model.theta + 0.1 + 0.02 * rng.normal(size=(N_MEMBERS, 3))
            if state == "alarmed":
                thetas[3] = model.theta - 20.0
            counts = [int(count) for count in rng.integers(1, 200, N_MEMBERS)]
            closed, found = served(engine, joining, thetas, counts)
            model = fpdgd(joining).aggregate(model, messages(thetas, counts))
            assert_same(found, model)
            assert model.guard.alert == (state == "alarmed")
            assert closed.rule == ("guard" if state == "alarmed" else str(rule.__struct_config__.tag))
    with reading(engine) as connection:
        stored = group.fact(connection, "guard")
    assert msgspec.json.decode(stored or "", type=GuardState) == msgspec.structs.replace(model.guard, sums=None)


def test_three_messages_of_1_30_and_5000_pages(engine: Engine) -> None:
    """With the settings of a server that nobody changed both weigh (1, 30, 50) / 81."""
    moved = np.random.default_rng(0).normal(size=(3, 3))
    make_group(engine, settings=OPEN, n_members=3)
    joining, counts = Joining(largest_weight=50, guard=True), [1, 30, 5000]
    _, found = served(engine, joining, START + moved, counts)
    assert_same(found, fpdgd(joining).aggregate(Model(START), messages(START + moved, counts)))
    assert found.theta - START == pytest.approx((1 * moved[0] + 30 * moved[1] + 50 * moved[2]) / 81)


def test_private_messages_weigh_alike_for_both(engine: Engine) -> None:
    """With a mechanism on, counts and their cap are not looked at."""
    moved, counts = 0.1 * np.random.default_rng(0).normal(size=(5, 3)), [1, 2, 30, 40, 5000]
    make_group(engine, settings=PRIVATE, n_members=5)
    joining = Joining(largest_weight=3, guard=True)
    _, found = served(engine, joining, START + moved, counts)
    with reading(engine) as connection:
        method = group.method_of(group.terms(connection))
    lab = fpdgd(joining, privacy=method.privacy)
    assert_same(found, lab.aggregate(Model(START), messages(START + moved, counts)))
    assert found.theta - START == pytest.approx(moved.mean(axis=0))
