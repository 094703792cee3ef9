"""The records that cross between a device and a server."""

import numpy as np
import pytest

from foltr.errors import RecordError, ShapeError, ValueRangeError
from foltr.federated.wire import (
    WIRE_VERSION,
    Farewell,
    SharedUpdate,
    Update,
    decode,
    decode_vector,
    digest,
    encode,
    encode_vector,
)

UPDATE = Update(group_id="g", lineage=1, round=7, device="d", model_hash="m", manifest_hash="f", payload=b"\x00\x01")


def test_a_record_comes_back_as_it_was_sent() -> None:
    """encode and decode are inverse, and equal records have equal bytes."""
    assert decode(encode(UPDATE), Update) == UPDATE
    assert encode(decode(encode(UPDATE), Update)) == encode(UPDATE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        encode(UPDATE)[:-1],
        encode(UPDATE).replace(b'"round":7', b'"round":"7"'),
        encode(UPDATE).replace(b'"round":7', b'"round":7,"query":"secret"'),
        encode(Farewell(group_id="g", forget=True)),
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    """Truncated, ill-typed, over-full, nested and foreign bytes are RecordErrors, never another exception."""
    with pytest.raises(RecordError):
        decode(data, Update)


def test_another_version_is_named() -> None:
    """A record of a later format is refused with both versions in the message."""
    later = encode(UPDATE).replace(f'"version":{WIRE_VERSION}'.encode(), b'"version":99')
    with pytest.raises(RecordError, match="99"):
        decode(later, Update)


def test_a_digest_depends_on_every_field() -> None:
    """Two records that differ in one field have different digests."""
    other = Update(group_id="g", lineage=1, round=8, device="d", model_hash="m", manifest_hash="f", payload=b"\x00\x01")
    assert digest(UPDATE) != digest(other)
    assert digest(UPDATE) == digest(decode(encode(UPDATE), Update))
    assert digest(b"") == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"


def test_vectors_keep_every_bit() -> None:
    """A theta comes back bit by bit; another length or a number that is not finite is refused."""
    theta = np.array([0.1, -np.pi, 5e-324, 1e308])
    assert decode_vector(encode_vector(theta), 4).tobytes() == theta.tobytes()
    with pytest.raises(ShapeError, match="32 bytes"):
        decode_vector(encode_vector(theta)[:-8], 4)
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueRangeError, match="finite"):
            decode_vector(encode_vector(np.array([1.0, bad])), 2)


def test_a_peer_of_another_version_of_sealed_sums_is_told_so_in_one_line() -> None:
    """Also where its records have other fields; what has no version is no record."""
    old = b'{"version":2,"group_id":"g","lineage":1,"round":1,"device":"d","boxes":"","signature":""}'
    with pytest.raises(RecordError, match=r"^SharedUpdate of wire version 2; this program speaks 4$"):
        decode(old, SharedUpdate)
    with pytest.raises(RecordError, match=r"^this is no SharedUpdate: "):
        decode(b'{"version":4}', SharedUpdate)
    with pytest.raises(RecordError, match=r"^this is no SharedUpdate: "):
        decode(b'{"group_id":"g"}', SharedUpdate)
