"""What members' updates add up to: who wants something else is found in the sum, and honest ones are not."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from foltr.errors import ShapeError
from foltr.federated.guard import (
    OF_SUMS,
    Guard,
    GuardState,
    GuardVerdict,
    RunningSums,
    add_updates,
    clipped,
    from_majority,
    join_guarded,
    join_robustly,
    shares_counted,
    within_reach,
)

N_PARAMS = 46


def judge(guard: Guard, state: GuardState, updates: np.ndarray) -> tuple[GuardState, GuardVerdict]:
    return join_guarded(guard, state, updates)[1:]


def account(n_clients: int, n_params: int = N_PARAMS) -> GuardState:
    return GuardState(sums=RunningSums.none(n_clients, n_params))


def sums_of(n_rounds: list[int], sent: list[list[float]]) -> RunningSums:
    return RunningSums(np.array(n_rounds), np.array(sent, dtype=np.float64), np.zeros((len(sent), len(sent[0]))))


def test_a_round_is_added_by_hand() -> None:
    """Lengths 3, 1, 2 are clipped to 2, the middle of the clipped is (0, 1); who sent nothing stays as it was."""
    updates = np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 2.0]])
    before = sums_of([4, 0, 7, 1], [[1, 1], [0, 0], [5, 5], [0, 0]])
    found = add_updates(before, clipped(updates), (4, 2))
    assert found.n_rounds.tolist() == [5, 1, 7, 2]
    assert found.sent.tolist() == [[3, 0], [0, 0], [5, 5], [0, 1]]
    nothing = add_updates(found, clipped(np.zeros((4, 2))), (4, 2))
    assert nothing.n_rounds.tolist() == [5, 1, 7, 2]


def test_distances_from_the_majority_by_hand() -> None:
    """Of 0, 2 and 8 in four rounds each .5^2 / .5 twice, 1.5^2 / .5; the first in one .5^2 / 1.25, 2^2 / 1.25."""
    assert from_majority(sums_of([4, 4, 4], [[0.0], [2.0], [8.0]])).tolist() == [0.5, 0.5, 4.5]
    assert from_majority(sums_of([1, 4, 4], [[0.0], [2.0], [8.0]])).tolist() == pytest.approx([0.2, 0.2, 3.2])


def test_the_unit_of_evidence() -> None:
    """Nine times as far as the median member, where 3^OF_SUMS times is allowed."""
    sent = np.zeros((7, 100))
    sent[np.arange(7), np.arange(7)] = 1.0
    sent[6, 6] = np.sqrt(3 * 81 * 2 - 3) / np.sqrt(3)
    state = GuardState(sums=RunningSums(np.ones(7, dtype=np.intp), sent, np.zeros((7, 100))))
    _, verdict = judge(Guard(n_malicious=1), state, np.zeros((7, 100)))
    assert [(s.client, s.evidence) for s in verdict.suspicions] == [(6, pytest.approx(log(9) / log(3) / OF_SUMS))]
    assert verdict.left_out == (6,)
    assert verdict.summary == "1 suspicious updates; row 6: its updates add up to something else than the others'"


@pytest.mark.parametrize("n_clients", [5, 10, 30])
def test_nobody_drifts_in_peace(n_clients: int) -> None:
    """400 rounds of honest members, some of whom search ten times as much, stay away or have nothing to say."""
    rng = np.random.default_rng(1)
    guard, state = Guard(n_malicious=1), account(n_clients)
    busy = 10 ** rng.uniform(-0.5, 0.5, (n_clients, 1))
    for _ in range(400):
        updates = busy * (rng.normal(size=(n_clients, N_PARAMS)) + 0.5)
        updates[rng.random(n_clients) < 0.3] = 0.0
        state, verdict = judge(guard, state, updates)
        assert verdict.left_out == ()


def wishful_round(rng: np.random.Generator, n_malicious: int) -> np.ndarray:
    """Ten members with a wish for four weights; the last ones want the opposite, by less than a round's chance."""
    updates = rng.normal(size=(10, N_PARAMS))
    updates[:, :4] += np.where(np.arange(10) < 10 - n_malicious, 1.0, -1.0)[:, None]
    return updates


@pytest.mark.parametrize("n_malicious", [1, 2, 3])
def test_who_wants_something_else_is_found_in_the_sum(n_malicious: int) -> None:
    """No single round tells; within 300 rounds those members are left out, and no other ever is."""
    rng, guard = np.random.default_rng(2), Guard(n_malicious=2)
    state, out = account(10), set[int]()
    for _ in range(300):
        updates = wishful_round(rng, n_malicious)
        assert not judge(guard, GuardState(), updates)[1].alert
        state, verdict = judge(guard, state, updates)
        out |= set(verdict.left_out)
    assert out == set(verdict.left_out) == set(range(10 - n_malicious, 10))


def test_what_is_left_out_does_not_count() -> None:
    """The round is joined robustly from the others alone, and their evidence is found without it."""
    rng, guard, state = np.random.default_rng(3), Guard(n_malicious=2), account(10)
    for _ in range(300):
        updates = wishful_round(rng, 2)
        delta, state, verdict = join_guarded(guard, state, updates)
    assert verdict.alert
    assert verdict.left_out == (8, 9)
    assert {s.client for s in verdict.suspicions} == {8, 9}
    assert delta.tolist() == join_robustly(within_reach(updates[:8]), 2).tolist()


def test_who_begins_to_drift_counts_for_less() -> None:
    """Half of what is allowed takes nothing off, three quarters half, all of it everything; in peace, too."""
    assert shares_counted(np.array([0.0, 0.5, 0.75, 1.0, 3.0]))[:4].tolist() == [1.0, 1.0, 0.5, 0.0]
    sent = np.zeros((7, 100))
    sent[np.arange(7), np.arange(7)] = [*6 * [1.0], 2.4]
    state = GuardState(sums=RunningSums(np.full(7, 1000), sent, np.zeros((7, 100))))
    for row in (0, 6):
        updates = 1e-9 * np.eye(7, 100) * (np.arange(7) == row)[:, None]
        delta, _, verdict = join_guarded(Guard(n_malicious=1), state, updates)
        share = 2 * (1 - verdict.evidence) if row == 6 else 1.0
        assert not verdict.alert
        assert 0.3 < share < 0.9 or row == 0
        np.testing.assert_allclose(delta, share * updates.sum(axis=0) / 7)


def test_a_newcomer_is_no_stranger() -> None:
    """Who joins after 200 rounds in which the common ranker went a long way is compared by what it sent itself."""
    rng, guard, state = np.random.default_rng(4), Guard(n_malicious=2), account(10)
    for number in range(220):
        updates = rng.normal(size=(10, N_PARAMS)) + 2.0
        if number < 200:
            updates[9] = 0.0
        state, verdict = judge(guard, state, updates)
        assert verdict.left_out == ()


def test_no_update_counts_for_more_than_three_median_lengths() -> None:
    """Of lengths 0, 1, 1, 1 and 9 the last is shortened to 3; the others keep their bits."""
    rows = np.diag([0.0, 1.0, 1.0, 1.0, 9.0])
    assert within_reach(rows)[4].tolist() == [0, 0, 0, 0, 3]
    assert within_reach(rows)[:4].tobytes() == rows[:4].tobytes()
    assert within_reach(np.zeros((5, 2))).tolist() == np.zeros((5, 2)).tolist()


def test_without_an_account_rounds_are_judged_by_themselves() -> None:
    """As where stored rounds are joined once more: nothing is remembered of members, and nobody is left out."""
    rng, guard, state = np.random.default_rng(5), Guard(n_malicious=2), GuardState()
    for _ in range(100):
        state, verdict = judge(guard, state, wishful_round(rng, 3))
        assert (state.sums, verdict.left_out) == (None, ())


def test_an_account_of_others_is_refused() -> None:
    """Nine members are remembered, ten have sent something."""
    with pytest.raises(ShapeError, match=r"remembers \[9, 46\], the round has \[10, 46\]"):
        judge(Guard(n_malicious=2), account(9), np.ones((10, N_PARAMS)))
