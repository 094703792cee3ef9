"""What a device keeps of its group, from joining to the receipt."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.federation import group_ranker, ledger, membership
from app.federation.failures import FederationError
from app.store import Store
from tests.app.federation.groups import Group, Person

Make = Callable[..., Person]


def test_joining_gives_a_membership(group: Group, person: Person) -> None:
    """After joining, the device knows the group and agreed to its terms; its first ranker is the shipped one."""
    member = person.join(group)
    assert member.group == "herons"
    assert member.agreed
    assert group_ranker.load(person.store) is None


def test_leaving_erases_the_key_and_keeps_the_ledger(group: Group, person: Person) -> None:
    """After `leave` there is neither key nor ranker, the ledger still counts, and the server takes no more."""
    member = person.join(group)
    person.sync()
    assert person.joining().leave(forget=False) is not None
    assert membership.load(person.store) is None
    assert group_ranker.load(person.store) is None
    assert len(ledger.entries(person.store)) == 1
    assert member.seed not in person.store.path.read_bytes()
    assert not any(member.seed in part.read_bytes() for part in person.store.path.parent.iterdir())


def test_being_forgotten_leaves_a_signed_receipt(group: Group, make_person: Make) -> None:
    """forget-me erases the rows on the server, and the device keeps what the server signed."""
    people = [make_person(), make_person()]
    for number, person in enumerate(people):
        person.see_pages(10, seed=number)
        person.join(group)
        person.sync()
    kept = people[0].joining().leave(forget=True)
    assert kept is not None
    assert kept.receipt.erased == {"updates": 1, "members": 1, "roster": 1}
    assert kept.receipt.method == "rollback"
    said = membership.receipt_in_words(kept.receipt)
    assert said.startswith("done: erased 1 update, 1 member, 1 roster row; method rollback")
    assert "; done" not in said
    assert membership.all_receipts(people[0].store) == [kept]


def test_a_device_without_a_group_says_so(person: Person) -> None:
    """Syncing or leaving without a membership is a clear error."""
    with pytest.raises(FederationError, match="belongs to no group"):
        person.sync()
    with pytest.raises(FederationError, match="belongs to no group"):
        person.joining().leave(forget=True)


@pytest.mark.parametrize(
    ("sql", "read", "said"),
    [
        ("UPDATE membership SET record = x'c1'", membership.load, "the membership in .* is damaged: .*; leave --local"),
        (
            "INSERT INTO group_ranker VALUES (1, x'00', x'c1')",
            group_ranker.load,
            "the group's ranker in .* is damaged: ",
        ),
        (
            "INSERT INTO receipts (request, record) VALUES ('', x'c1')",
            membership.all_receipts,
            "a receipt in .* is damaged: ",
        ),
        (
            "UPDATE meta SET value = x'c1' WHERE key = 'federation standing'",
            membership.load_standing,
            "what .* holds about the group is damaged: ",
        ),
    ],
)
def test_a_damaged_record_is_named(
    group: Group, person: Person, sql: str, read: Callable[[Store], object], said: str
) -> None:
    """Each record that cannot be read is an error of one line that says which one, and in which file."""
    person.join(group)
    person.sync()
    with person.store.transaction() as db:
        assert db.execute(sql).rowcount == 1
    with pytest.raises(FederationError, match=said):
        read(person.store)
