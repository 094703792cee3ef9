"""Syncing by itself: only as often as set, only with consent, and quietly when there is no network."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import pytest

from app.federation import ledger, membership, round_answer
from app.federation.background_sync import RETRY_SECONDS, BackgroundSync
from app.federation.failures import FederationError
from app.settings import Paths
from tests.app.federation.groups import Group, Person, hasty

Make = Callable[..., Person]


def background(person: Person, clock: Callable[[], float]) -> BackgroundSync:
    folder = person.store.path.parent
    return BackgroundSync(person.settings, Paths(folder, folder), by=hasty, clock=clock)


def test_it_syncs_when_due_and_only_with_consent(group: Group, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unasked it asks and does not sync; after a yes it answers, once the moment for it has come."""
    person.set(sync="hourly")
    person.join(group)
    moment = [time.time()]
    syncing = background(person, lambda: moment[0])
    question = syncing.question()
    assert question[0] == "Sync with herons by itself, hourly?"
    assert any("at most epsilon" in line for line in question)
    assert syncing.sync_when_due() is None
    syncing.answer(agreed=True)
    assert syncing.question() == ()
    news = syncing.sync_when_due()
    assert news is not None
    assert not news.important
    assert "answers round 1 after" in news.text
    assert ledger.entries(person.store) == ()
    assert syncing.sync_when_due() is None
    monkeypatch.setattr(round_answer, "moment", lambda told, chance: told.opened)
    membership.note_standing(person.store, synced=0)
    news = background(person, lambda: moment[0]).sync_when_due()
    assert news is not None
    assert news.important
    assert "answered round 1" in news.text
    assert len(ledger.entries(person.store)) == 1


def test_no_means_no(group: Group, person: Person) -> None:
    """After a no it neither asks nor syncs."""
    person.set(sync="daily")
    person.join(group)
    syncing = background(person, time.time)
    syncing.answer(agreed=False)
    assert syncing.question() == ()
    assert syncing.sync_when_due() is None
    assert ledger.entries(person.store) == ()


def test_off_is_off(group: Group, person: Person) -> None:
    """With federation.sync = "off" an earlier yes changes nothing."""
    person.join(group)
    syncing = background(person, time.time)
    syncing.answer(agreed=True)
    assert syncing.question() == ()
    assert syncing.sync_when_due() is None


def test_a_server_that_is_gone_is_tried_again_later(group: Group, make_person: Make) -> None:
    """Offline it says so without a notification, and waits a quarter of an hour."""
    person = make_person(sync="hourly", retries=0)
    person.join(group)
    group.stop()
    moment = [time.time()]
    syncing = background(person, lambda: moment[0])
    syncing.answer(agreed=True)
    news = syncing.sync_when_due()
    assert news is not None
    assert not news.important
    assert news.text.startswith("not synced:")
    moment[0] += RETRY_SECONDS - 1
    assert syncing.sync_when_due() is None
    moment[0] += 2
    assert syncing.sync_when_due() is not None


def test_a_clock_that_was_ahead_holds_nothing_up(group: Group, make_person: Make) -> None:
    """A try while the clock was a year ahead, and a sync that was written down then, are no reason to wait a year; from
    the next sync on it waits an hour."""
    person = make_person(sync="hourly")
    person.join(group)
    right, ahead = time.time(), time.time() + 365 * 86_400
    moment = [ahead]
    syncing = background(person, lambda: moment[0])
    syncing.answer(agreed=True)
    with pytest.raises(FederationError, match="clock"):
        syncing.sync_when_due()
    membership.note_standing(person.store, synced=int(ahead))
    moment[0] = right
    assert syncing.sync_when_due() is not None
    moment[0] += 3599
    assert syncing.sync_when_due() is None


def test_changed_terms_wait_for_the_user(group: Group, person: Person) -> None:
    """By itself the device never agrees to new terms: it sends nothing and says what to do."""
    person.set(sync="hourly")
    member = person.join(group)
    membership.save(person.store, msgspec.structs.replace(member, agreed="other", background="yes"))
    news = background(person, time.time).sync_when_due()
    assert news is not None
    assert "`foltr-search sync` shows it and asks" in news.text
    assert ledger.entries(person.store) == ()


def test_a_device_without_state_does_nothing(make_person: Make) -> None:
    """Before anything was indexed or joined there is nothing to ask and nothing to do."""
    person = make_person(sync="hourly")
    folder = person.store.path.parent / "elsewhere"
    syncing = BackgroundSync(person.settings, Paths(folder, folder))
    assert syncing.question() == ()
    assert syncing.sync_when_due() is None
    assert background(person, time.time).sync_when_due() is None
