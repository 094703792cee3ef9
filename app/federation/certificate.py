"""The public key in an X.509 certificate: what a device pins of a server that signs its certificate itself.

The key and not the certificate, so that a certificate can be renewed and nobody is locked out. Nothing else of the
certificate is believed: names and dates are the signer's own words.
"""

from __future__ import annotations

from collections.abc import Iterator

VERSION = 0xA0
"""the tag of the optional first field"""
BEFORE_THE_KEY = 5
"""serial number, algorithm, issuer, validity, subject"""


def public_key(certificate: bytes) -> bytes:
    """The SubjectPublicKeyInfo (RFC 5280, section 4.1) in DER of a certificate in DER; b"" where there is none.

    The bytes need not be a certificate: whatever comes back is only compared with the hash of the right key.
    """
    try:
        (whole,) = [inner for _, _, inner in _elements(certificate)]
        fields = list(_elements(next(_elements(whole))[2]))
    except (IndexError, ValueError, StopIteration):
        return b""
    if fields and fields[0][0] == VERSION:
        del fields[0]
    return fields[BEFORE_THE_KEY][1] if len(fields) > BEFORE_THE_KEY else b""


def _elements(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """The DER elements in a row: tag, all bytes of it, its contents. ValueError or IndexError for other bytes."""
    position = 0
    while position < len(data):
        length, begin = data[position + 1], position + 2
        if length >= 0x80:
            n_bytes = length & 0x7F
            length, begin = int.from_bytes(data[begin : begin + n_bytes], "big"), begin + n_bytes
        end = begin + length
        if end > len(data):
            raise ValueError("an element is longer than what holds it")
        yield data[position], data[position:end], data[begin:end]
        position = end
