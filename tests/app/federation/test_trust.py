"""What a device without pages believes of a noisy common ranker."""

from __future__ import annotations

import numpy as np
import pytest

from app.federation.group_ranker import AGE, DOUBT, KINDS, LIKED, TASTE, believed
from foltr.arrays import FloatVector

NAMES = ("bm25f", *AGE, "size", *KINDS)
SHIPPED = np.arange(10.0)


def moved(**changes: float) -> FloatVector:
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


def by_weighing(part: FloatVector, noise: float) -> FloatVector:
    """The lift of each kind, given moves of all: of none, or of one by lot by +- |N(0, TASTE^2)|, added up in steps."""
    amounts = np.linspace(-8 * TASTE, 8 * TASTE, 200_001)
    prior = np.where(amounts > 0, LIKED, 1 - LIKED) * np.exp(-(amounts**2) / (2 * TASTE**2))
    above = part - part.mean()  # a number that is added to all says nothing, so that a lift a is one of a (1 - 1/d)
    far = 1 - 1 / len(part)
    seen = np.exp((amounts * above[:, None] - amounts**2 * far / 2) / noise**2) * prior / prior.sum()
    found: FloatVector = seen @ amounts / (len(part) + seen.sum())
    return found


PARTS = [(2.0, 2.0, 2.0, 2.0, 7.0), (0.3, -1.2, 0.8, 0.1, 0.4), (-5.0, 0.5, 0.0, -0.5, 1.0)]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("noise", [0.45, 0.9, 1.8])
def test_a_kind_is_lifted_as_far_as_all_that_may_be_weighs(part: tuple[float, ...], noise: float) -> None:
    """The mean of the posterior to a tenth of the noise, by the densities of all possibilities; equal lifts of all say
    nothing."""
    theta = moved(**dict(zip(KINDS, part, strict=True)))
    lift = (believed(SHIPPED, theta, noise, NAMES) - SHIPPED)[5:]
    np.testing.assert_allclose(lift, by_weighing(np.array(part), noise), atol=noise / 10)
    again = (believed(SHIPPED, theta + 3.0, noise, NAMES) - SHIPPED)[5:]
    np.testing.assert_allclose(again, lift, atol=1e-9)


def test_a_liking_is_believed_sooner_than_a_dislike() -> None:
    """At three times the noise of most of a liking and of little of a dislike; at five times of nearly all of both."""

    def share(far: float) -> float:
        theta = moved(is_text=far, **dict.fromkeys(KINDS[1:], 1e-6))
        return float(believed(SHIPPED, theta, 0.9, NAMES)[5] - SHIPPED[5]) / far

    assert share(2.7) > 0.6
    assert share(-2.7) < 0.2
    assert min(share(4.5), share(-4.5)) > 0.9


def test_where_noise_is_next_to_nothing_a_kind_keeps_its_lead() -> None:
    """And numbers without end stay numbers."""
    theta = moved(is_source=0.001, is_mail=4.0)
    lift = (believed(SHIPPED, theta, 1e-2, NAMES) - SHIPPED)[5:]
    np.testing.assert_allclose(lift[-1] - lift[:-1], 4.0, atol=2e-3)
    assert np.isfinite(believed(SHIPPED, moved(is_mail=1e9, is_text=-1e9), 1e-200, NAMES)).all()


def test_a_block_of_two_is_doubted_more() -> None:
    """To shorten two numbers wins nothing on average: at noise 1, 1.6 in each moves three and leaves two as shipped."""
    theta = moved(bm25f=1.6, size=1.6, recent_week=1.6, recent_year=1.6, newer=1.6)
    found = believed(SHIPPED, theta, 1.0, NAMES) - SHIPPED
    np.testing.assert_allclose(found[1:4], 1.6 * (1 - 1.5 / 1.6**2))
    assert found[0] == found[4] == 0.0


def test_a_kind_that_lies_where_it_lay_changes_no_rule() -> None:
    """Noise of coins adds up to nothing now and then: the other four are still judged as kinds."""
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
