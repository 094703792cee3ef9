from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.krum import Krum
from foltr.federated.aggregation.trimmed_mean import Median
from foltr.federated.guard import Guard, GuardState, guarded, inspect, judge, slants

PEACE = GuardState()
Attack = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def little_is_enough(honest: np.ndarray, z: float) -> np.ndarray:
    """mean + z std, ddof 1 (Baruch et al., NeurIPS 2019)."""
    return honest.mean(axis=0) + z * honest.std(axis=0, ddof=1)


def inner_product(honest: np.ndarray, tau: float) -> np.ndarray:
    """- tau mean (Xie et al., UAI 2019)."""
    return -tau * honest.mean(axis=0)


def honest_round(rng: np.random.Generator, n_clients: int, n_params: int, signal: float) -> np.ndarray:
    """Updates with a shared direction, `signal` times as long as each one's own noise."""
    shared = np.sqrt(n_params) * signal * np.eye(n_params)[0]
    return rng.normal(size=(n_clients, n_params)) + shared


def attacked_round(
    rng: np.random.Generator, attack: Attack, *, n_clients: int, n_malicious: int, n_params: int = 46
) -> np.ndarray:
    honest = honest_round(rng, n_clients - n_malicious, n_params, 1.0)
    return np.vstack([honest, *(attack(honest, rng) for _ in range(n_malicious))])


def test_the_attacks_are_the_published_ones() -> None:
    """On three clients of three parameters: 8.5, 9.5, 10.5 for z = 1.5, and -8, -10, -12 for tau = 2."""
    three = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    np.testing.assert_allclose(little_is_enough(three, 1.5), [8.5, 9.5, 10.5])
    np.testing.assert_allclose(inner_product(three, 2.0), [-8.0, -10.0, -12.0])


@pytest.mark.parametrize("n_params", [2, 46, 136])
@pytest.mark.parametrize("n_clients", [5, 10, 50])
@pytest.mark.parametrize("signal", [0.0, 1.0])
def test_no_alarm_in_peace(n_clients: int, n_params: int, signal: float) -> None:
    """200 rounds of honest Gaussian updates, with and without a shared direction, raise no alarm."""
    rng = np.random.default_rng(20)
    guard, state = Guard(n_malicious=1), PEACE
    for _ in range(200):
        state, verdict = judge(guard, state, honest_round(rng, n_clients, n_params, signal))
        assert not verdict.alert, verdict.summary
        assert verdict.suspicions == ()


def test_no_alarm_when_devices_differ_in_how_much_they_learned() -> None:
    """Honest lengths that differ by a factor of ten, and devices that learned nothing, raise no alarm."""
    rng = np.random.default_rng(21)
    for _ in range(50):
        updates = honest_round(rng, 20, 46, 0.5) * 10 ** rng.uniform(-0.5, 0.5, (20, 1))
        updates[:4] = 0.0
        assert not judge(Guard(n_malicious=3), PEACE, updates)[1].alert


ATTACKS: dict[str, Attack] = {
    "little is enough, z 1.5": lambda honest, rng: little_is_enough(honest, -1.5),
    "little is enough, z .3": lambda honest, rng: little_is_enough(honest, -0.3),
    "inner product, tau 2": lambda honest, rng: inner_product(honest, 2.0),
    "inner product, tau .5": lambda honest, rng: inner_product(honest, 0.5),
    "inner product with jitter": lambda honest, rng: inner_product(honest, 2.0) + 0.5 * rng.normal(size=46),
    "far too long": lambda honest, rng: 30.0 * rng.normal(size=46),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=list(ATTACKS))
@pytest.mark.parametrize(("n_clients", "n_malicious"), [(10, 2), (50, 10)])
def test_attacks_are_seen_and_only_attackers_suspected(attack: Attack, n_clients: int, n_malicious: int) -> None:
    """In each of 20 rounds there is an alarm, and it names malicious rows alone."""
    rng = np.random.default_rng(22)
    for _ in range(20):
        rows = attacked_round(rng, attack, n_clients=n_clients, n_malicious=n_malicious)
        verdict = judge(Guard(n_malicious=n_malicious), PEACE, rows)[1]
        assert verdict.alert
        assert {s.client for s in verdict.suspicions} <= set(range(n_clients - n_malicious, n_clients))
        assert verdict.suspicions[0].reason in verdict.summary


def test_little_is_enough_with_jitter_is_seen_by_its_slant() -> None:
    """Attackers that shift every parameter by 1.5 spreads but differ among themselves lean to one side."""
    rng = np.random.default_rng(23)
    rows = attacked_round(
        rng,
        lambda honest, rng: little_is_enough(honest, -1.5) + 0.5 * rng.normal(size=136),
        n_clients=20,
        n_malicious=4,
        n_params=136,
    )
    suspicions = judge(Guard(n_malicious=4), PEACE, rows)[1].suspicions
    assert suspicions
    assert {s.reason for s in suspicions} == {"its update leans to one side in most parameters"}


def test_the_guarded_mean_is_the_mean_in_peace_and_robust_under_attack() -> None:
    """In peace the weighted mean to the bit; under attack the result stays near the honest mean."""
    rng = np.random.default_rng(24)
    guard, weights = Guard(n_malicious=2), np.arange(1.0, 11.0)
    honest = honest_round(rng, 10, 46, 1.0)
    delta, state, verdict = guarded(guard, PEACE, honest, weights=weights)
    assert not verdict.alert
    np.testing.assert_array_equal(delta, guard.peace.combine(honest, weights))
    attacked = attacked_round(rng, ATTACKS["inner product, tau 2"], n_clients=10, n_malicious=2)
    delta, state, verdict = guarded(guard, state, attacked, weights=weights)
    assert verdict.alert
    assert state.alert
    robust, plain = (np.linalg.norm(v - attacked[:8].mean(axis=0)) for v in (delta, attacked.mean(axis=0)))
    assert robust < plain / 2


def test_the_alarm_ends_after_calm_rounds_only() -> None:
    """After an attack the robust rule stays for calm_rounds - 1 honest rounds; a new attack starts the count again."""
    rng = np.random.default_rng(25)
    guard, state = Guard(n_malicious=2, calm_rounds=3), PEACE
    seen = []
    for attacked in (False, True, False, False, True, False, False, False, False):
        rows = (
            attacked_round(rng, ATTACKS["far too long"], n_clients=10, n_malicious=2)
            if attacked
            else honest_round(rng, 10, 46, 1.0)
        )
        state, verdict = judge(guard, state, rows)
        seen.append(verdict.alert)
    assert seen == [False, True, True, True, True, True, True, False, False]


def test_evidence_between_the_thresholds_keeps_the_present_state() -> None:
    """Evidence of .8 to 1 neither raises an alarm nor lets one end."""
    rows = honest_round(np.random.default_rng(26), 10, 46, 1.0)
    guard = Guard(n_malicious=1, calm_rounds=1)
    evidence = judge(guard, PEACE, rows)[1].evidence
    edge = Guard(n_malicious=1, calm_rounds=1, calm_below=evidence)
    assert judge(edge, PEACE, rows)[0] == GuardState(alert=False, calm=0)
    assert judge(edge, GuardState(alert=True), rows)[0] == GuardState(alert=True, calm=0)
    assert judge(guard, GuardState(alert=True), rows)[0] == GuardState(alert=False, calm=1)


def test_the_order_and_the_unit_of_updates_do_not_matter() -> None:
    """Evidence goes with the device, whatever its place, and is the same for updates in other units."""
    rng = np.random.default_rng(27)
    rows = attacked_round(rng, ATTACKS["inner product, tau 2"], n_clients=12, n_malicious=2)
    order = rng.permutation(12)
    found, shuffled, scaled = inspect(rows, 2), inspect(rows[order], 2), inspect(1e-3 * rows, 2)
    for reason, evidence in found.items():
        np.testing.assert_allclose(shuffled[reason], evidence[order], rtol=1e-6, atol=1e-9)
        if reason != "closeness":  # ln 0 of exact copies has no unit
            np.testing.assert_allclose(scaled[reason], evidence, rtol=1e-6, atol=1e-9)


def test_slant_by_hand() -> None:
    """Against a median of 0 and spreads of 1.4826, a row of (1.4826, -1.4826 / 2) leans by (1 - 1/2) / 2."""
    columns = [[0.0, 0.0, 1.0, -1.0, 1.4826], [0.0, 0.0, 1.0, -1.0, -0.7413]]
    straight, _ = slants(np.array(columns).T * [1.0, 1.0])
    assert straight[4] == pytest.approx((1.4826 / 1.4826 - 0.7413 / (1.4826 * 0.7413)) / 2)


def test_rules_are_settings() -> None:
    """Both rules can be chosen; the settings are strict and come back from JSON."""
    guard = Guard(n_malicious=2, peace=Median(), attack=Krum(n_malicious=2))
    assert msgspec.json.decode(msgspec.json.encode(guard), type=Guard) == guard
    assert guard.robust == Krum(n_malicious=2)
    with pytest.raises(msgspec.ValidationError, match="calmness"):
        msgspec.convert({"n_malicious": 1, "calmness": 2}, Guard)


def test_what_makes_no_sense_is_refused() -> None:
    """Too few rows to judge, rows that are no matrix, NaN, and thresholds without hysteresis."""
    with pytest.raises(ValueRangeError, match="needs at least 7 rows, not 6"):
        judge(Guard(n_malicious=2), PEACE, np.ones((6, 3)))
    with pytest.raises(ValueRangeError, match="row 1"):
        judge(Guard(n_malicious=1), PEACE, np.array([[1.0], [np.nan], [1.0], [1.0], [1.0]]))
    with pytest.raises(ShapeError, match="n_clients"):
        judge(Guard(n_malicious=1), PEACE, np.ones(6))
    for settings in ({"calm_below": 1.5}, {"calm_rounds": 0}):
        with pytest.raises(ValueRangeError, match="a guard needs"):
            Guard(n_malicious=1, **settings)  # type: ignore[arg-type]
