"""Signed requests, each of which counts once."""

from __future__ import annotations

import base64

import pytest
from sqlalchemy import Engine

from federation_server.database import writing
from federation_server.group.signed_requests import (
    CLOCK_SECONDS,
    Credentials,
    Request,
    check_signature,
    credentials,
    forget_old_nonces,
    spend_nonce,
)
from federation_server.refusals import Refused
from foltr.federated.envelope import REQUEST, Identity, pseudonym, request_text

NOW = 1_000_000
ADA = Identity(b"1" * 32)
NONCE = "0123456789abcdef0123456789abcdef"
DEVICE = pseudonym(ADA.public)


def headers(
    *, device: str = DEVICE, time: str = str(NOW), nonce: str = NONCE, signature: str = "AAAA"
) -> dict[str, str]:
    return {"foltr-device": device, "foltr-time": time, "foltr-nonce": nonce, "foltr-signature": signature}


def signed(body: bytes = b"body", time: int = NOW) -> Credentials:
    text = request_text("POST", "/v1/updates", body, time=time, nonce=NONCE)
    return Credentials("d", time, NONCE, ADA.sign(REQUEST, text))


def check(found: Credentials, *, method: str = "POST", path: str = "/v1/updates", body: bytes = b"body") -> None:
    check_signature(Request(found, method, path, body), ADA.public, now=NOW)


@pytest.mark.parametrize(
    "odd",
    [
        headers(time="soon"),
        headers(time=str(1 << 60)),
        headers(nonce="short"),
        headers(nonce="x" * 65),
        headers(nonce="0123456789abcdef/../"),
        headers(nonce="ä" * 32),
        headers(signature="not base64!"),
        headers(device="d"),
        headers(device="0" * 60_000),
        headers(device=DEVICE.upper()),
        {key: value for key, value in headers().items() if key != "foltr-nonce"},
        {},
    ],
)
def test_headers_of_an_odd_form_are_unsigned(odd: dict[str, str]) -> None:
    """A missing or malformed header is refused before anything is looked up."""
    with pytest.raises(Refused) as refused:
        credentials(odd)
    assert refused.value.reason == "unsigned"


def test_headers_are_read() -> None:
    """What the device wrote arrives."""
    sent = headers(signature=base64.b64encode(b"s" * 64).decode())
    assert credentials(sent) == Credentials(DEVICE, NOW, NONCE, b"s" * 64)


def test_the_clock_window_has_two_edges() -> None:
    """A request exactly at the window's edge passes, one second beyond is refused, on both sides."""
    for edge in (-CLOCK_SECONDS, CLOCK_SECONDS):
        check(signed(time=NOW + edge))
        with pytest.raises(Refused) as refused:
            check(signed(time=NOW + edge + (1 if edge > 0 else -1)))
        assert refused.value.reason == "clock"
        assert str(refused.value).endswith(f"the device's is 5 minutes {'ahead' if edge > 0 else 'behind'}")
    with pytest.raises(Refused, match="the device's is 40 days ahead"):
        check(signed(time=NOW + 40 * 86_400 + 7))


def test_a_nonce_is_spent_once_a_device(engine: Engine) -> None:
    """The second use is a replay, another device may use the same one, and the transaction goes on after a refusal."""
    with writing(engine) as connection:
        spend_nonce(connection, signed())
        with pytest.raises(Refused) as refused:
            spend_nonce(connection, signed())
        spend_nonce(connection, Credentials("other", NOW, NONCE, b""))
    assert refused.value.reason == "replayed"


def test_nonces_outlive_the_window(engine: Engine) -> None:
    """A nonce is forgotten only when its request would be refused by the clock."""
    with writing(engine) as connection:
        spend_nonce(connection, signed())
        assert forget_old_nonces(connection, now=NOW + CLOCK_SECONDS + 1) == 0
        assert forget_old_nonces(connection, now=NOW + 2 * CLOCK_SECONDS + 1) == 1
