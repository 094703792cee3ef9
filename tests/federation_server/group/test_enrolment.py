"""Invites that work once, and members that are pseudonyms."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from sqlalchemy import Engine, select

from federation_server.database import reading, writing
from federation_server.group import enrolment
from federation_server.refusals import Refused
from federation_server.tables import invites
from foltr.federated.envelope import Identity, pseudonym
from tests.federation_server.groups import enrolling

NOW = 1_000_000
ADA, OTHER = Identity(b"1" * 32), Identity(b"2" * 32)
KEY = ADA.public


def make_invite(engine: Engine, seconds: int = 3600) -> str:
    with writing(engine) as connection:
        return enrolment.invite(connection, note="for Ada", seconds=seconds, now=NOW)


def redeem(engine: Engine, token: str, who: Identity, now: int = NOW) -> enrolment.Member:
    with writing(engine) as connection:
        return enrolment.redeem(connection, enrolling(token, who), lifetime=None, now=now)


def test_an_invite_works_once(engine: Engine) -> None:
    """A second device with the same token is refused, and so is an unknown token."""
    token = make_invite(engine)
    assert redeem(engine, token, ADA).device == pseudonym(KEY)
    for wrong in (token, "unknown", ""):
        with pytest.raises(Refused) as refused:
            redeem(engine, wrong, OTHER)
        assert refused.value.reason == "bad-invite"


def test_a_lost_answer_may_be_asked_for_again(engine: Engine) -> None:
    """The same device redeeming again is the member it already is."""
    token = make_invite(engine)
    assert redeem(engine, token, ADA) == redeem(engine, token, ADA, NOW + 10)


def test_an_invite_ends(engine: Engine) -> None:
    """It is worthless from its last second on, and after it was revoked."""
    token = make_invite(engine, seconds=60)
    with pytest.raises(Refused):
        redeem(engine, token, ADA, NOW + 60)
    second = make_invite(engine)
    with writing(engine) as connection:
        assert enrolment.revoke_invite(connection, "", now=NOW) == 2
        assert enrolment.revoke_invite(connection, "%", now=NOW) == 0
    with pytest.raises(Refused):
        redeem(engine, second, ADA)


def test_tokens_are_not_kept(engine: Engine) -> None:
    """The table holds a hash from which nobody can redeem."""
    token = make_invite(engine)
    with reading(engine) as connection:
        rows = [str(tuple(row)) for row in connection.execute(select(invites))]
    assert len(rows) == 1
    assert token not in rows[0]


def test_an_invite_is_worth_nothing_without_its_secret(engine: Engine) -> None:
    """Who knows the public half alone, or brings a key that it does not hold, does not get in."""
    asked = enrolling(make_invite(engine), ADA)
    other = enrolling("unknown", OTHER)
    for bad in (
        msgspec.structs.replace(other, invite_key=asked.invite_key),
        msgspec.structs.replace(asked, device_key=OTHER.public),
        msgspec.structs.replace(asked, box_key=other.box_key),
        msgspec.structs.replace(asked, device_key=b"short"),
    ):
        with writing(engine) as connection, pytest.raises(Refused) as refused:
            enrolment.redeem(connection, bad, lifetime=None, now=NOW)
        assert refused.value.reason == "bad-invite"


def test_two_devices_racing_for_one_invite(engine: Engine) -> None:
    """Exactly one of eight devices that redeem the same token at once becomes a member."""
    token = make_invite(engine)

    def attempt(number: int) -> bool:
        try:
            redeem(engine, token, Identity(bytes([number]) * 32))
        except Refused:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1
    with reading(engine) as connection:
        assert len(enrolment.all_members(connection)) == 1


def test_an_ended_membership_stays_ended(engine: Engine) -> None:
    """A revoked device cannot come back with another invite, and does not count as active."""
    redeem(engine, make_invite(engine), ADA)
    with writing(engine) as connection:
        assert enrolment.end_membership(connection, pseudonym(KEY), now=NOW)
        assert not enrolment.end_membership(connection, pseudonym(KEY), now=NOW)
        assert enrolment.count_active(connection, now=NOW) == 0
    with pytest.raises(Refused):
        redeem(engine, make_invite(engine), ADA)


def test_who_was_invited_is_erased_with_the_member(engine: Engine) -> None:
    """The member is unknown, and the used invite, whose note may be a name, goes with it; others stay."""
    first, second = make_invite(engine), make_invite(engine)
    redeem(engine, first, ADA)
    redeem(engine, second, OTHER, NOW + 1)
    with writing(engine) as connection:
        assert enrolment.erase(connection, pseudonym(KEY)) == {"updates": 0, "members": 1}
        assert enrolment.member(connection, pseudonym(KEY)) is None
        assert [state.used for state in enrolment.all_invites(connection)] == [NOW + 1]


def test_only_members_in_good_standing_pass(engine: Engine) -> None:
    """Unknown, ended and expired members have each their reason."""
    with writing(engine) as connection:
        with pytest.raises(Refused) as refused:
            enrolment.active_member(connection, "nobody", now=NOW)
        assert refused.value.reason == "unknown-device"
        token = enrolment.invite(connection, note="", seconds=60, now=NOW)
        member = enrolment.redeem(connection, enrolling(token, ADA), lifetime=100, now=NOW)
        assert enrolment.active_member(connection, member.device, now=NOW + 99) == member
        with pytest.raises(Refused) as refused:
            enrolment.active_member(connection, member.device, now=NOW + 100)
        assert refused.value.reason == "revoked"
        enrolment.end_membership(connection, member.device, now=NOW)
        with pytest.raises(Refused):
            enrolment.active_member(connection, member.device, now=NOW)
