"""A device that is restored from a backup, and its group: nothing counts twice, nothing is undone, nothing is free."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from app import backup
from app.data_folder import MARKER
from app.federation import ledger, membership
from app.federation.failures import Declined
from app.paths import Paths
from app.store import Store
from federation_server.database import reading
from federation_server.tables import updates
from tests.app.federation.groups import Group, Person

Make = Callable[..., Person]


def paths_of(person: Person) -> Paths:
    folder = person.store.path.parent
    return Paths(config_dir=folder / "config", data_dir=folder)


def keep(person: Person, target: Path) -> Path:
    (person.store.path.parent / MARKER).touch()
    backup.write_backup(paths_of(person), target, now=1.0)
    return target


def restored(person: Person, source: Path, *, from_nothing: bool = False) -> None:
    """The device as a restore leaves it; `from_nothing`: after its state was lost."""
    path = person.store.path
    person.store.close()
    if from_nothing:
        path.unlink()
    backup.restore(paths_of(person), source)
    person.store = Store(path)


def n_updates(group: Group) -> int:
    with reading(group.made.engine) as connection:
        return len(connection.execute(select(updates.c.digest)).all())


def test_an_update_counts_once_and_is_paid_once(group: Group, person: Person, tmp_path: Path) -> None:
    """Restored to before the answer, over what is there or from nothing: one update, one entry of the ledger each."""
    person.join(group)
    before = keep(person, tmp_path / "before")
    assert person.sync().sent
    restored(person, before)
    assert len(ledger.entries(person.store)) == 1
    person.sync()
    assert (n_updates(group), len(ledger.entries(person.store))) == (1, 1)
    restored(person, before, from_nothing=True)
    assert len(ledger.entries(person.store)) == 0
    person.sync()
    assert (n_updates(group), len(ledger.entries(person.store))) == (1, 1)


def test_a_restore_makes_nobody_a_member_who_was_forgotten(group: Group, person: Person, tmp_path: Path) -> None:
    """The receipt and what was spent stay; where the state was lost as well, the server refuses and one line helps."""
    person.join(group)
    person.sync()
    member = keep(person, tmp_path / "member")
    person.joining().leave(forget=True)
    restored(person, member)
    assert membership.load(person.store) is None
    assert (len(membership.all_receipts(person.store)), len(ledger.entries(person.store))) == (1, 1)
    restored(person, member, from_nothing=True)
    with pytest.raises(Declined, match="`foltr-search leave` ends the membership here"):
        person.sync()
    person.joining().leave(forget=False)
    assert membership.load(person.store) is None
    assert len(ledger.entries(person.store)) == 1
