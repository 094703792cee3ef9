"""Messages as bytes, and how long an honest update can be."""

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fpdgd import FPDGD, FPDGDMessage
from foltr.federated.payload import decode_message, encode_message, largest_update, payload_size
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, Mechanism
from foltr.ranking.rankers import Linear

PLAIN = FPDGD(Linear(3))
EQUAL = FPDGD(Linear(3), weighting="equal")


def test_a_message_comes_back() -> None:
    """Theta keeps every bit; the count too, where weights depend on it."""
    sent = FPDGDMessage(np.array([0.1, -2.0, 5e-324]), 7)
    back = decode_message(PLAIN, encode_message(PLAIN, sent))
    assert back.theta.tobytes() == sent.theta.tobytes()
    assert back.n_interactions == 7


def test_equal_weights_send_no_count() -> None:
    """How many pages a device saw does not leave it when the server weighs all alike."""
    many, few = (encode_message(EQUAL, FPDGDMessage(np.zeros(3), n)) for n in (900, 1))
    assert many == few


def test_sizes_and_values_are_checked() -> None:
    """A payload is 4 + 8 n_params bytes, from at least one interaction, and finite."""
    good = encode_message(PLAIN, FPDGDMessage(np.zeros(3), 1))
    assert len(good) == payload_size(PLAIN) == 4 + 8 * 3
    with pytest.raises(ShapeError, match="28 bytes, not 27"):
        decode_message(PLAIN, good[:-1])
    with pytest.raises(ValueRangeError, match="no interaction"):
        decode_message(PLAIN, b"\0\0\0\0" + good[4:])
    with pytest.raises(ValueRangeError, match="finite"):
        decode_message(PLAIN, good[:-8] + np.array([np.inf]).tobytes())


def test_a_message_holds_the_shared_weights_alone() -> None:
    """One weight of three is shared: 4 + 8 bytes, and what privacy is counted for is one number."""
    method = FPDGD(Linear(3), shared=(2,))
    sent = encode_message(method, FPDGDMessage(np.array([0.25]), 3))
    assert len(sent) == payload_size(method) == 4 + 8
    assert decode_message(method, sent).theta.tolist() == [0.25]
    assert method.n_sent == 1


@pytest.mark.parametrize(
    "privacy",
    [
        Gaussian(clip=0.5, noise_multiplier=1.0),
        Gaussian(clip=0.5, noise_multiplier=4.0, distributed=True, n_clients=16),
        Laplace(clip=0.5, epsilon=2.0),
        Laplace(clip=0.5, epsilon=2.0, distributed=True, n_clients=10),
        FpdgdPaper(sensitivity=3.0, epsilon=1.2, n_clients=10),
    ],
)
def test_honest_noise_stays_within_the_bound(privacy: Mechanism) -> None:
    """2,000 releases of the longest possible update stay below the bound, and within a factor of 20 of it."""
    rng = np.random.default_rng(0)
    method = FPDGD(Linear(8), privacy=privacy)
    start, end = np.full(8, 0.2), np.full(8, 50.0)
    longest = max(float(np.linalg.norm(privacy.release(start, end, rng) - start)) for _ in range(2000))
    assert largest_update(method, start) / 20 < longest < largest_update(method, start)
