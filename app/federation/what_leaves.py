"""Exactly what leaves this device, read off the definitions of the records that it sends.

`foltr-search privacy` prints it, docs/privacy.md holds it, and tests compare both with the records and with what is
seen on the wire.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from foltr.federated import wire
from foltr.federated.wire import DEVICE_RECORDS, Record

HEADERS = {
    "Foltr-Device": "the member's pseudonym, a hash of the key that it made for this group",
    "Foltr-Time": "seconds since 1970",
    "Foltr-Nonce": "32 random hex digits, against replays",
    "Foltr-Signature": "Ed25519 over method, path, hash of the body, time and nonce",
}
"""what signs a request; besides these, Host, User-Agent (foltr-search), Accept-Encoding, Connection, Content-Type and
Content-Length"""

TYPES = {"str": "text", "bytes": "bytes", "int": "number", "bool": "yes or no"}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Sent:
    """One kind of record."""

    name: str
    meaning: str
    fields: tuple[Field, ...]


@cache
def records() -> tuple[Sent, ...]:
    """Every record that a device sends, in the order of DEVICE_RECORDS."""
    return tuple(_sent(kind) for kind in DEVICE_RECORDS)


def markdown() -> Iterator[str]:
    """The list as docs/privacy.md holds it, line by line."""
    for sent in records():
        yield f"**{sent.name}**: {sent.meaning}"
        yield ""
        yield "| field | type | meaning |"
        yield "|---|---|---|"
        yield from (f"| `{field.name}` | {field.type} | {field.meaning} |" for field in sent.fields)
        yield ""
    yield "Headers that sign each request:"
    yield ""
    yield "| header | meaning |"
    yield "|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in HEADERS.items())


def _sent(kind: type[Record]) -> Sent:
    fields = tuple(field for base in (kind, Record) for field in _fields(base))
    return Sent(kind.__name__, _one_line(kind.__doc__ or ""), fields)


def _fields(kind: type[Record]) -> Iterator[Field]:
    """The fields that a class itself declares, each with the text below it in the source, "" where it needs none."""
    body = next(
        node.body
        for node in ast.parse(inspect.getsource(wire)).body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    for declared, after in pairwise([*body, ast.Pass()]):
        if isinstance(declared, ast.AnnAssign) and isinstance(declared.target, ast.Name):
            annotation = ast.unparse(declared.annotation)
            yield Field(declared.target.id, TYPES.get(annotation, annotation), _text(after))


def _text(node: ast.stmt) -> str:
    value = node.value if isinstance(node, ast.Expr) else None
    return _one_line(value.value) if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
