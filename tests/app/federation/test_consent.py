"""Consent: to these very terms, told in plain words before anything is sent."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from sqlalchemy import select

from app.federation import group_ranker, ledger, membership
from app.federation.failures import ConsentError
from federation_server.database import reading
from federation_server.settings import SHARED
from federation_server.tables import members
from tests.app.federation.groups import Group, Person


def test_the_user_is_told_before_agreeing(group: Group, person: Person) -> None:
    """The question says what leaves, the epsilon of a round against both neighbours, and how many members it takes."""
    told: list[str] = []

    def agree(lines: object) -> bool:
        told.extend(lines)  # type: ignore[call-overload]
        return True

    person.joining().join(group.invite(), agrees=agree)
    text = " ".join(told)
    assert f"an update of {len(SHARED)} numbers" in text
    # z = 4: noise over signal z sqrt(d / N) = 4 sqrt(d / 1), and it takes z^2 d members
    assert f"{4 * np.sqrt(len(SHARED)):.1f} times" in text
    assert f"About {16 * len(SHARED)} are needed" in text
    assert "epsilon 0.93 against your absence" in text


def test_whoever_does_not_agree_is_no_member_afterwards(group: Group, person: Person) -> None:
    """Without consent the server forgets the device, and neither key nor ranker stays on it."""
    with pytest.raises(ConsentError, match="not joined"):
        person.joining().join(group.invite(), agrees=lambda lines: False)
    assert membership.load(person.store) is None
    assert group_ranker.load(person.store) is None
    with reading(group.installation.engine) as connection:
        assert connection.execute(select(members)).first() is None


def test_changed_terms_are_asked_about_again(group: Group, person: Person) -> None:
    """When the group's terms are not those that were agreed to, nothing is sent until the user agrees."""
    member = person.join(group)
    membership.save(person.store, msgspec.structs.replace(member, agreed="other terms"))
    with pytest.raises(ConsentError):
        person.sync(agrees=False)
    assert ledger.entries(person.store) == ()
    assert person.sync(agrees=True).sent
