from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt

import msgspec
import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.nearest_neighbour_mixing import NearestNeighbourMixing
from foltr.federated.aggregation.norm_clipping import NormClipping
from foltr.federated.aggregation.rows import Spread, scores_by_distance, squared_distances
from foltr.federated.aggregation.trimmed_mean import Median, TrimmedMean
from foltr.federated.guard import (
    Guard,
    GuardState,
    GuardVerdict,
    clipped,
    direction_to_median,
    effective_dimension,
    evidence_of,
    join_guarded,
    slants,
    within_reach,
)

PEACE = GuardState()
REASONS = ("length", "direction", "loneliness", "closeness", "slant")
Attack = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def judge(guard: Guard, state: GuardState, updates: np.ndarray) -> tuple[GuardState, GuardVerdict]:
    """What the guard remembers and thinks of a round."""
    return join_guarded(guard, state, updates)[1:]


def inspect(updates: np.ndarray, n_malicious: int) -> dict[str, np.ndarray]:
    """The evidence of one round by reason."""
    return dict(zip(REASONS, evidence_of(len(updates), clipped(updates), n_malicious), strict=True))


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


def test_the_rule_of_peace_is_a_setting() -> None:
    """Settings are strict and come back from JSON."""
    guard = Guard(n_malicious=2, peace=Median())
    assert msgspec.json.decode(msgspec.json.encode(guard), type=Guard) == guard
    with pytest.raises(msgspec.ValidationError, match="calmness"):
        msgspec.convert({"n_malicious": 1, "calmness": 2}, Guard)


def test_what_makes_no_sense_is_refused() -> None:
    """Too few rows to judge, rows that are no matrix, NaN, and thresholds without hysteresis."""
    with pytest.raises(ValueRangeError, match="the guard against 2 malicious clients needs at least 7 rows, not 6"):
        judge(Guard(n_malicious=2), PEACE, np.ones((6, 3)))
    with pytest.raises(ValueRangeError, match="row 1"):
        judge(Guard(n_malicious=1), PEACE, np.array([[1.0], [np.nan], [1.0], [1.0], [1.0]]))
    with pytest.raises(ShapeError, match="n_clients"):
        judge(Guard(n_malicious=1), PEACE, np.ones(6))
    for settings in ({"calm_below": 1.5}, {"calm_below": 0.0}, {"calm_rounds": 0}, {"n_malicious": 0}):
        with pytest.raises(ValueRangeError, match="a guard needs"):
            Guard(**{"n_malicious": 1, **settings})  # type: ignore[arg-type]
    assert Guard(n_malicious=1, calm_rounds=1, calm_below=1.0).calm_below == 1.0


# Evidence by hand ----------------------------------------------------------------------------------------------------
#
# With many parameters chance allows little, and a floor decides; with few 6 / sqrt(n_params) does.

MANY = 2_500


def of_lengths(*lengths: float, n_params: int = MANY) -> np.ndarray:
    """Updates of these lengths, each in a direction of its own: nothing else about them differs."""
    return np.array(lengths)[:, None] * np.eye(len(lengths), n_params)


@pytest.mark.parametrize(("n_params", "allowed"), [(MANY, log(3)), (25, 6 / 5), (5, 6 / sqrt(5))])
def test_evidence_of_length(n_params: int, allowed: float) -> None:
    """Nine times as long as the others: ln 9 over what is allowed; an update that is shorter is no evidence."""
    evidence = inspect(of_lengths(1, 9, 1, 1, 1 / 9, n_params=n_params), 1)["length"]
    assert evidence.tolist() == pytest.approx([0, log(9) / allowed, 0, 0, 0])


def test_devices_that_differ_are_allowed_to() -> None:
    """Where the median device is a factor e from the middle, six such deviations (1.4826 each) are allowed."""
    evidence = inspect(of_lengths(np.exp(-1), np.exp(-1), 1, np.exp(1), np.exp(9)), 1)["length"]
    assert evidence.tolist() == pytest.approx([0, 0, 0, 1 / (6 * 1.4826), 9 / (6 * 1.4826)])


@pytest.mark.parametrize(("n_params", "allowed"), [(MANY, 0.5), (36, 1.0)])
def test_evidence_of_direction(n_params: int, allowed: float) -> None:
    """The opposite of what all others send has cosine -1 against 1: a deviation of 2."""
    rows = np.outer([1, 1, -1, 1, 1], np.eye(n_params)[0])
    assert inspect(rows, 1)["direction"].tolist() == pytest.approx([0, 0, 2 / allowed, 0, 0])


@pytest.mark.parametrize(("n_params", "allowed"), [(MANY, log(4)), (16, 2 * 6 / 4)])
def test_evidence_of_loneliness(n_params: int, allowed: float) -> None:
    """Of seven devices, m = 2: the three nearest of five are .02 away in square; of the other two, one is."""
    basis = np.eye(8, n_params)
    rows = np.vstack([basis[0] + 0.1 * basis[1:6], -basis[0] + 0.1 * basis[6:8]])
    near, far = 2 * 0.1**2, 2.0**2 + 2 * 0.1**2
    lonely = log((near + 2 * far) / (3 * near)) / allowed
    assert inspect(rows, 2)["loneliness"].tolist() == pytest.approx([0, 0, 0, 0, 0, lonely, lonely], abs=1e-6)


def test_being_long_is_not_being_lonely() -> None:
    """Loneliness is that of updates clipped to the median length: a hundred times as long is evidence once."""
    found = inspect(of_lengths(1, 1, 1, 1, 100), 1)
    assert found["length"][4] == pytest.approx(log(100) / log(3))
    assert found["loneliness"].tolist() == pytest.approx([0.0] * 5, abs=1e-9)


@pytest.mark.parametrize(("n_params", "allowed"), [(MANY, log(3)), (25, 6 / 5), (5, 16 / 5)])
def test_evidence_of_closeness(n_params: int, allowed: float) -> None:
    """Two updates .001 apart where others are sqrt(2) apart: ln(sqrt(2) / .001) over what is allowed."""
    rows = of_lengths(1, 1, 1, 1, 1, n_params=n_params)
    rows[4] = rows[3] + 0.001 * rows[4]
    copies = log(sqrt(2) / 0.001) / allowed
    assert inspect(rows, 1)["closeness"].tolist() == pytest.approx([0, 0, 0, copies, copies], abs=1e-6)


def test_exact_copies_are_finite_evidence() -> None:
    """A distance of 0 counts as the smallest number there is, not as infinity."""
    evidence = inspect(np.eye(5, MANY)[[0, 1, 2, 3, 3]], 1)["closeness"]
    assert np.isfinite(evidence).all()
    assert (evidence > 100).tolist() == [False, False, False, True, True]


def leaning(n_params: int, by: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Four devices one apart from `shared` in half of the parameters, evenly to both sides, and one apart `by`."""
    even = np.array([[1, 0, 0, -1], [-1, 1, 0, 0], [0, -1, 1, 0], [0, 0, -1, 1]])
    return np.vstack([shared + np.tile(even, n_params // 4), shared + by])


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize(("n_params", "allowed"), [(400, 0.5), (16, 6 / 4)])
def test_evidence_of_slant(n_params: int, allowed: float, side: float) -> None:
    """One spread to the same side in each parameter, up or down, or each time toward 0: 1 / 1.4826."""
    signs = np.tile([1.0, 1, 1, 1, -1, -1, -1, -1], n_params // 8)
    slant = pytest.approx([0, 0, 0, 0, 1 / 1.4826 / allowed], abs=1e-9)
    assert inspect(leaning(n_params, side * np.ones(n_params), np.zeros(n_params)), 1)["slant"].tolist() == slant
    assert inspect(leaning(n_params, -signs, 10 * signs), 1)["slant"].tolist() == slant


def test_slants_of_three_parameters_by_hand() -> None:
    """A deviation counts up to 3, one without spread 0; turned, a parameter of negative median counts against."""
    columns = [[10.0, 10.0, 11.0, 9.0, 110.0], [-10.0, -10.0, -9.0, -11.0, -10.0 + 1.4826], [7.0] * 4 + [8.0]]
    straight, turned = slants(Spread.of(np.array(columns).T))
    unit = 1 / 1.4826
    assert straight.tolist() == pytest.approx([0, 0, 2 * unit / 3, -2 * unit / 3, (3 + 1 + 0) / 3])
    assert turned.tolist() == pytest.approx([0, 0, 0, 0, (3 - 1 + 0) / 3])


def test_direction_to_the_median_by_hand() -> None:
    """Against a median of (1, 1): cosines by hand, 0 for no update at all; all are 0 against a median of 0."""
    rows = np.array([[1.0, 1.0], [3.0, 0.0], [-2.0, -2.0], [0.0, 0.0], [1.0, 1.0], [5.0, 5.0], [1.0, 2.0]])
    expected = [1, 1 / sqrt(2), -1, 0, 1, 1, 3 / sqrt(2 * 5)]
    assert direction_to_median(Spread.of(rows)).tolist() == pytest.approx(expected)
    assert direction_to_median(Spread.of(np.eye(5))).tolist() == [0.0] * 5


def test_who_sent_no_change_is_above_suspicion_and_no_measure() -> None:
    """Two that sent nothing: the others are judged among themselves, and only where 2m + 3 of them are left."""
    for reason, evidence in inspect(of_lengths(0, 1, 1, 0, 1, 1, 9), 1).items():
        assert evidence.tolist() == pytest.approx([0, 0, 0, 0, 0, 0, log(9) / log(3) if reason == "length" else 0])
    assert not np.any(list(inspect(of_lengths(0, 1, 1, 1, 9), 1).values()))
    assert not np.any(list(inspect(of_lengths(0, 1, 1, 1, 1, 1, 9), 2).values()))


def excess(values: np.ndarray, floor: float) -> np.ndarray:
    """(value - median) over what is allowed."""
    deviation = values - np.median(values)
    return deviation / max(floor, 6.0 * 1.4826 * float(np.median(np.abs(deviation))))


def evidence_by_definition(u: np.ndarray, m: int) -> dict[str, np.ndarray]:
    """The five numbers one after another, nothing kept from one for the next."""
    difference = u - np.median(u, axis=0)
    unit = difference / np.linalg.norm(difference, axis=1)[:, None]
    cosines = (unit @ unit.T)[np.triu_indices(len(u), k=1)]
    dimension = float(np.clip(0.4549 / float(np.median(cosines**2)), min(3, u.shape[1]), u.shape[1]))
    seeming, chance = 6.0 / sqrt(dimension), 6.0 / sqrt(u.shape[1])
    lengths = np.sqrt(np.einsum("ij,ij->i", u, u))
    near = scores_by_distance(squared_distances(u), n_neighbours=1)
    u = u * (np.median(lengths) / np.maximum(lengths, np.median(lengths)))[:, None]
    middle = np.median(u, axis=0)
    cosine = u @ middle / np.sqrt(np.einsum("ij,ij->i", u, u) * (middle @ middle))
    far = scores_by_distance(squared_distances(u), n_neighbours=len(u) - m - 2)
    standard = np.clip((u - middle) / (1.4826 * np.median(np.abs(u - middle), axis=0)), -3.0, 3.0)
    leaning = standard.mean(axis=1), (standard * np.sign(middle)).mean(axis=1)
    return {
        "length": np.maximum(excess(np.log(lengths), max(log(3), seeming)), 0),
        "direction": np.maximum(excess(-cosine, max(0.5, seeming)), 0),
        "loneliness": np.maximum(excess(np.log(far), max(log(4), 2 * chance)), 0),
        "closeness": np.maximum(excess(-np.log(near) / 2, max(log(3), seeming, 16.0 / dimension)), 0),
        "slant": np.max([np.abs(excess(s, max(0.5, chance))) for s in leaning], axis=0),
    }


@pytest.mark.parametrize("n_clients", [7, 10, 51])
@pytest.mark.parametrize("name", ATTACKS)
def test_the_evidence_is_that_of_its_definition(name: str, n_clients: int) -> None:
    """What is found once for all five numbers, and without numpy's own median and sums, changes none of them."""
    rng = np.random.default_rng(17)
    attacked = attacked_round(rng, ATTACKS[name], n_clients=n_clients, n_malicious=1)
    for rows in (attacked, attacked[:, :3], honest_round(rng, n_clients, 136, 1.0)):
        expected = evidence_by_definition(rows, 2)
        for reason, evidence in inspect(rows, 2).items():
            assert evidence == pytest.approx(expected[reason], rel=1e-9, abs=1e-12)


# The verdict ---------------------------------------------------------------------------------------------------------


def test_evidence_of_one_is_the_alarm() -> None:
    """Three times as long is ln 3 / ln 3: that much raises the alarm and names the row; a hair less does not."""
    state, verdict = judge(Guard(n_malicious=1), PEACE, of_lengths(1, 1, 1, 3, 1))
    assert (state, verdict.alert, verdict.evidence) == (GuardState(alert=True, calm=0), True, 1.0)
    assert verdict.summary == "1 suspicious updates; row 3: its update is far longer than the others'"
    state, verdict = judge(Guard(n_malicious=1), PEACE, of_lengths(1, 1, 1, 2.999, 1))
    assert (state, verdict.alert, verdict.suspicions) == (PEACE, False, ())
    assert verdict.evidence == pytest.approx(log(2.999) / log(3))
    assert verdict.summary == "nothing suspicious"


def test_the_shipped_guard_stays_careful_for_five_calm_rounds() -> None:
    """After an alarm the robust rule joins four calm rounds more; evidence of ln 2.41 / ln 3 > .8 is not calm."""
    guard, state, seen = Guard(n_malicious=1), PEACE, []
    for longest in (9, 1, 1, 2.41, 1, 1, 2.40, 1, 1, 1):
        state, verdict = judge(guard, state, of_lengths(1, 1, 1, 1, longest))
        seen.append((verdict.alert, state.calm))
        if seen[-1] == (True, 4):
            assert verdict.summary == "nothing suspicious now; still careful, 4 of 5 calm rounds"
    counts = [0, 1, 2, 0, 1, 2, 3, 4, 5, 6]
    assert seen == [(calm < 5, calm) for calm in counts]


def test_the_strongest_suspicion_comes_first() -> None:
    """Each device is named once, with its strongest reason; devices as suspicious as each other in their order."""
    rows = of_lengths(9, 27, 1, 1, 9, 1, 1, 1, 1)
    suspicions = judge(Guard(n_malicious=3), PEACE, rows)[1].suspicions
    assert [s.client for s in suspicions] == [1, 0, 4]
    assert [s.evidence for s in suspicions] == pytest.approx([log(27) / log(3), log(9) / log(3), log(9) / log(3)])
    rows[1] = -200 * rows[2:].sum(axis=0)
    strongest = judge(Guard(n_malicious=3), PEACE, rows)[1]
    found = inspect(rows, 3)
    assert strongest.evidence == strongest.suspicions[0].evidence == max(values.max() for values in found.values())
    assert strongest.summary.startswith(f"{len(strongest.suspicions)} suspicious updates; row 1: ")


def copied() -> np.ndarray:
    rows = of_lengths(1, 1, 1, 1, 1)
    rows[4] = rows[3] + 0.001 * rows[4]
    return rows


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (of_lengths(1, 1, 1, 1, 9), "its update is far longer than the others'"),
        (np.eye(6, MANY)[1:] + np.outer([1, 1, 1, 1, -1], np.eye(MANY)[0]), "its update points against the others'"),
        (
            np.outer([1, 1, 1, 1, -1], np.eye(MANY)[0]) + 0.01 * np.eye(6, MANY)[1:],
            "its update has no near neighbours",
        ),
        (copied(), "its update is nearly the copy of another"),
        (leaning(400, np.ones(400), np.zeros(400)), "its update leans to one side in most parameters"),
    ],
    ids=["length", "direction", "loneliness", "closeness", "slant"],
)
def test_a_suspicion_is_told_in_words(rows: np.ndarray, reason: str) -> None:
    """The last device is suspected for what stands out most about it."""
    suspicions = {s.client: s.reason for s in judge(Guard(n_malicious=1), PEACE, rows)[1].suspicions}
    assert suspicions[4] == reason


def test_which_rule_joins() -> None:
    """In peace the rule of peace with the weights; under attack mixing and a trimmed mean against m."""
    guard, weights = Guard(n_malicious=1, peace=NormClipping()), np.arange(1.0, 6.0)
    peaceful, attacked = of_lengths(1, 1, 1, 1, 2, n_params=40), of_lengths(1, 1, 1, 1, 9, n_params=40)
    delta, _, verdict = join_guarded(guard, PEACE, peaceful, weights=weights)
    assert not verdict.alert
    np.testing.assert_array_equal(delta, guard.peace.combine(peaceful, weights))
    delta, _, verdict = join_guarded(guard, PEACE, attacked, weights=weights)
    assert verdict.alert
    np.testing.assert_array_equal(delta, mixed_and_trimmed(attacked, 1))


# Copies --------------------------------------------------------------------------------------------------------------


def mixed_and_trimmed(rows: np.ndarray, m: int) -> np.ndarray:
    return NearestNeighbourMixing(n_malicious=m, then=TrimmedMean(n_malicious=m)).combine(rows)


COPIED = ["little is enough, z 1.5", "inner product, tau 2", "inner product, tau .5"]


@pytest.mark.parametrize("attack", [ATTACKS[name] for name in COPIED], ids=COPIED)
@pytest.mark.parametrize(("n_clients", "n_malicious"), [(10, 3), (10, 4), (50, 20)])
def test_colluders_beyond_those_assumed_pull_less_than_on_a_mean(
    attack: Attack, n_clients: int, n_malicious: int
) -> None:
    """A guard against a fifth, and up to two fifths that send one update: nearer to the honest mean than FedAvg."""
    rng = np.random.default_rng(33)
    for _ in range(20):
        rows = attacked_round(rng, attack, n_clients=n_clients, n_malicious=n_malicious)
        honest = rows[: n_clients - n_malicious].mean(axis=0)
        delta, _, verdict = join_guarded(Guard(n_malicious=n_clients // 5), PEACE, rows)
        assert verdict.alert
        assert np.linalg.norm(delta - honest) < np.linalg.norm(rows.mean(axis=0) - honest) / 1.5


def test_copies_do_not_count_whatever_they_are() -> None:
    """Four of ten send the mean less z deviations of what they learned: for each z it is the mean of the six."""
    honest = np.random.default_rng(32).normal(0.2, 1.0, (10, MANY))
    kept = within_reach(honest[:6]).mean(axis=0)
    for z in (0.43, 1.5):
        sent = np.vstack([honest[:6], 4 * [honest[6:].mean(axis=0) - z * honest[6:].std(axis=0)]])
        delta, _, verdict = join_guarded(Guard(n_malicious=2), PEACE, sent, weights=np.arange(10.0))
        assert verdict.left_out == (6, 7, 8, 9)
        np.testing.assert_allclose(delta, kept)


def test_copies_that_leave_few_updates() -> None:
    """Eleven updates of which three are one, m = 4: among the eight others one more is withstood."""
    distinct = of_lengths(*9 * [1])
    delta, _, verdict = join_guarded(Guard(n_malicious=4), PEACE, distinct[[0, 1, 2, 3, 4, 5, 6, 7, *3 * [8]]])
    assert verdict.left_out == (8, 9, 10)
    np.testing.assert_allclose(delta, mixed_and_trimmed(distinct[:8], 1))


# Few pages -----------------------------------------------------------------------------------------------------------


def test_the_dimension_is_that_of_what_devices_move() -> None:
    """Of 40 weights, 4 that move: about 4; all that move: about 40; never above n_params, nor below 3."""
    rng = np.random.default_rng(30)
    rows = rng.normal(size=(60, 40))
    assert effective_dimension(Spread.of(rows)) == pytest.approx(40, rel=0.3)
    rows[:, 4:] = 0
    assert effective_dimension(Spread.of(rows)) == pytest.approx(4, rel=0.4)
    rows[:, 1:] = 0
    assert effective_dimension(Spread.of(rows)) == 3
    assert effective_dimension(Spread.of(np.zeros((5, 2)))) == 2


def test_no_alarm_where_few_pages_move_few_weights() -> None:
    """Ten devices whose updates are the sum of five of eight directions, 200 rounds: no evidence of an attack."""
    rng = np.random.default_rng(31)
    steps = rng.normal(size=(8, 56))
    for _ in range(200):
        rows = np.array([steps[rng.integers(8, size=5)].T @ rng.exponential(size=5) for _ in range(10)])
        assert not judge(Guard(n_malicious=2), PEACE, rows)[1].alert
