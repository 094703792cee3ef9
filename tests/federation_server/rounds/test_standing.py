"""The numbers that members are shown: noise over signal, and epsilon in the period."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import update

from federation_server.database import connect, upgrade, writing
from federation_server.rounds import history
from federation_server.tables import rounds
from foltr.federated.wire import Terms
from foltr.privacy.accounting import Ledger
from foltr.privacy.mechanisms import Gaussian
from tests.federation_server.groups import NOW, OPEN, PRIVATE, START, make_group, make_terms, send

TERMS = make_terms("g", PRIVATE, 1)


def row(number: int, n_updates: int, state: str = "closed", rule: str = "mean") -> dict[str, object]:
    return {"lineage": 1, "round": number, "n_updates": n_updates, "state": state, "rule": rule}


def test_noise_of_a_round_and_of_all_rounds_so_far() -> None:
    """z = .5 over three weights, rounds of 4 and 9: .5 sqrt(3/4); .5 sqrt(3/9); .5 sqrt(3 (1/4 + 1/9)) / 2 of both."""
    newest, oldest = history.with_noise(TERMS, [row(2, 9), row(1, 4)])
    assert oldest["noise"] == oldest["noise_so_far"] == pytest.approx(0.5 * math.sqrt(3 / 4))
    assert newest["noise"] == pytest.approx(0.5 * math.sqrt(3 / 9))
    assert newest["noise_so_far"] == pytest.approx(0.5 * math.sqrt(3 * (1 / 4 + 1 / 9)) / 2)
    assert (oldest["chance"], newest["chance"]) == (1 / 2, 1 / 3)


def test_a_lost_round_adds_no_noise_and_dilutes_none() -> None:
    """The ranker stays as it was, and so does the noise in it over the signal."""
    lost, before = history.with_noise(TERMS, [row(2, 5, rule="void"), row(1, 4)])
    assert (lost["noise"], lost["noise_length"], lost["chance"]) == (None, None, None)
    assert lost["noise_so_far"] == before["noise_so_far"] == pytest.approx(0.5 * math.sqrt(3 / 4))


def test_no_number_is_made_up_for_noise_that_is_not_known() -> None:
    """Without a mechanism, and for a round that was given up, there is none."""
    (found,) = history.with_noise(make_terms("g", OPEN, 1), [row(1, 4)])
    assert (found["noise"], found["noise_so_far"], found["chance"]) == (None, None, 0.5)
    (found,) = history.with_noise(TERMS, [row(1, 4, "abandoned")])
    assert (found["noise"], found["chance"]) == (None, None)


def test_epsilon_is_counted_over_the_period_and_said_to_be_left(tmp_path: Path) -> None:
    """One of four rounds a year ago does not count; an abandoned round that took updates does, an empty one not."""
    engine = connect(f"sqlite:///{tmp_path}/server.sqlite")
    upgrade(engine)
    make_group(engine, settings=PRIVATE, n_members=1)
    send(engine, 0, START)
    agreed = msgspec.structs.replace(TERMS, n_rounds=4, period_days=365)

    def spent(closed: int, state: str, n_updates: int) -> history.Spent:
        with writing(engine) as connection:
            connection.execute(update(rounds).values(closed=closed, state=state, n_updates=n_updates))
            return history.spent_in_period(connection, agreed, now=NOW)

    def exact(n: int) -> float:
        return Ledger(3).spend(Gaussian(clip=1.0, noise_multiplier=0.5), n).epsilon(1e-5, against="server")

    found = spent(NOW - 100, "closed", 1)
    assert (found.n_rounds, found.n_left) == (1, 3)
    assert (found.epsilon, found.epsilon_budget) == (pytest.approx(exact(1)), pytest.approx(exact(4)))
    assert found.left == pytest.approx(exact(4) - exact(1))
    assert found.epsilon_next == pytest.approx(exact(2))
    assert spent(NOW - 100, "abandoned", 1).n_rounds == 1
    assert spent(NOW - 100, "abandoned", 0).n_rounds == 0
    assert spent(NOW - 366 * 86_400, "closed", 1).n_rounds == 0


def test_a_group_that_learns_sums_spends_what_the_sum_shows() -> None:
    """Of shared-out noise the server that opens updates sees a quarter of the variance; of the sum all of it."""
    shared = {"privacy": {"mechanism": "gaussian", "clip": 1.0, "noise_multiplier": 2.0, "distributed": True,
                          "n_clients": 4}, "weighting": "equal"}  # fmt: skip
    terms: Terms = make_terms("g", shared, 1)
    sealed = msgspec.structs.replace(terms, mode="sealed")
    whole = Ledger(3).spend(Gaussian(clip=1.0, noise_multiplier=2.0), 3).epsilon(1e-5)
    quarter = Ledger(3).spend(Gaussian(clip=1.0, noise_multiplier=1.0), 3).epsilon(1e-5)
    assert history.epsilon(sealed, 3) == pytest.approx(whole)
    assert history.epsilon(terms, 3) == pytest.approx(quarter)


def test_noise_of_a_sum_counts_on_the_honest_of_the_least_arrivals() -> None:
    """Of nine that arrived at least six had to, and .8 of them count: each adds z / sqrt(4); of four 3, and so 2."""
    shared = {"privacy": {"mechanism": "gaussian", "clip": 1.0, "noise_multiplier": 2.0, "distributed": True},
              "weighting": "equal"}  # fmt: skip
    sealed = msgspec.structs.replace(make_terms("g", shared, 1), mode="sealed")
    nine, four = 2.0 / 2 * math.sqrt(3 / 9), 2.0 / math.sqrt(2) * math.sqrt(3 / 4)
    assert history.noise(sealed, [9]) == pytest.approx(nine)
    assert history.noise(sealed, [9, 4]) == pytest.approx(math.hypot(nine, four) / 2)
