"""Signatures and seals."""

import pytest

from foltr.federated.envelope import (
    REQUEST,
    Identity,
    SignatureError,
    box_public,
    fingerprint,
    new_box_key,
    open_document,
    pseudonym,
    request_text,
    seal,
    sign_document,
    unseal,
    verify,
)
from foltr.federated.wire import Accepted, Receipt

ACCEPTED = Accepted(round=3, received=2)


def test_a_signature_is_for_one_purpose_message_and_key() -> None:
    """Changing the purpose, any byte of the message, the signature or the key makes it fail."""
    identity, stranger = Identity.generate(), Identity.generate()
    text = request_text("POST", "/v1/updates", b"body", time=17, nonce="n")
    signature = identity.sign(REQUEST, text)
    verify(identity.public, REQUEST, text, signature)
    for key, purpose, message, signed in [
        (stranger.public, REQUEST, text, signature),
        (identity.public, b"other", text, signature),
        (identity.public, REQUEST, text + b"x", signature),
        (identity.public, REQUEST, text, signature[:-1] + bytes([signature[-1] ^ 1])),
        (identity.public, REQUEST, text, b""),
        (b"short", REQUEST, text, signature),
    ]:
        with pytest.raises(SignatureError):
            verify(key, purpose, message, signed)


def test_purpose_and_message_cannot_run_together() -> None:
    """A byte moved from the message to the purpose is another signed thing."""
    identity = Identity.generate()
    with pytest.raises(SignatureError):
        verify(identity.public, b"ab", b"c", identity.sign(b"a", b"bc"))


def test_every_part_of_a_request_is_signed() -> None:
    """Method, path, body, time and nonce each change the signed text."""
    base = request_text("POST", "/v1/a", b"x", time=1, nonce="n")
    others = [
        request_text("GET", "/v1/a", b"x", time=1, nonce="n"),
        request_text("POST", "/v1/b", b"x", time=1, nonce="n"),
        request_text("POST", "/v1/a", b"y", time=1, nonce="n"),
        request_text("POST", "/v1/a", b"x", time=2, nonce="n"),
        request_text("POST", "/v1/a", b"x", time=1, nonce="m"),
    ]
    assert base not in others
    assert len(set(others)) == len(others)


def test_a_document_is_the_servers_and_of_its_kind() -> None:
    """A signed record opens with the signer's key under its own kind only."""
    server = Identity.generate()
    signed = sign_document(server, "receipt", ACCEPTED)
    assert open_document(server.public, signed, "receipt", Accepted) == ACCEPTED
    with pytest.raises(SignatureError):
        open_document(Identity.generate().public, signed, "receipt", Accepted)
    with pytest.raises(SignatureError, match="model"):
        open_document(server.public, signed, "model", Receipt)


def test_only_the_rounds_key_opens_a_box() -> None:
    """A sealed message opens with its round's private key, and not with another or when one bit was altered."""
    private = new_box_key()
    box = seal(box_public(private), b"update")
    assert unseal(private, box) == b"update"
    assert len(box) == len(b"update") + 48
    with pytest.raises(SignatureError):
        unseal(new_box_key(), box)
    with pytest.raises(SignatureError):
        unseal(private, box[:-1] + bytes([box[-1] ^ 1]))


def test_names_are_hashes_of_keys() -> None:
    """Fingerprint and pseudonym are the same for the same key, and different between keys and from one another."""
    one, two = Identity.generate().public, Identity.generate().public
    assert fingerprint(one) == fingerprint(one) != fingerprint(two)
    assert pseudonym(one) == pseudonym(one) != pseudonym(two)
    assert not fingerprint(one).startswith(pseudonym(one))
