"""A server's journal: which lineages began, who took part in which round, who was forgotten, in one chain of hashes.

    h_0 = 64 zeros;    h_k = BLAKE2b-256(h_{k-1} || entry k)
    participant of a round = BLAKE2b-128(pseudonym, lineage, round)

Whoever holds h_k of an old entry can find out whether today's journal continues that one. A member knows its own
pseudonym, so it can look itself up in every list; nobody else learns from a list more than how many took part. It is
the idea of certificate transparency (RFC 6962) without the tree: journals are short, and read as a whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from foltr.errors import RecordError
from foltr.federated.wire import JournalEntry

BEGINNING = "0" * 64
"""the hash of a journal without entries"""
PARTICIPANT_BYTES = 16


def next_hash(before: str, body: bytes) -> str:
    """The hash of a journal after one more entry, from the hash before it."""
    return hashlib.blake2b(before.encode() + body, digest_size=32, person=b"foltr-journal").hexdigest()


def chain(bodies: Iterable[bytes]) -> list[str]:
    """The hash after each entry of a whole journal."""
    hashes, present = [], BEGINNING
    for body in bodies:
        present = next_hash(present, body)
        hashes.append(present)
    return hashes


def participant(device: str, lineage: int, round: int) -> bytes:
    """How a list names a pseudonym [16 bytes]: by another name in each round."""
    named = f"{device}.{lineage}.{round}".encode()
    return hashlib.blake2b(named, digest_size=PARTICIPANT_BYTES, person=b"foltr-list").digest()


def participants(devices: Iterable[str], lineage: int, round: int) -> bytes:
    """The names of a list, sorted and joined."""
    return b"".join(sorted(participant(device, lineage, round) for device in devices))


def names_device(entry: JournalEntry, device: str) -> bool:
    """Whether this list has the pseudonym; False for an entry of another kind."""
    if entry.kind != "list":
        return False
    sought, names = participant(device, entry.lineage, entry.round), entry.participants
    return any(sought == names[at : at + PARTICIPANT_BYTES] for at in range(0, len(names), PARTICIPANT_BYTES))


def request_hash(request: str) -> str:
    """How an entry names a request: it can be found by the request's name, and does not reveal that name."""
    return hashlib.blake2b(request.encode(), digest_size=32, person=b"foltr-request").hexdigest()


def rounds_served(entries: Sequence[JournalEntry]) -> list[JournalEntry]:
    """The lists of the rounds that led to the newest lineage's ranker, newest lineage first.

    RecordError when a lineage that it began from is not in the journal.
    """
    began = {entry.lineage: entry for entry in entries if entry.kind == "lineage"}
    lists = [entry for entry in entries if entry.kind == "list"]
    found, lineage, until = [], max(began, default=0), None
    while began:
        if lineage not in began:
            raise RecordError(f"the journal does not say how lineage {lineage} began")
        found += [e for e in lists if e.lineage == lineage and (until is None or e.round <= until)]
        parent = began.pop(lineage).parent
        if parent is None:
            break
        lineage, until = parent
    return found
