"""What a device without pages believes of a noisy common ranker."""

from __future__ import annotations

import numpy as np
import pytest

from app.federation.group_ranker import AGE, DOUBT, DOUBT_OF_KINDS, KINDS, believed

NAMES = ("bm25f", *AGE, "size", *KINDS)
SHIPPED = np.arange(10.0)


def moved(**changes: float) -> np.ndarray:
    return SHIPPED + np.array([changes.get(name, 0.0) for name in NAMES])


def test_a_block_is_shortened_by_its_noise() -> None:
    """||(2, 1, 2)||^2 = 9 in the three weights of age, noise 1: each is left 1 - DOUBT * 3 / 9 of its way."""
    theta = moved(recent_week=2.0, recent_year=1.0, newer=2.0)
    share = 1.0 - DOUBT * 3 / 9
    expected = moved(recent_week=2 * share, recent_year=share, newer=2 * share)
    np.testing.assert_allclose(believed(SHIPPED, theta, 1.0, NAMES), expected)


def test_what_is_no_more_than_noise_stays_as_shipped() -> None:
    """Blocks are judged apart: a long way in age does not carry a short one in size with it."""
    theta = moved(recent_week=9.0, recent_year=9.0, newer=9.0, size=1.0)
    found = believed(SHIPPED, theta, 1.0, NAMES)
    assert found[NAMES.index("size")] == SHIPPED[NAMES.index("size")]
    assert (found[1:4] > SHIPPED[1:4] + 8).all()


def test_a_number_common_to_all_kinds_says_nothing() -> None:
    """All five kinds raised alike, and one by 5 more: only what differs from their mean counts, by its largest."""
    theta = moved(**{**dict.fromkeys(KINDS, 2.0), "is_mail": 7.0})
    part = np.array([-1.0, -1.0, -1.0, -1.0, 4.0])
    share = 1.0 - DOUBT_OF_KINDS / 16
    np.testing.assert_allclose(believed(SHIPPED, theta, 1.0, NAMES)[5:], SHIPPED[5:] + share * part)


def test_a_kind_that_lies_where_it_lay_changes_no_rule() -> None:
    """Noise of coins adds up to nothing now and then: the other four are still judged as kinds, by their largest."""
    theta = moved(is_text=-1.0, is_source=-1.0, is_document=-1.0, is_mail=1.7)
    assert believed(SHIPPED, theta, 1.0, NAMES)[NAMES.index("is_mail")] > SHIPPED[-1]


def test_without_noise_all_is_believed() -> None:
    """Noise 0 gives the common ranker itself."""
    theta = moved(size=0.25, is_mail=-1.0)
    assert believed(SHIPPED, theta, 0.0, NAMES).tolist() == theta.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_pure_noise_is_mostly_disbelieved(seed: int) -> None:
    """Of 200 rankers that are noise alone, at most a tenth of its squared length is believed."""
    rng, shared = np.random.default_rng(seed), np.arange(1, 10)
    left = []
    for _ in range(200):
        theta = SHIPPED.copy()
        theta[shared] += rng.standard_normal(9)
        left.append(float(np.sum((believed(SHIPPED, theta, 1.0, NAMES) - SHIPPED) ** 2)))
    assert np.mean(left) < 0.9
