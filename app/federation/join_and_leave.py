"""Entering and leaving a group.

Joining stores the new key before it asks, so that after a lost answer it can ask again with the same key.
Leaving erases the key and the group's ranker; the privacy ledger and the server's receipts stay.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from app.federation import consent, group_roster, membership, receipts, server_move
from app.federation.adoption import consider, note_newest
from app.federation.failures import GONE, MOVED, ConsentError, Declined, Distrusted, FederationError
from app.federation.server import Connect, Correspondence, Reach, former_member
from app.federation.sync import Sync
from app.federation.transport import Transport
from app.settings import Settings
from app.store import Store
from console.wording import iso_minute
from foltr.errors import FoltrError
from foltr.federated.wire import Invite, encode


def what_others_miss(store: Store) -> str:
    """What others may lose if this device leaves now, in a sentence; "" if no sealed round is being collected."""
    seen = membership.load_standing(store)
    if seen.phase != "collect" or seen.agreed_terms is None or seen.agreed_terms.mode == "open":
        return ""
    return (
        f"round {seen.round} is under way until {iso_minute(seen.deadline)}: without this device the others may be too "
        "few to add it up, and what they sent for it would be lost. If you can, leave when it is over"
    )


class JournalFinding(msgspec.Struct, frozen=True):
    """Whether a server keeps to a receipt."""

    request: str
    sentence: str
    holds: bool | None
    """None where the server could not be asked"""


class Admission(msgspec.Struct, frozen=True):
    """One device that enters or leaves a group."""

    store: Store
    settings: Settings
    by: Connect = Transport
    clock: Callable[[], float] = time.time

    @property
    def reach(self) -> Reach:
        return Reach(self.settings.federation, self.by, self.clock)

    def join(self, invite: Invite, *, agrees: consent.Ask) -> membership.Membership:
        """Become a member, learn the group's terms, and stay if the user agrees to them; then fetch its ranker.

        The server gets fresh keys and a proof of the invite before the user is asked: only members are told the terms.
        Raises ConsentError after leaving again when the user does not agree.
        """
        member = self._enrolled(invite)
        with self.reach.talk(member) as server:
            self._meet(server, invite)
            announced = server.announcement(membership.Standing())
            try:
                member = consent.ask(
                    self.store, member, announced.terms, self.settings.federation, agrees=agrees, now=int(self.clock())
                )
            except ConsentError:
                signed, _ = server.farewell(forget=True, number=self._number(server))
                membership.save_receipt(self.store, membership.keep(member, signed))
                membership.erase(self.store)
                raise ConsentError(
                    "not joined: the server was told to forget this device, its key is erased; the invite is used up"
                ) from None
            shown = group_roster.known(self.store, member.group_id).number
            membership.save_standing(
                self.store, msgspec.structs.replace(membership.Standing().seen(announced), roster_known=shown)
            )
            signed, newest = server.newest_model(announced)
            note_newest(self.store, announced, signed, newest)
            consider(self.store, self.settings, announced.terms, newest, now=int(self.clock()))
        return member

    def leave(self, *, forget: bool, at_once: bool = False) -> membership.KeptReceipt | None:
        """Add up what waits for this device, take leave of the group, then erase the key; the server's receipt.

        Without its sum the others' notes may be lost; but a list that must not be answered keeps nobody from leaving.
        Declined while a round needs this device, unless `at_once`. None if the server had already let this device go,
        as when its first answer was lost.
        """
        kept = None
        with server_move.following(self.store, self.reach), self.reach.talk(membership.member(self.store)) as server:
            with suppress(FoltrError):
                Sync(self.store, self.settings, lambda _: False, by=self.by, clock=self.clock).add_up(server)
            try:
                signed, _ = server.farewell(forget=forget, number=self._number(server), at_once=at_once)
            except Declined as refusal:
                if refusal.reason not in GONE:
                    raise
            else:
                kept = membership.keep(server.member, signed)
                membership.save_receipt(self.store, kept)
        membership.erase(self.store)
        return kept

    def _meet(self, server: Correspondence, invite: Invite) -> None:
        """Verify who is in the group; a device that is shown another group than its inviter's does not join."""
        try:
            group_roster.follow(self.store, server, voucher=invite.voucher)
        except Distrusted:
            membership.erase(self.store)
            raise

    def _number(self, server: Correspondence) -> int | None:
        """The number of this device's roster entry, which its signature ends; None where none is known."""
        try:
            me = group_roster.follow(self.store, server).of_device(server.member.device)
        except Distrusted:  # whatever the server shows as the roster must not keep anyone from leaving
            me = group_roster.known(self.store, server.member.group_id).of_device(server.member.device)
        return me.number if me is not None else None

    def progress(self) -> Sequence[membership.KeptReceipt]:
        """The receipts; those not yet done are asked for again."""
        for kept in membership.all_receipts(self.store):
            if kept.receipt.state != "done":
                with self.reach.talk(former_member(kept)) as server:
                    signed, _ = server.receipt(kept.receipt.request)
                membership.save_receipt(self.store, msgspec.structs.replace(kept, signed=encode(signed)))
        return membership.all_receipts(self.store)

    def findings(self) -> Sequence[JournalFinding]:
        """What the servers' journals say about the receipts of being forgotten; follows servers that moved."""
        given = [kept for kept in membership.all_receipts(self.store) if kept.receipt.request]
        return [self._finding(kept) for kept in given if kept.receipt.state != "waiting"]

    def _finding(self, kept: membership.KeptReceipt) -> JournalFinding:
        request = kept.receipt.request
        try:
            with self.reach.talk(former_member(kept)) as server:
                moved = server.moved()
                journal = receipts.read(lambda after: server.journal(request, after=after))
            seen, sentence = receipts.check(kept, journal)
            membership.save_receipt(self.store, seen)
            server_move.followed_by_receipt(self.store, seen, self.reach, moved)
        except Distrusted as error:
            return JournalFinding(request, str(error), holds=False)
        except FederationError as error:
            return JournalFinding(request, f"the journal was not looked at: {error}; {MOVED}", holds=None)
        return JournalFinding(request, sentence, holds=True)

    def _enrolled(self, invite: Invite) -> membership.Membership:
        """The membership, from a server that took this device in.

        A former application is resumed, as is a joining that was broken off at the question.
        """
        known = membership.load(self.store)
        if known is not None and known.group_id:
            if known.group_id == invite.group_id and not known.agreed:
                return known
            raise FederationError(f"this device belongs to the group {known.group} already; `foltr-search leave` first")
        fresh = membership.applicant(invite)
        if known is None or (known.address, known.fingerprint) != (fresh.address, fresh.fingerprint):
            known = fresh
        asking = msgspec.structs.replace(known, certificate=invite.certificate)
        membership.save(self.store, asking)
        with self.reach.talk(asking) as server:
            found = server.enrol(invite)
        member = msgspec.structs.replace(
            asking, group=membership.shown_name(found.group), group_id=found.group_id, server_key=found.server_key,
            joined=int(self.clock()),
        )  # fmt: skip
        membership.save(self.store, member)
        return member
