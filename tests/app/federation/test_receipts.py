"""The leaver looks into the journal: an honest server is believed, one that drops or alters the promise is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import delete, select, update

from app.federation import membership
from app.federation.failures import Distrusted
from app.federation.join_and_leave import JournalFinding
from federation_server import backup
from federation_server.database import writing
from federation_server.group import group
from federation_server.serve import Installation
from federation_server.tables import journal as table
from foltr.federated.envelope import sign_document
from foltr.federated.journal import BEGINNING, next_hash
from foltr.federated.wire import JournalEntry, decode, encode
from tests.app.federation.groups import Person, a_copy, first_member, first_members
from tests.app.federation.test_restored_server import make_group, restored
from tests.federation_server.client import running

Make = Callable[..., Person]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a server whose rounds close with two updates, and of three members: the first two have held a
    round, then the first was forgotten, and the others held another. Tests go on with a copy."""
    folder = tmp_path_factory.mktemp("receipts") / "server"
    made, found = make_group(folder, partial(first_member, folder), n=3, quorum=2)
    with running(made):
        hold_round(found[:2])
        backup.write(made.engine, made.folder / "before", now=int(time.time()))
        found[0].joining().leave(forget=True)
        hold_round(found[1:])
    for person in found:
        person.store.close()
    return folder


@pytest.fixture
def made(begun: Path, tmp_path: Path) -> Installation:
    return a_copy(begun, tmp_path / "server")


@pytest.fixture
def people(made: Installation, make_person: Make) -> list[Person]:
    return first_members(made, make_person, allow_unprotected=True, retries=0)


def hold_round(people: list[Person]) -> None:
    for person in people:
        person.see_pages(6, seed=99)
        assert person.sync().sent


def finding(made: Installation, person: Person) -> JournalFinding:
    with running(made):
        (found,) = person.joining().findings()
    return found


def caught(made: Installation, person: Person, said: str) -> bool:
    found = finding(made, person)
    return found.holds is False and said in found.sentence


def rewrite(made: Installation, change: Callable[[list[JournalEntry]], list[JournalEntry]]) -> None:
    """A journal that a dishonest server makes up, its chain in order."""
    with writing(made.engine) as connection:
        bodies = [bytes(b) for b in connection.execute(select(table.c.body).order_by(table.c.position)).scalars()]
        connection.execute(delete(table))
        head = BEGINNING
        for number, entry in enumerate(change([decode(body, JournalEntry) for body in bodies]), 1):
            head = next_hash(head, encode(entry))
            connection.execute(table.insert().values(position=number, body=encode(entry), hash=head))


def test_an_honest_server_is_believed(made: Installation, people: list[Person]) -> None:
    """Twice: after the receipt, and after another round."""
    first = finding(made, people[0])
    assert first.holds
    assert "holds the receipt" in first.sentence
    with running(made):
        hold_round(people[1:])
    assert finding(made, people[0]).holds


def without_receipt(entries: list[JournalEntry]) -> list[JournalEntry]:
    return [entry for entry in entries if entry.kind != "receipt"]


def with_another_list(entries: list[JournalEntry]) -> list[JournalEntry]:
    place = next(number for number, entry in enumerate(entries) if entry.kind == "list")
    changed = JournalEntry(kind="list", time=1, lineage=1, round=1, participants=b"x" * 16)
    return [*entries[:place], changed, *entries[place + 1 :]]


@pytest.mark.parametrize(
    ("change", "said"), [(without_receipt, "does not hold the receipt"), (with_another_list, "was altered")]
)
def test_a_server_that_drops_the_receipt_or_alters_what_came_before_is_caught(
    made: Installation, people: list[Person], change: Callable[[list[JournalEntry]], list[JournalEntry]], said: str
) -> None:
    """A journal as if nobody had asked; the first round's list exchanged, with the receipt's entry as it was."""
    rewrite(made, change)
    assert caught(made, people[0], said)


@pytest.mark.parametrize("promised", [True, False])
def test_a_receipt_that_names_no_entry_is_looked_for_all_the_same(
    made: Installation, people: list[Person], *, promised: bool
) -> None:
    """A server that signs "done" without a place in the journal escapes no check, whatever the journal holds."""
    (kept,) = membership.all_receipts(people[0].store)
    said = msgspec.structs.replace(kept.receipt, position=0, chain="")
    signed = encode(sign_document(made.vault.identity, "receipt", said))
    membership.save_receipt(people[0].store, msgspec.structs.replace(kept, signed=signed))
    if not promised:
        rewrite(made, without_receipt)
    assert caught(made, people[0], "was altered" if promised else "does not hold the receipt")


def test_anothers_receipt_is_not_taken_for_ones_own(
    made: Installation, people: list[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is asked how far one request is, and answers with what it signed for another, is not believed."""
    (kept,) = membership.all_receipts(people[0].store)
    other = msgspec.structs.replace(kept.receipt, request="0" * 32)
    waits = msgspec.structs.replace(kept.receipt, state="unlearning")
    signed = encode(sign_document(made.vault.identity, "receipt", waits))
    membership.save_receipt(people[0].store, msgspec.structs.replace(kept, signed=signed))
    monkeypatch.setattr("federation_server.forgetting.forgetting.receipt", lambda *_: other)
    with running(made), pytest.raises(Distrusted, match="of another request"):
        people[0].joining().progress()
    assert [one.receipt.request for one in membership.all_receipts(people[0].store)] == [kept.receipt.request]


def test_a_server_that_cuts_off_what_was_seen_is_caught(made: Installation, people: list[Person]) -> None:
    """After a first look the newest entry is taken away."""
    assert finding(made, people[0]).holds
    rewrite(made, lambda entries: entries[:-1])
    assert finding(made, people[0]).holds is False


def test_a_chain_that_does_not_fit_is_caught(made: Installation, people: list[Person]) -> None:
    """One stored entry is overwritten."""
    with writing(made.engine) as connection:
        connection.execute(update(table).where(table.c.position == 2).values(body=b"{}"))
    assert caught(made, people[0], "not the one that it signed")


def test_a_later_list_with_the_leaver_is_caught(made: Installation, people: list[Person]) -> None:
    """The server counts an update that it had kept a copy of."""
    (kept,) = membership.all_receipts(people[0].store)
    with writing(made.engine) as connection:
        group.note_participants(connection, 2, 9, [kept.device], now=1)
    assert caught(made, people[0], "lists this device in round 9 of lineage 2")


def test_a_ranker_from_the_leavers_round_is_caught(made: Installation, people: list[Person]) -> None:
    """A lineage that goes back to the round in which the leaver took part."""
    with writing(made.engine) as connection:
        group.write_in_journal(
            connection, JournalEntry(kind="lineage", time=1, lineage=77, parent=(1, 1), reason="rollback")
        )
    assert caught(made, people[0], "comes from round 1 of lineage 1")


def test_a_server_that_was_restored_says_so(made: Installation, people: list[Person], tmp_path: Path) -> None:
    """From a backup before the request: the receipt is entered again, and the leaver sees when and why."""
    again = restored(made, made.folder / "before", tmp_path / "again")
    found = finding(again, people[0])
    assert found.holds, found.sentence
    assert "entered again after a restore" in found.sentence
