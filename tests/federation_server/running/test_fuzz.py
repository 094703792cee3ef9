"""Garbage at every decoder: a refusal, never a failure, and no more memory than the limits allow."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine

from federation_server.database import upgrade
from federation_server.group.signed_requests import credentials
from federation_server.refusals import Refused
from federation_server.rounds import intake
from foltr.errors import RecordError
from foltr.federated import wire
from foltr.federated.envelope import seal
from foltr.federated.wire import Record, Sealed, decode
from tests.federation_server.groups import credentials as somebody
from tests.federation_server.groups import expectation, make_group, update_for

RECORDS = [kind for kind in vars(wire).values() if isinstance(kind, type) and issubclass(kind, Record)]
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary().map(lambda b: b.decode("latin-1")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(st.binary(max_size=2000) | json_values.map(lambda value: repr(value).encode("utf-8", "replace")))
@settings(max_examples=150, deadline=None)
def test_the_decoder_gives_a_record_or_an_error(data: bytes) -> None:
    """Any bytes are a record of the kind or a RecordError."""
    for kind in RECORDS:
        with contextlib.suppress(RecordError):
            assert isinstance(decode(data, kind), kind)


LONG = {
    "lists": b"[" * 1_000_000,
    "keys": b'{"a":' * 300_000,
    "escapes": b'"' + b"\\u0041" * 200_000,
    "nines": b"9" * 1_000_000,
}


@pytest.mark.parametrize("data", LONG.values(), ids=LONG)
def test_decoding_takes_memory_in_proportion(data: bytes) -> None:
    """A million bytes of nesting, escapes or digits cost a few times their length, and are refused."""
    tracemalloc.start()
    for kind in RECORDS:
        with pytest.raises(RecordError):
            decode(data, kind)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * len(data)


@given(st.binary(max_size=400), st.integers(), st.integers(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_an_update_is_an_offer_or_a_refusal(data: bytes, lineage: int, round: int, right: bool) -> None:
    """Any box, and any bytes inside a good box, are an offer or refused."""
    expected = EXPECTED
    here = expected.open_round
    if right:
        sealed = Sealed(round=here.number, lineage=here.lineage, box=seal(here.public_key, data))
    else:
        sealed = Sealed(round=round, lineage=lineage, box=data)
    with pytest.raises(Refused):
        intake.check(sealed, somebody(0, "0" * 32), expected)


@given(st.binary(max_size=40), st.integers(0, 40))
@settings(max_examples=150, deadline=None)
def test_a_payload_is_taken_or_refused(payload: bytes, at: int) -> None:
    """Any payload in an otherwise right update; what is taken is finite and within the bound."""
    expected = EXPECTED
    good = update_for(expected, expected.start)
    spliced = good.payload[:at] + payload + good.payload[at + len(payload) :]
    here = expected.open_round
    record = wire.msgspec.structs.replace(good, payload=spliced)
    sealed = Sealed(round=here.number, lineage=here.lineage, box=seal(here.public_key, wire.encode(record)))
    outcome = _reason_or(lambda: np.isfinite(intake.check(sealed, somebody(0, "0" * 32), expected).norm))
    assert outcome in (True, "wrong-length", "not-finite", "over-norm")


@given(st.dictionaries(st.sampled_from(["foltr-device", "foltr-time", "foltr-nonce", "foltr-signature"]), st.text()))
@settings(max_examples=150, deadline=None)
def test_headers_are_credentials_or_unsigned(headers: dict[str, str]) -> None:
    """Any headers are credentials of bounded length, or refused."""
    assert _reason_or(lambda: len(credentials(headers).device)) in (32, "unsigned")


def _reason_or(action: Callable[[], object]) -> object:
    """What it gives, or the reason of its refusal."""
    try:
        return action()
    except Refused as refused:
        return refused.reason


def _expectation() -> intake.Expectation:
    engine = create_engine("sqlite://")
    upgrade(engine)
    make_group(engine)
    return expectation(engine)


EXPECTED = _expectation()
