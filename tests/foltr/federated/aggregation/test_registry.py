from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.bulyan import Bulyan
from foltr.federated.aggregation.centred_clipping import CentredClipping
from foltr.federated.aggregation.geometric_median import GeometricMedian
from foltr.federated.aggregation.krum import Krum, MultiKrum
from foltr.federated.aggregation.nearest_neighbour_mixing import NearestNeighbourMixing
from foltr.federated.aggregation.norm_clipping import NormClipping
from foltr.federated.aggregation.registry import RULES, Aggregation
from foltr.federated.aggregation.trimmed_mean import Median, TrimmedMean

SEVEN = np.array(
    [(0.31, -0.12), (0.28, -0.07), (0.35, -0.19), (0.22, -0.02), (0.41, -0.26), (0.27, -0.15), (-3.0, 2.5)]
)
"""seven clients, the last of them malicious"""

ALL: list[Aggregation] = [
    Mean(),
    Median(),
    TrimmedMean(n_malicious=1),
    Krum(n_malicious=1),
    Krum(n_malicious=1, distance="euclidean"),
    MultiKrum(n_malicious=1),
    Bulyan(n_malicious=1),
    GeometricMedian(),
    CentredClipping(radius=0.5),
    NormClipping(),
    NearestNeighbourMixing(n_malicious=1, then=TrimmedMean(n_malicious=1)),
]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Mean(), [-0.1657142857, 0.2414285714]),
        (Median(), [0.28, -0.12]),
        (TrimmedMean(n_malicious=1), [0.286, -0.11]),
        (Krum(n_malicious=1), [0.31, -0.12]),
        (MultiKrum(n_malicious=1, n_kept=4), [0.3025, -0.1325]),
        (MultiKrum(n_malicious=1), [0.3066666667, -0.135]),
        (Bulyan(n_malicious=1), [0.3133333333, -0.1266666667]),
        (GeometricMedian(), [0.2937308578, -0.1192857275]),
        (CentredClipping(radius=0.5, n_iterations=3), [0.2408420328, -0.0827607256]),
        (
            NearestNeighbourMixing(n_malicious=1, then=Mean()),
            (6 * SEVEN[:6].mean(axis=0) + SEVEN[[0, 1, 2, 3, 5, 6]].mean(axis=0)) / 7,
        ),
    ],
)
def test_known_results(rule: Aggregation, expected: list[float]) -> None:
    """What unrelated implementations give for seven clients, to all printed digits."""
    np.testing.assert_allclose(rule.combine(SEVEN), expected, atol=5.1e-11)


def sample(seed: int, n_clients: int = 9, n_params: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_clients, n_params))


@given(st.integers(0, 10_000), st.sampled_from(ALL))
@settings(max_examples=60, deadline=None)
def test_the_order_of_the_devices_does_not_matter(seed: int, rule: Aggregation) -> None:
    """Shuffled rows give the same vector, but for Bulyan's ties, which the earlier row wins."""
    rows = sample(seed)
    if isinstance(rule, Bulyan):
        rule = Bulyan(n_malicious=0)
        rows = rows[:3]  # one row is left at the last choice, so nothing can tie
    shuffled = rows[np.random.default_rng(seed).permutation(len(rows))]
    np.testing.assert_allclose(rule.combine(shuffled), rule.combine(rows), rtol=1e-7, atol=1e-9)


@given(st.integers(0, 10_000), st.floats(0.01, 100), st.sampled_from(ALL))
@settings(max_examples=80, deadline=None)
def test_moving_and_scaling_all_rows_moves_and_scales_the_result(seed: int, scale: float, rule: Aggregation) -> None:
    """combine(scale rows + t) = scale combine(rows) + t; the clipping rules clip towards 0 and see no move."""
    rows = sample(seed)
    clips = isinstance(rule, CentredClipping | NormClipping)
    shift = 0.0 if clips else 3.0 * np.random.default_rng(seed + 1).normal(size=4)
    scaled = CentredClipping(radius=0.5 * scale) if isinstance(rule, CentredClipping) else rule
    moved = scaled.combine(scale * rows + shift)
    np.testing.assert_allclose(moved, scale * rule.combine(rows) + shift, rtol=1e-6, atol=1e-7 * scale)


@pytest.mark.parametrize("rule", ALL)
def test_equal_rows_give_that_row(rule: Aggregation) -> None:
    """When all devices agree there is nothing to choose."""
    row = np.array([0.2, -0.1, 0.3])
    np.testing.assert_allclose(rule.combine(np.tile(row, (7, 1))), row, atol=1e-15)


@pytest.mark.parametrize("rule", [r for r in ALL if not isinstance(r, Mean | NormClipping)])
@pytest.mark.parametrize("size", [10.0, 1e6, 1e99])
def test_one_wild_row_does_not_decide(rule: Aggregation, size: float) -> None:
    """With one malicious row of any size the result stays among the honest rows."""
    rows = np.vstack([0.1 * sample(3, n_clients=8), np.full((1, 4), -size)])
    assert np.abs(rule.combine(rows)).max() < 0.4


@pytest.mark.parametrize("rule", ALL)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e101])
def test_a_row_that_is_not_finite_is_refused(rule: Aggregation, bad: float) -> None:
    """No rule ever computes with NaN, infinity or what would overflow: the error names the row."""
    rows = sample(1)
    rows[5, 2] = bad
    with pytest.raises(ValueRangeError, match="row 5 of 9"):
        rule.combine(rows)


@pytest.mark.parametrize(
    ("rule", "too_few"),
    [
        (TrimmedMean(n_malicious=2), 4),
        (Krum(n_malicious=2), 6),
        (MultiKrum(n_malicious=2), 6),
        (Bulyan(n_malicious=2), 10),
        (NearestNeighbourMixing(n_malicious=2, then=Mean()), 4),
    ],
)
def test_too_few_rows_are_refused(rule: Aggregation, too_few: int) -> None:
    """2m, 2m + 2 and 4m + 2 rows are refused with the number needed; one more is enough."""
    with pytest.raises(ValueRangeError, match=f"needs at least {too_few + 1} rows, not {too_few}"):
        rule.combine(sample(0, n_clients=too_few))
    assert np.isfinite(rule.combine(sample(0, n_clients=too_few + 1))).all()


@pytest.mark.parametrize("rule", ALL)
def test_a_matrix_is_wanted(rule: Aggregation) -> None:
    """A vector, or no row at all, is a ShapeError."""
    for rows in (np.zeros(4), np.zeros((0, 4))):
        with pytest.raises(ShapeError, match="n_clients, n_params"):
            rule.combine(rows)


def test_every_rule_is_named_as_its_settings_say() -> None:
    """The registry's names are the tags of the settings, and the union reads them all."""
    assert {name: rule.__struct_config__.tag for name, rule in RULES.items()} == {name: name for name in RULES}
    assert {type(rule) for rule in ALL} == set(RULES.values())
    for rule in ALL:
        assert msgspec.json.decode(msgspec.json.encode(rule), type=Aggregation) == rule


def test_unknown_names_and_settings_are_refused() -> None:
    """An unknown rule and a misspelt setting are named."""
    with pytest.raises(msgspec.ValidationError, match="average"):
        msgspec.convert({"rule": "average"}, Aggregation)
    with pytest.raises(msgspec.ValidationError, match="beta"):
        msgspec.convert({"rule": "trimmed-mean", "n_malicious": 1, "beta": 1}, Aggregation)


SPARSE: list[Aggregation] = [
    *ALL,
    Krum(n_malicious=2, strict=False),
    MultiKrum(n_malicious=2, strict=False),
    MultiKrum(n_malicious=0, n_kept=6),
    NearestNeighbourMixing(n_malicious=2, then=Bulyan(n_malicious=1)),
]


@pytest.mark.parametrize("rule", SPARSE, ids=repr)
def test_a_rule_runs_on_the_least_rows_it_asks_for(rule: Aggregation) -> None:
    """And refuses one less, which it says beforehand."""
    rows = sample(0, n_clients=rule.least_rows)
    assert rule.combine(rows).shape == (4,)
    if rule.least_rows > 1:
        with pytest.raises(ValueRangeError, match=r"needs at least|can keep"):
            rule.combine(rows[1:])
