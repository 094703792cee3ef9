"""Encryption of the connection: certificate files, or a self-signed certificate whose key is named in the invite.

Devices pin the public key, so a certificate can be renewed with the same key and no device notices.
"""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
from contextlib import suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from console.durable import create_durably, replace_durably
from foltr.errors import FoltrError

YEARS = 10


class TlsError(FoltrError):
    """The certificate cannot be made or used."""


def make_self_signed(certificate: Path, private_key: Path, *, names: tuple[str, ...]) -> None:
    """Write a certificate for these host names and addresses, valid ten years; a key (0600) where there is none."""
    if not private_key.exists():
        with suppress(FileExistsError):  # another process makes it now
            _generate(private_key)
    key = _load(private_key)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "foltr-server")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=365 * YEARS))
        .add_extension(x509.SubjectAlternativeName([_name(name) for name in names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    replace_durably(certificate, made.public_bytes(serialization.Encoding.PEM))


def key_fingerprint(certificate: Path) -> str:
    """Lower-case hex of the SHA-256 of the certificate's public key (SubjectPublicKeyInfo), which devices pin."""
    der, kind = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(_read(certificate).public_key().public_bytes(der, kind)).hexdigest()


def ends(certificate: Path) -> int:
    """Until when the certificate is valid, in seconds since 1970."""
    return int(_read(certificate).not_valid_after_utc.timestamp())


def _read(certificate: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(certificate.read_bytes())
    except (OSError, ValueError) as error:
        raise TlsError(f"{certificate} holds no certificate: {error}") from error


def _generate(private_key: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    create_durably(private_key, secret)


def _load(private_key: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(private_key.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise TlsError(f"{private_key} holds no private key: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TlsError(f"{private_key} holds another kind of key than this program makes")
    return key


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
