from __future__ import annotations

import math

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.privacy.privatisation import randomised_response, randomised_response_epsilon


@pytest.mark.parametrize(("p", "epsilon"), [(0.5, math.log(10 * 0.5 / 0.5)), (0.9, 4.4998)])
def test_known_epsilons_over_eleven_answers(p: float, epsilon: float) -> None:
    """epsilon = ln(10 p / (1 - p)) for 11 answers: 2.3026 at .5, 4.4998 at .9."""
    assert randomised_response_epsilon(p, 11) == pytest.approx(epsilon, abs=5e-5)
    assert randomised_response_epsilon(p, 11, n_answers=7) == pytest.approx(7 * epsilon, abs=4e-4)


def test_limits() -> None:
    """The bare truth and the sure lie guarantee nothing, a uniform answer everything, no answer costs nothing."""
    assert randomised_response_epsilon(1.0, 11) == math.inf
    assert randomised_response_epsilon(0.0, 11) == math.inf
    assert randomised_response_epsilon(1 / 4, 4) == pytest.approx(0.0, abs=1e-15)
    assert randomised_response_epsilon(1.0, 11, n_answers=0) == 0.0


def test_answers_have_their_probabilities() -> None:
    """The truth comes with p, each of the others with (1 - p) / (k - 1), and the likeliest ratio is e^epsilon."""
    rng = np.random.default_rng(1)
    told = np.array([randomised_response(2, p=0.6, n_outputs=5, rng=rng) for _ in range(20_000)])
    frequencies = np.bincount(told, minlength=5) / len(told)
    np.testing.assert_allclose(frequencies, [0.1, 0.1, 0.6, 0.1, 0.1], atol=0.015)
    assert math.exp(randomised_response_epsilon(0.6, 5)) == pytest.approx(0.6 / 0.1)


@pytest.mark.parametrize(("truth", "p", "n_outputs"), [(0, 1.5, 3), (0, 0.5, 1), (3, 0.5, 3), (-1, 0.5, 3)])
def test_what_makes_no_sense_is_refused(truth: int, p: float, n_outputs: int) -> None:
    """A p that is no probability, a single answer, an answer that does not exist."""
    with pytest.raises(ValueRangeError):
        randomised_response(truth, p=p, n_outputs=n_outputs, rng=np.random.default_rng(0))
