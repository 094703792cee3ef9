"""Consent: to these very terms, told in plain words before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from sqlalchemy import select

from app.federation import group_ranker, ledger, membership
from app.federation.consent import at_most
from app.federation.failures import ConsentError
from federation_server.database import reading
from federation_server.settings import SHARED
from federation_server.tables import members
from foltr.privacy.accounting import gaussian_epsilon
from tests.app.federation.groups import Group, Person


def test_the_user_is_told_before_agreeing(group: Group, person: Person) -> None:
    """Who asks, what leaves, the epsilon of the period against both neighbours and the own budget, in a short page."""
    told: list[str] = []

    def agree(lines: Sequence[str]) -> bool:
        told.extend(lines)
        return True

    person.joining().join(group.invite(), agrees=agree)
    text = " ".join(told)
    assert text.startswith("Group herons at http://127.0.0.1:")
    assert f"of {len(SHARED)} noisy numbers" in text
    # z = 4 and rounds without an end: one note, mu = 1 / 4 against absence, twice that against replacement
    absent, other = (at_most(gaussian_epsilon(mu, 1e-5)) for mu in (0.25, 0.5))
    assert (
        f"One note reveals at most epsilon {absent} (delta 1e-05) against your having opened nothing, {other}" in text
    )
    assert "Your own budget (epsilon 10 within 365 days) is enough for 64 more notes" in text
    assert "what another device of yours sends, or a lost folder sent, comes on top unless" in text
    assert max(map(len, told)) < 300
    assert len(told) <= 12


def test_whoever_does_not_agree_is_no_member_afterwards(group: Group, person: Person) -> None:
    """Without consent the server forgets the device, and neither key nor ranker stays on it."""
    with pytest.raises(ConsentError, match="not joined"):
        person.joining().join(group.invite(), agrees=lambda lines: False)
    assert membership.load(person.store) is None
    assert group_ranker.load(person.store) is None
    assert membership.not_reached(person.store) == {}
    with reading(group.made.engine) as connection:
        assert connection.execute(select(members)).first() is None


def test_changed_terms_are_asked_about_again(group: Group, person: Person) -> None:
    """When the group's terms are not those that were agreed to, nothing is sent until the user agrees."""
    member = person.join(group)
    membership.save(person.store, msgspec.structs.replace(member, agreed="other terms"))
    with pytest.raises(ConsentError):
        person.sync(agrees=False)
    assert ledger.entries(person.store) == ()
    assert person.sync(agrees=True).sent
