"""SHA256SUMS and its signature, in the format of minisign, so that `minisign -Vm SHA256SUMS -p KEY` checks it, too.

public key  base64("Ed", key id [8], public key [32])
signature   base64("ED", key id [8], Ed25519 over BLAKE2b-512 of the file [64]), then a comment and
            base64(Ed25519 over that signature and the comment [64])
secret key  base64("Ed", no password [2], "B2", salt and costs [48], key id [8], seed and public key [64],
                checksum [32])
"""

from __future__ import annotations

import hashlib
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable
from pathlib import Path

import click
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

SUMS = "SHA256SUMS"
SECRET, PUBLIC = "foltr-search.key", "foltr-search.pub"


def make_keys(folder: Path) -> None:
    """A secret and a public key; refuses to replace one."""
    key, number = SigningKey.generate(), os.urandom(8)
    whole = number + bytes(key) + bytes(key.verify_key)
    check = hashlib.blake2b(b"Ed" + whole, digest_size=32).digest()
    secret = b"Ed" + bytes(2) + b"B2" + bytes(48) + whole + check
    handle = os.open(folder / SECRET, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(_lines(("untrusted comment: secret key of foltr-search's releases", secret)))
    public = b"Ed" + number + bytes(key.verify_key)
    (folder / PUBLIC).write_text(_lines((f"untrusted comment: public key {number[::-1].hex().upper()}", public)))


def write_sums(folder: Path) -> Path:
    """The sums of all files of the folder, as sha256sum writes them."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(SUMS))
    lines = [f"{_sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
    return folder / SUMS


def sign(file: Path, secret: Path, comment: str) -> None:
    """FILE.minisig beside the file; `comment` is signed with it."""
    record = b64decode(secret.read_text(encoding="ascii").splitlines()[1])
    number, key = record[54:62], SigningKey(record[62:94])
    signature = key.sign(hashlib.blake2b(file.read_bytes()).digest()).signature
    both = key.sign(signature + comment.encode()).signature
    head = ("untrusted comment: signature of foltr-search's releases", b"ED" + number + signature)
    Path(f"{file}.minisig").write_text(_lines(head, (f"trusted comment: {comment}", both)), encoding="utf-8")


def verify(folder: Path, public: Path) -> str:
    """The signed comment, where the signature and every sum hold; else ClickException."""
    sums = folder / SUMS
    key = b64decode(public.read_text(encoding="ascii").splitlines()[1])
    _, first, comment, second = Path(f"{sums}.minisig").read_text(encoding="utf-8").splitlines()
    record, comment = b64decode(first), comment.removeprefix("trusted comment: ")
    if (record[:2], record[2:10]) != (b"ED", key[2:10]):
        raise click.ClickException(f"{sums} is signed by another key")
    try:
        VerifyKey(key[10:]).verify(hashlib.blake2b(sums.read_bytes()).digest(), record[10:])
        VerifyKey(key[10:]).verify(record[10:] + comment.encode(), b64decode(second))
    except BadSignatureError:
        raise click.ClickException(f"{sums} is not what was signed") from None
    for digest, name in (line.split("  ", 1) for line in sums.read_text(encoding="utf-8").splitlines()):
        if not (folder / name).is_file() or _sha256(folder / name) != digest:
            raise click.ClickException(f"{name} is not what was signed")
    return comment


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _lines(*pairs: tuple[str, bytes]) -> str:
    texts: Iterable[str] = (f"{comment}\n{b64encode(content).decode('ascii')}\n" for comment, content in pairs)
    return "".join(texts)
