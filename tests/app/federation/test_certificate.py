"""The public key in a certificate, read without a library for certificates."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from app.federation.transport import public_key

KEYS = {
    "ec": lambda: ec.generate_private_key(ec.SECP256R1()),
    "rsa": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
}


def certificate(key: object, *, common_name: str = "x") -> bytes:
    """A self-signed one in DER."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    today = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())  # type: ignore[attr-defined]
    builder = builder.serial_number(1).not_valid_before(today).not_valid_after(today + datetime.timedelta(days=1))
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(Encoding.DER)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KEYS)
def test_it_is_the_key_that_the_library_finds(kind: str) -> None:
    """For elliptic curves, RSA and Ed25519, with short and long names, the bytes are those of cryptography."""
    key = KEYS[kind]()  # type: ignore[no-untyped-call]
    expected = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert public_key(certificate(key)) == expected
    assert public_key(certificate(key, common_name="n" * 60)) == expected


@pytest.mark.filterwarnings("ignore:Parsed a serial number")
def test_other_bytes_hold_no_key() -> None:
    """Nothing, noise and altered certificates end without an error, and one that was cut short holds no key."""
    whole = certificate(KEYS["ec"]())  # type: ignore[no-untyped-call]
    assert public_key(b"") == b""
    for length in range(len(whole)):
        assert public_key(whole[:length]) == b""
    rng = np.random.default_rng(0)
    for _ in range(2000):
        altered = bytearray(whole)
        altered[int(rng.integers(len(whole)))] ^= int(rng.integers(1, 256))
        public_key(bytes(altered))
        public_key(rng.bytes(int(rng.integers(1, 200))))
