"""The journal's chain: what follows from it, and what nobody can change in it unseen."""

from __future__ import annotations

import pytest

from foltr.errors import RecordError
from foltr.federated.journal import chain, names_device, participants, request_hash, rounds_served
from foltr.federated.wire import JournalEntry, encode

ADA, BOB = "a" * 32, "b" * 32


def began(lineage: int, parent: tuple[int, int] | None = None) -> JournalEntry:
    return JournalEntry(kind="lineage", time=1, lineage=lineage, parent=parent, reason="test")


def listed(lineage: int, number: int, *devices: str) -> JournalEntry:
    named = participants(devices, lineage, number)
    return JournalEntry(kind="list", time=1, lineage=lineage, round=number, participants=named)


def test_every_change_of_an_entry_changes_all_hashes_after_it() -> None:
    """Of four entries each is changed in turn: the hashes before it stay, its own and all later ones do not."""
    bodies = [encode(listed(1, number, ADA)) for number in range(4)]
    true = chain(bodies)
    assert len(set(true)) == 4
    for place in range(4):
        altered = list(bodies)
        altered[place] = encode(listed(1, place, BOB))
        found = chain(altered)
        assert found[:place] == true[:place]
        assert not set(found[place:]) & set(true[place:])


def test_a_member_finds_itself_and_nobody_else() -> None:
    """A list of two has both, not a third, and names nobody the same way in two rounds."""
    one, other = listed(1, 1, ADA, BOB), listed(1, 2, ADA, BOB)
    assert names_device(one, ADA)
    assert names_device(one, BOB)
    assert not names_device(one, "c" * 32)
    assert not names_device(began(1), ADA)
    names = {one.participants[:16], one.participants[16:], other.participants[:16], other.participants[16:]}
    assert len(names) == 4
    assert request_hash("x") != request_hash("y")


def test_what_led_to_the_ranker_of_today() -> None:
    """Lineage 9 began from 2.1, and 2 from 1.1: rounds after a branch, and branches given up, are not served."""
    entries = [
        began(1), listed(1, 1, ADA), listed(1, 2, BOB), began(2, (1, 1)), listed(2, 1, ADA), listed(2, 2, BOB),
        began(3, (2, 2)), listed(3, 1, BOB), began(9, (2, 1)), listed(9, 1, ADA),
    ]  # fmt: skip
    assert [(entry.lineage, entry.round) for entry in rounds_served(entries)] == [(9, 1), (2, 1), (1, 1)]
    assert rounds_served([]) == []
    with pytest.raises(RecordError, match="how lineage 2 began"):
        rounds_served([began(1), began(9, (2, 1))])
