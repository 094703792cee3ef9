"""Encryption of the connection: certificate files, or a self-signed certificate whose fingerprint is in the invite."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import os
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from foltr.errors import FoltrError

YEARS = 10


class TlsError(FoltrError):
    """The certificate cannot be made or used."""


def make_self_signed(certificate: Path, private_key: Path, *, names: tuple[str, ...]) -> None:
    """Write a certificate for these host names and addresses, valid ten years, and its key (0600)."""
    key = ec.generate_private_key(ec.SECP256R1())
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
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    with os.fdopen(os.open(private_key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(secret)
    certificate.write_bytes(made.public_bytes(pem))


def certificate_fingerprint(certificate: Path) -> str:
    """Lower-case hex of the SHA-256 of the certificate, which a device compares with its invite."""
    try:
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate.read_text())).hexdigest()
    except (OSError, ValueError) as error:
        raise TlsError(f"{certificate} holds no certificate: {error}") from error


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
