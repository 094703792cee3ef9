"""A method's message as the bytes of a wire Update's payload, and back, with everything checked that can be.

FPDGD: the number of interactions (uint32, 1 where weights are equal) and the shared weights `[n_sent]` (float64),
little-endian.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from foltr.arrays import FloatVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fpdgd import FPDGD, FPDGDMessage
from foltr.federated.method import Method
from foltr.federated.wire import decode_vector, encode_vector
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, NoPrivacy

_COUNT = struct.Struct("<I")
LARGEST_WITHOUT_PRIVACY = 100.0
"""L2 norm of an update that no mechanism bounds: far more than a round of PDGD moves a ranker"""
RARE = 1e-12
"""how often an honest device's noise may exceed the bound of `largest_update`"""


def encode_message(method: Method[Any, Any], message: FPDGDMessage) -> bytes:
    """The payload of a message; ValueRangeError for a method whose messages no group sends yet."""
    fpdgd = _sendable(method)
    count = 1 if fpdgd.weighting == "equal" else min(message.n_interactions, 0xFFFFFFFF)
    return _COUNT.pack(count) + encode_vector(message.theta)


def decode_message(method: Method[Any, Any], payload: bytes) -> FPDGDMessage:
    """The message; ShapeError for another length, ValueRangeError when not finite or from no interaction."""
    n_sent = _sendable(method).n_sent
    if len(payload) != payload_size(method):
        raise ShapeError(f"a message of {n_sent} parameters is {payload_size(method)} bytes, not {len(payload)}")
    (count,) = _COUNT.unpack_from(payload)
    if count == 0:
        raise ValueRangeError("a message from no interaction")
    return FPDGDMessage(decode_vector(payload[_COUNT.size :], n_sent), count)


def payload_size(method: Method[Any, Any]) -> int:
    """Bytes of every payload of this method."""
    return _COUNT.size + 8 * _sendable(method).n_sent


def largest_update(method: Method[Any, Any], start: FloatVector) -> float:
    """The largest ||theta - start||_2 that an honest device sends, but for once in 10^12 messages.

    `start` `[n_sent]` are the weights that it began from. Gaussian noise of deviation s in d numbers:
    s (sqrt(d) + sqrt(2 ln(1/RARE))) (Lipschitz concentration). Laplace noise of scale b: its L1
    norm is a Gamma(d, b) variable, at most b (d + sqrt(2 d t) + t) with t = ln(1/RARE) (Boucheron, Lugosi and
    Massart, "Concentration inequalities", Section 2.4).
    """
    privacy, d, t = _sendable(method).privacy, len(start), math.log(1.0 / RARE)
    if isinstance(privacy, NoPrivacy):
        return LARGEST_WITHOUT_PRIVACY
    if isinstance(privacy, Gaussian):
        return privacy.clip + privacy.deviation * (math.sqrt(d) + math.sqrt(2.0 * t))
    if isinstance(privacy, Laplace):
        return privacy.clip + privacy.clip / privacy.epsilon * (d + math.sqrt(2.0 * d * t) + t)
    if isinstance(privacy, FpdgdPaper):
        radius = privacy.local_bound or 0.0
        noise = privacy.sensitivity / privacy.epsilon * (d + math.sqrt(2.0 * d * t) + t)
        return radius + float(np.linalg.norm(start)) + noise
    raise ValueRangeError(f"no bound is known for {type(privacy).__name__}")


def _sendable(method: Method[Any, Any]) -> FPDGD:
    if not isinstance(method, FPDGD):
        raise ValueRangeError(f"groups learn by fpdgd; {type(method).__name__} has no payload")
    return method
