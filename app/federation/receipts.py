"""Whether a server keeps to a receipt that it signed: the forgotten member reads the server's journal.

The journal is one chain of hashes (foltr.federated.journal). A receipt names its place there and the chain's hash up to
it, and all later entries must continue from there: a server that drops the entry, alters what came before or cuts off
what was seen before is found out. The former member must be in none of the later lists; nor may the present ranker come
from a round that it was in, unless the receipt says that the ranker stays.

A server that was restored from a backup adds an entry about that, and enters the receipt again. What cannot be seen
here: whether it shows others another journal, and whether it kept copies of what it erased.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from app.federation.failures import Distrusted
from app.federation.membership import KeptReceipt
from console.wording import iso_minute
from foltr.errors import RecordError
from foltr.federated.journal import chain, names_device, request_hash, rounds_served
from foltr.federated.wire import JournalEntry, JournalPage, Receipt, decode

MOST_PAGES = 1000
"""most pages of a journal that a server may make this device read"""
KEEPS_RANKER = ("none", "noise")


class Journal(msgspec.Struct, frozen=True):
    """A whole journal whose chain was checked."""

    entries: tuple[JournalEntry, ...]
    hashes: Sequence[str]
    """the chain's hash after each entry"""

    def hash_at(self, position: int) -> str:
        """The chain's hash up to an entry, counted from 1; "" where there is none."""
        return self.hashes[position - 1] if 0 < position <= len(self.hashes) else ""


def read(fetch: Callable[[int], JournalPage]) -> Journal:
    """The whole journal by its pages; Distrusted when it is not the one whose end the server signed."""
    bodies: list[bytes] = []
    for _ in range(MOST_PAGES):
        page = fetch(len(bodies))
        bodies.extend(page.entries)
        if len(bodies) >= page.size or not page.entries:
            break
    hashes = chain(bodies)
    if len(bodies) != page.size or (hashes and hashes[-1] != page.head):
        raise Distrusted("the server's journal is not the one that it signed")
    try:
        entries = tuple(decode(body, JournalEntry) for body in bodies)
    except RecordError as error:
        raise Distrusted(f"the server's journal makes no sense: {error}") from error
    return Journal(entries, hashes)


def check(kept: KeptReceipt, journal: Journal) -> tuple[KeptReceipt, str]:
    """The receipt, updated by what was seen now, and a sentence about it. Distrusted when the journal lies."""
    receipt = kept.receipt
    position, restored = _place(kept, receipt, journal)
    for number, entry in enumerate(journal.entries, 1):
        if number > position and names_device(entry, kept.device):
            raise Distrusted(
                f"{kept.group} lists this device in round {entry.round} of lineage {entry.lineage}, after its server "
                "had signed that it was forgotten"
            )
    if receipt.method not in KEEPS_RANKER:
        _check_ranker(kept, journal)
    seen = msgspec.structs.replace(kept, size=len(journal.entries), head=journal.hash_at(len(journal.entries)))
    since = f"{len(journal.entries) - position:,} entries since"
    also = f", entered again after a restore of {iso_minute(restored)}" if restored else ""
    return (seen, f"the journal of {kept.group} holds the receipt{also}, and this device in none of {since}")


def _place(kept: KeptReceipt, receipt: Receipt, journal: Journal) -> tuple[int, int]:
    """Position of the receipt's entry, and when the server was restored meanwhile (0: never)."""
    sought = request_hash(receipt.request)
    goes_on = not kept.size or journal.hash_at(kept.size) == kept.head
    if goes_on and receipt.position > 0 and journal.hash_at(receipt.position) == receipt.chain:
        entry = journal.entries[receipt.position - 1]
        if entry.kind == "receipt" and entry.request == sought:
            return receipt.position, 0
    again = [n for n, e in enumerate(journal.entries, 1) if e.kind == "receipt" and e.request == sought]
    restores = [e.time for e in journal.entries if e.reason == "restore" and e.time >= receipt.time]
    if not again:
        raise Distrusted(f"the journal of {kept.group} does not hold the receipt that its server signed")
    if not restores:
        raise Distrusted(f"the journal of {kept.group} was altered: it does not go on from what its server signed")
    return again[-1], restores[-1]


def _check_ranker(kept: KeptReceipt, journal: Journal) -> None:
    try:
        lists = rounds_served(journal.entries)
    except RecordError as error:
        raise Distrusted(f"the journal of {kept.group} makes no sense: {error}") from error
    for entry in lists:
        if names_device(entry, kept.device):
            raise Distrusted(
                f"the ranker that {kept.group} serves comes from round {entry.round} of lineage {entry.lineage}, "
                "in which this device took part"
            )
