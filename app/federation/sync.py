"""One sync with the group: answer its round, then see whether its newest ranker serves this device.

    announcement -> checked -> consent -> ledger brought up to the server's count -> the round's model | hang up
    privacy budget -> replay -> noise -> ledger and sealed bytes on disk -> a pause of random length
    -> bytes sent -> newest ranker | hang up -> tested on this device's own pages -> adopted or not -> blended

What the server sees is the same whatever was opened: the same requests over the same two connections, and an answer in
every round, at a moment that does not depend on the pages (app.federation.round_answer). In the background a round is
answered by the first sync after that moment. In a sealed group the roster is followed first, and a member of the
committee adds up what waits for it (app.federation.round_answer): one sync may do both.

No lock or transaction is held while waiting for the network, so searching and learning go on meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import msgspec

from app.federation import answering_device, consent, group_roster, ledger, membership, round_answer, server_move
from app.federation.adoption import consider, consider_known, follow_lineage, note_newest
from app.federation.failures import ConsentError, Declined, Distrusted, FederationError, SpentError
from app.federation.membership import Membership
from app.federation.round_answer import ReplayPages, RoundPlace, newest_pages, rounds_left
from app.federation.server import Connect, Correspondence, Reach, theta_of
from app.federation.terms import method_of
from app.federation.transport import Transport
from app.settings import Settings
from app.store import Store
from console.wording import count, iso_day, iso_minute
from foltr.federated.sealed.sums import Occasion
from foltr.federated.wire import Accepted, Announcement, ModelRecord, Sealed, SharedUpdate, encode, encode_vector

ROUND_ENDED = ("stale-round", "wrong-lineage", "wrong-model", "sealed-wrongly", "already-reported", "wrong-phase")
"""refusals after which an update is of no further use; the next round gets a new one"""


class SyncReport(msgspec.Struct, frozen=True):
    round: int
    sent: bool
    """whether the server has this device's update for the round, from now or from before"""
    said: tuple[str, ...]
    """sentences for a person"""
    refused: str = ""
    """why the privacy ledger or the user kept this device from sending, "" otherwise"""


class _Decision(msgspec.Struct, frozen=True):
    """What becomes of this device's answer to the present round."""

    upload: ledger.Upload | None = None
    """the answer, where it was prepared before"""
    start: ModelRecord | None = None
    """what a new answer begins from, None when none is to be made"""
    sentence: str = ""
    """why nothing is to be made, "" otherwise"""
    refused: str = ""
    """the same, where the budget or the user says so"""


class Sync(msgspec.Struct, frozen=True):
    """Syncs one device; `agrees` is asked when the group's terms are new to its user."""

    store: Store
    settings: Settings
    agrees: consent.Ask
    by: Connect = Transport
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    at_once: bool = True
    """whether to answer now, or with a sync in the later part of the round's time (app.federation.round_answer)"""
    meet: Callable[[], str] = str
    """exchanges with this person's other devices; returns why it could not, else ""; does nothing on a single device"""

    @property
    def reach(self) -> Reach:
        return Reach(self.settings.federation, self.by, self.clock)

    def run(self) -> SyncReport:
        """One sync; FederationError says what stood in its way, and is remembered for `federation status`.

        A device that does not hold the pen asks nothing: it uses what the holder has fetched.
        """
        self._meet()
        if not answering_device.holds(self.store):
            membership.member(self.store)
            tested = consider_known(self.store, self.settings, now=int(self.clock()))
            return SyncReport(membership.load_standing(self.store).round, False, tuple(filter(None, (tested,))))
        try:
            with server_move.following(self.store, self.reach) as not_followed:
                report = self._with(membership.member(self.store))
        except FederationError as error:
            membership.note_standing(self.store, error=str(error))
            raise
        if not_followed:
            report = msgspec.structs.replace(report, said=(not_followed, *report.said))
        synced = max(int(self.clock()), membership.load_standing(self.store).synced)
        membership.note_standing(self.store, synced=synced, error=report.refused)
        return report

    def _meet(self) -> None:
        """Exchange with the other devices what was spent, before anything leaves."""
        if trouble := self.meet():
            raise FederationError(f"nothing was sent: {trouble}")

    def _with(self, member: Membership) -> SyncReport:
        began, known = self.clock(), membership.load_standing(self.store).lost
        with self.reach.talk(member) as server:
            announced, entering = self._enter(server)
            announced, place, summed = self._help_to_sum(server, announced)
            decision = self._decide(server, announced, place)
            signed, newest = server.newest_model(announced)
        lost = membership.load_standing(self.store).lost
        upload, said = decision.upload, [*entering, summed, lost if lost != known else ""]
        if decision.start is not None:
            upload = self._prepared(member, announced, place.occasion, decision.start)
            self.sleep(round_answer.pause(round_answer.chance(announced, member), self.clock() - began))
        sent, sentence = announced.received or (upload is not None and upload.state == "sent"), decision.sentence
        if upload is not None and upload.body is not None:
            self._meet()
            with self.reach.talk(member) as server:
                sent, sentence = self._send(server, announced, upload, place.occasion)
                said += [sentence, self._add_up(server, announced, place.occasion)]
                signed, newest = server.newest_model(announced)
        else:
            said.append(sentence)
        note_newest(self.store, announced, signed, newest)
        said += [consider(self.store, self.settings, announced.terms, newest, now=int(self.clock()))]
        if announced.terms.mode != "open":
            roster = group_roster.known(self.store, member.group_id)
            said.append(group_roster.asks(group_roster.waiting_for(roster, member.device)))
        return SyncReport(announced.round, sent, tuple(filter(None, said)), decision.refused)

    def _enter(self, server: Correspondence) -> tuple[Announcement, tuple[str, ...]]:
        """The present round, once the user agrees to its terms and the ledger knows what was spent; sentences about a
        new name, a restored server, and rounds that this device did not know of."""
        if broken := round_answer.broken_word(self.store):
            raise Distrusted(broken)
        agreed = membership.load_standing(self.store).agreed_terms
        if agreed is not None and agreed.mode != "open":
            group_roster.follow(self.store, server)  # a restored server gets it back before it says who is in a round
        before, announced = membership.load_standing(self.store), self._announced(server)
        if restored := follow_lineage(self.store, server, announced):
            announced = self._announced(server)
        renamed, now = membership.rename(self.store, announced.group), int(self.clock())
        consent.ask(self.store, server.member, announced.terms, self.settings.federation, agrees=self.agrees, now=now)
        server_move.note(self.store, announced.moved)
        given_up = self._given_up(before.lineage, before.round, announced)
        return announced, (renamed, restored, given_up, self._catch_up(server.member, announced))

    def _given_up(self, lineage: int, number: int, announced: Announcement) -> str:
        """A sentence about this device's answer to round `number`, if the group went back to before it; else ""."""
        upload, goes_on = ledger.find_upload(self.store, lineage, number), lineage in announced.carried
        is_kept = announced.received or lineage == announced.lineage or (goes_on and announced.round > number)
        if is_kept or upload is None or upload.state != "sent":
            return ""
        return f"the group went back: if round {number} was not over by then, what this device sent for it is spent"

    def _help_to_sum(self, server: Correspondence, announced: Announcement) -> tuple[Announcement, RoundPlace, str]:
        """Add up what waits for the committee, if this device is in it; returns the round and its place after that."""
        place, summed = self._place(server, announced), ""
        if announced.phase == "sum" and place.occasion is not None:
            summed = self._answer_list(server, announced, place.occasion)
            announced = self._announced(server)  # this answer may have been the last one that was needed
            place = self._place(server, announced)
        return announced, place, summed

    def add_up(self, server: Correspondence) -> None:
        """Only add up what waits, before this device leaves."""
        if not round_answer.broken_word(self.store):
            self._help_to_sum(server, self._announced(server))

    def _decide(self, server: Correspondence, announced: Announcement, place: RoundPlace) -> _Decision:
        """Whether to answer the round, and from which ranker a new answer begins."""
        number, upload = announced.round, ledger.find_upload(self.store, announced.lineage, announced.round)
        if announced.phase == "sum":
            return _Decision(upload, sentence=f"round {number} is being added up")
        if upload is not None:
            lost = upload.state == "sent" and not announced.received
            told = ", but the server does not have it: what was sent was lost on the way, and is spent" if lost else ""
            sentence = f"round {number} was answered before{told}" if upload.body is None else ""
            try:
                if upload.state == "drafted":  # its noise is shared out among the members of now
                    member = membership.member(self.store)
                    consent.ask_about_members(self.store, member, announced.terms, agrees=self.agrees)
            except ConsentError as error:
                return _Decision(refused=str(error))
            return _Decision(upload, sentence=sentence)
        if announced.received:
            carried, copied = "this device's update was carried over to it", "by the folder that this one is a copy of"
            how = carried if announced.carried else copied
            return _Decision(sentence=f"round {number} was answered before: {how}")
        try:
            why_not = self._why_not(server.member, announced, place)
        except (SpentError, ConsentError) as error:  # the group's ranker is still of use
            return _Decision(refused=str(error))
        return _Decision(start=None if why_not else server.announced_model(announced), sentence=why_not)

    def _place(self, server: Correspondence, announced: Announcement) -> RoundPlace:
        """Where this device stands in a sealed round; nowhere in an open group, or while the group rests."""
        if announced.terms.mode == "open":
            return RoundPlace(None)
        round_answer.follow_rankers(self.store, server, announced)
        round_answer.note_roster(self.store, server.member, announced)
        if self._begins(server.member) or announced.phase == "rest":
            return RoundPlace(None)
        return round_answer.place(self.store, server, announced)

    def _answer_list(self, server: Correspondence, announced: Announcement, occasion: Occasion) -> str:
        """Add up as a member of the committee; a sentence, "" where this device is not in it or was too late."""
        if occasion.cohort.point(server.member.device) is None:
            return ""
        try:
            return round_answer.add_up(self.store, server, announced, occasion)
        except Declined as refusal:
            if refusal.reason == "wrong-list":
                return f"round {announced.round} is added up anew, because a message does not hold; sync once more"
            if refusal.reason not in ROUND_ENDED:
                raise
            return f"round {announced.round} is added up already"

    def _add_up(self, server: Correspondence, answered: Announcement, occasion: Occasion | None) -> str:
        """Add up right after this device's own answer, which may have been the last one awaited."""
        if occasion is None:
            return ""
        announced = self._announced(server)
        if announced.phase != "sum" or (announced.lineage, announced.round) != (answered.lineage, answered.round):
            return ""
        return self._answer_list(server, announced, occasion)

    def _announced(self, server: Correspondence) -> Announcement:
        """The present round; updates that wait for another round are given up."""
        before = membership.load_standing(self.store)
        announced = group_roster.asked(self.store, server, partial(server.announcement, before))
        with self.store.transaction():
            # Another sync may have seen more in the meantime.
            present = membership.load_standing(self.store)
            if (announced.lineage, announced.round) >= (present.lineage, present.round):
                membership.save_standing(self.store, present.seen(announced))
        ledger.settle_past(self.store, announced.lineage, announced.round)
        return announced

    def _catch_up(self, member: Membership, announced: Announcement) -> str:
        """Charge rounds that the server has had but the ledger does not know, as after a restore; a sentence."""
        spent, now = ledger.entries(self.store), self._moment(member)
        planned = ledger.plan_entry(announced.terms, lineage=0, round=0, now=now)
        known = sum(entry.group_id == planned.group_id and entry.time >= member.joined for entry in spent)
        if announced.answered <= known:
            return ""
        most = ledger.most_missing(spent, planned, self.settings.federation)
        n = ledger.write_missing(self.store, planned, known=known, counted=announced.answered, most=most)
        return f"counted as spent from now on: {count(n, 'round')} that the server has had from you" if n else ""

    def _why_not(self, member: Membership, announced: Announcement, place: RoundPlace) -> str:
        """Why this device does not answer the round, "" when it does; SpentError where the budget forbids it,
        ConsentError where its user does."""
        if begins := self._begins(member):
            raise SpentError(
                f"nothing is sent before {iso_day(begins)}: this device took the pen of one that may have spent it all"
            )
        if announced.phase == "rest":
            return f"the group rests until {iso_day(announced.opens)}: its ranker stays, and nothing is sent"
        if place.why_not:
            return place.why_not
        cost, spent = self._cost(member, announced, place.occasion), ledger.entries(self.store)
        if ledger.has(spent, cost):
            return f"sat out round {announced.round}: it was answered before this device joined again"
        if announced.purpose == "forget" and not any(entry.group_id == cost.group_id for entry in spent):
            return f"sat out round {announced.round}: it forgets a member, and this device had not taken part before"
        if cost.exact_count and not self._pages(announced).interactions:
            return f"sat out round {announced.round}: no new pages, and the group's terms tell their number anyway"
        ledger.check_period(spent, cost, announced.terms)
        ledger.check_budget(spent, cost, self.settings.federation)
        consent.ask_about_members(self.store, membership.member(self.store), announced.terms, agrees=self.agrees)
        consent.ask_about_list(self.store, agrees=self.agrees)
        moment = round_answer.moment(announced, round_answer.chance(announced, member))
        if not self.at_once and self.clock() < moment:
            return f"answers round {announced.round} after {iso_minute(moment)}; `sync --now` does at once"
        return ""

    def _prepared(
        self, member: Membership, announced: Announcement, occasion: Occasion | None, start: ModelRecord
    ) -> ledger.Upload:
        """This device's answer, on disk with its cost; without new pages it is noise alone."""
        pages, theta = self._pages(announced), theta_of(start)
        state: ledger.State = "waiting" if occasion is None else "drafted"
        if occasion is None:
            body = encode(round_answer.sealed_update(announced, theta, pages, member))
        else:
            local = round_answer.learned(announced, theta, pages, member)
            body = encode_vector(method_of(announced.terms).hidden(local))  # a draft without noise, which never leaves
        last = 0 if announced.purpose == "forget" else pages.last
        upload = ledger.Upload(announced.lineage, announced.round, body, state, last, len(pages.interactions))
        with self.store.transaction():
            answering_device.require(self.store)
            cost, spent = self._cost(member, announced, occasion), ledger.entries(self.store)
            if not ledger.has(spent, cost):  # else another process wrote it; the pen may have been away meanwhile
                ledger.check_budget(spent, cost, self.settings.federation)
            return ledger.write_upload(self.store, upload, cost)

    def _pages(self, announced: Announcement) -> ReplayPages:
        forgets = announced.purpose == "forget"
        after = 0 if forgets else ledger.last_page_used(self.store, (announced.lineage, *announced.carried))
        most = announced.terms.n_unlearn if forgets else announced.terms.n_local
        spread = 1 if forgets else rounds_left(announced.terms, announced.round)
        return newest_pages(self.store, announced.terms.manifest_hash, after=after, n=most, n_rounds=spread)

    def _cost(self, member: Membership, announced: Announcement, occasion: Occasion | None) -> ledger.LedgerEntry:
        """The round's ledger entry; a sealed one has this device's part of the noise, as anyone sees only the sum."""
        part = occasion.part if occasion is not None else None
        now = self._moment(member)
        return ledger.plan_entry(
            announced.terms, lineage=announced.lineage, round=announced.round, now=now, mechanism=part
        )

    def _begins(self, member: Membership) -> int:
        """Until when nothing is sent or added up, because the pen was lost; 0 once that is past."""
        now = self._moment(member)
        begins = answering_device.begin(self.store, self.settings.federation, now=now)
        return begins if now < begins else 0

    def _moment(self, member: Membership) -> int:
        """The time that goes into the ledger: a clock that went back must not give anything back."""
        seen = max(member.joined, membership.load_standing(self.store).synced, int(self.clock()))
        return ledger.latest_moment(ledger.entries(self.store), seen)

    def _send(
        self, server: Correspondence, announced: Announcement, upload: ledger.Upload, occasion: Occasion | None
    ) -> tuple[bool, str]:
        """Send the answer; returns whether the server has it, and a sentence."""
        try:
            if upload.state == "drafted" and upload.body is not None and occasion is not None:
                made = round_answer.shared_update(server, occasion, announced, upload.body)
                upload = ledger.finish_upload(self.store, upload, encode(made))
            if upload.state != "waiting" or upload.body is None:
                return upload.state == "sent", f"round {upload.round} cannot be answered by this device as it is"
            accepted = server.send(upload.body, Sealed if announced.terms.mode == "open" else SharedUpdate)
        except Declined as refusal:
            if refusal.reason not in ROUND_ENDED:
                raise
            if self._announced(server).answered <= announced.answered:
                ledger.settle_upload(self.store, upload, "late")
                return False, f"too late for round {upload.round} ({refusal.reason}); it counts as spent all the same"
            how_far = "the round closed with it; the server's first answer was lost"
        else:
            how_far = _how_far(announced, accepted)
        ledger.settle_upload(self.store, upload, "sent")
        pages = "1 page" if upload.n_interactions == 1 else f"{upload.n_interactions:,} pages"
        learned = f"learned from {pages}" if upload.n_interactions else "with noise alone: no new pages"
        return True, f"answered round {upload.round}, {learned} ({how_far})"


def _how_far(announced: Announcement, accepted: Accepted) -> str:
    """ "2 updates so far, 3 awaited until 2026-11-29 10:00" """
    awaited = max(announced.wanted - accepted.received, 0)
    until = f", {awaited:,} awaited until {iso_minute(announced.deadline)}" if awaited else ""
    return f"{count(accepted.received, 'update')} so far{until}"
