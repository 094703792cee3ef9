"""The chain of members: continued only by who may, and checkable after someone was erased."""

from __future__ import annotations

import msgspec
import pytest

from foltr.federated.envelope import box_public
from foltr.federated.sealed import roster as chain
from foltr.federated.sealed.committee import cohort_of
from foltr.federated.sealed.roster import LEAVE, VOUCH, Roster, RosterError
from foltr.federated.wire import InviteVoucher, RosterEntry, digest
from tests.foltr.federated.sealed.sealed_groups import (
    GROUP,
    Person,
    join_entry,
    make_roster,
    member_of,
    person,
)


def leave_entry(state: Roster, who: Person, by: Person | None = None) -> RosterEntry:
    number, signer = member_of(state, who).number, by or who
    signature = signer.identity.sign(LEAVE, chain.leave_text(GROUP, number))
    return chain.leave_entry(state, number, member_of(state, signer).number, signature)


def vouch_entry(state: Roster, about: Person, by: Person) -> RosterEntry:
    member = member_of(state, about)
    signature = by.identity.sign(VOUCH, chain.vouch_text(GROUP, member))
    return chain.vouch_entry(state, member.number, member_of(state, by).number, signature)


def test_the_first_is_the_founder_and_others_need_a_voucher() -> None:
    """An administrator's invite makes a founder of the first, and of the next one who waits until a member vouches."""
    founder, waiting, invited = person(0), person(1), person(2)
    state = chain.extend_roster(chain.empty_roster(GROUP), [join_entry(chain.empty_roster(GROUP), founder)])
    state = chain.extend_roster(state, [join_entry(state, waiting)])
    state = chain.extend_roster(state, [join_entry(state, invited, founder)])
    assert [(m.device, m.vouched, m.voucher) for m in state.members.values()] == [
        (founder.device, True, -1),
        (waiting.device, False, -1),
        (invited.device, True, 0),
    ]
    state = chain.extend_roster(state, [vouch_entry(state, waiting, invited)])
    assert member_of(state, waiting).voucher == 2
    assert {m.device for m in state.vouched} == {founder.device, waiting.device, invited.device}


def test_who_waits_can_vouch_for_nobody() -> None:
    """Neither by an invite (which then counts as the administrator's) nor by an entry of its own."""
    state, _, _ = make_roster(1)
    waiting, third, other = person(1), person(2), person(3)
    state = chain.extend_roster(state, [join_entry(state, waiting)])
    assert not join_entry(state, third, waiting).vouched
    state = chain.extend_roster(state, [join_entry(state, other)])
    with pytest.raises(RosterError, match="nobody who is vouched"):
        chain.extend_roster(state, [vouch_entry(state, other, waiting)])


def forged(entry: RosterEntry, **body: object) -> RosterEntry:
    """The entry with another body, and the hash that fits it."""
    assert entry.body is not None
    changed = msgspec.structs.replace(entry.body, **body)
    return msgspec.structs.replace(entry, body=changed, body_hash=digest(changed))


def test_a_server_cannot_add_strangers() -> None:
    """A stranger's join that claims a voucher, a vouch that nobody signed, or a plain claim is refused."""
    state, _, _ = make_roster(5)
    stranger = person(9)
    entry = join_entry(state, stranger)
    with pytest.raises(RosterError, match="wrong about who vouched"):
        chain.extend_roster(state, [msgspec.structs.replace(entry, vouched=True)])
    claimed = msgspec.structs.replace(forged(entry, voucher=0, signature=b"x" * 64), vouched=True)
    with pytest.raises(RosterError, match="nobody vouched"):
        chain.extend_roster(state, [claimed])
    joined = chain.extend_roster(state, [entry])
    with pytest.raises(RosterError, match="nobody vouched"):
        chain.extend_roster(joined, [chain.vouch_entry(joined, 5, 0, b"x" * 64)])


def test_a_join_proves_the_invite_and_both_keys() -> None:
    """Another box key, another device key, or another invite's key than those that signed is refused."""
    state, _, people = make_roster(2)
    entry = join_entry(state, person(5), people[0])
    other = box_public(person(6).box)
    for body in ({"box_key": other}, {"device_key": other}, {"invite_key": other}, {"box_key": b"short"}):
        with pytest.raises(RosterError):
            chain.extend_roster(state, [forged(entry, **body)])


def test_an_invite_makes_one_member() -> None:
    """A second device with the same invite's secret is refused by everyone who verifies the chain, and so is one
    key twice."""
    state, _, people = make_roster(2)
    state = chain.extend_roster(state, [join_entry(state, person(5), people[0], token="secret")])
    with pytest.raises(RosterError, match="second time"):
        chain.extend_roster(state, [join_entry(state, person(6), people[0], token="secret")])
    with pytest.raises(RosterError, match="repeats"):
        chain.extend_roster(state, [join_entry(state, person(5), people[0], token="another")])


def test_only_its_own_or_a_members_signature_takes_someone_off() -> None:
    """The server alone cannot shrink a group: neither unsigned, nor by one who waits, nor with an old signature."""
    state, _, people = make_roster(3)
    waiting = person(7)
    state = chain.extend_roster(state, [join_entry(state, waiting)])
    with pytest.raises(RosterError, match="nobody signed"):
        chain.extend_roster(state, [chain.leave_entry(state, 1, 1, b"x" * 64)])
    with pytest.raises(RosterError, match="nobody who is vouched"):
        chain.extend_roster(state, [leave_entry(state, people[1], waiting)])
    own = chain.extend_roster(state, [leave_entry(state, people[1])])
    assert {m.number for m in own.members.values()} == {0, 2, 3}
    by_another = chain.extend_roster(own, [leave_entry(own, people[2], people[0])])
    assert [m.number for m in by_another.vouched] == [0]
    again = chain.extend_roster(by_another, [join_entry(by_another, people[1], people[0], token="again")])
    reused = leave_entry(state, people[1]).body
    assert reused is not None
    with pytest.raises(RosterError, match="nobody signed"):
        chain.extend_roster(again, [chain.leave_entry(again, 6, 6, reused.signature)])


def test_only_what_continues_the_pinned_head_is_taken() -> None:
    """Entries seen before are passed over; a gap, another past, or an altered body is refused."""
    state, entries, people = make_roster(4)
    assert chain.extend_roster(state, entries) == state
    fresh = join_entry(state, person(8), people[0])
    later = join_entry(chain.extend_roster(state, [fresh]), person(9), people[0])
    with pytest.raises(RosterError, match="does not continue"):
        chain.extend_roster(state, [later])
    with pytest.raises(RosterError, match="does not continue"):
        chain.extend_roster(state, [msgspec.structs.replace(fresh, previous="0" * 64)])
    assert fresh.body is not None
    other = msgspec.structs.replace(fresh.body, voucher=1)
    with pytest.raises(RosterError, match="altered"):
        chain.extend_roster(state, [msgspec.structs.replace(fresh, body=other)])


def test_what_is_remembered_equals_what_was_verified() -> None:
    """The server's own reading without signatures comes to the same roster."""
    state, entries, _ = make_roster(6)
    assert chain.stored_roster(GROUP, entries) == state


def test_an_erased_member_leaves_the_chain_whole() -> None:
    """Who left without having vouched can be erased; a device that pinned before and a newcomer come to the same."""
    before, entries, people = make_roster(5)
    leave = leave_entry(before, people[3])
    after = chain.extend_roster(before, [leave])
    assert chain.erasable([*entries, leave]) == {3}
    blank = [chain.erase_person(e) if e.number == 3 else e for e in [*entries, leave]]
    assert people[3].identity.public not in b"".join(msgspec.json.encode(e) for e in blank)
    newcomer = chain.extend_roster(chain.empty_roster(GROUP), blank)
    assert newcomer.head == after.head
    assert newcomer.members == after.members
    assert chain.extend_roster(before, blank) == after
    cohort_of(chain.extend_roster(newcomer, [join_entry(newcomer, person(8), people[0])]))


def test_who_vouched_for_others_stays_until_they_are_gone() -> None:
    """A voucher's key is needed by those whom it vouched for, and its own voucher's by it; then all may go."""
    state, entries, people = make_roster(1)
    a, b, c = person(1), person(2), person(3)
    for who, by in ((a, people[0]), (b, a), (c, b)):
        entries.append(join_entry(state, who, by))
        state = chain.extend_roster(state, entries[-1:])
    for who, wanted in ((a, set()), (b, set()), (c, {1, 2, 3})):
        entries.append(leave_entry(state, who))
        state = chain.extend_roster(state, entries[-1:])
        assert chain.erasable(entries) == wanted


def test_erasing_one_who_is_still_there_is_noticed() -> None:
    """A roster with a missing body but no leaving has no cohort: a server cannot make a group look smaller."""
    _, entries, _ = make_roster(6)
    blank = [chain.erase_person(e) if e.number == 4 else e for e in entries]
    hidden = chain.extend_roster(chain.empty_roster(GROUP), blank)
    with pytest.raises(RosterError, match="never left"):
        cohort_of(hidden)


def test_a_newcomer_is_told_where_its_inviter_stands() -> None:
    """A chain in which a present member was erased with a made-up leaving has the inviter's head or members not."""
    state, entries, people = make_roster(6)
    word = InviteVoucher(
        device_key=people[0].identity.public,
        roster_number=state.number,
        roster_head=state.head,
        members=chain.members_hash(state),
    )
    chain.check_inviter(state, word)
    blank = [chain.erase_person(e) if e.number == 4 else e for e in entries]
    false = chain.extend_roster(chain.empty_roster(GROUP), blank)
    assert false.head == state.head
    for other in (false, None):
        with pytest.raises(RosterError, match="another group"):
            chain.check_inviter(other, word)
    with pytest.raises(RosterError, match="not in the group"):
        chain.check_inviter(state, msgspec.structs.replace(word, device_key=b"k" * 32))
