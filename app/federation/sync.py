"""One sync with the group: answer its round, then see whether its newest ranker serves this device.

    announcement -> checked -> consent -> ledger brought up to the server's count -> the round's model | hang up
    privacy budget -> replay -> noise -> ledger and sealed bytes on disk -> a pause of random length
    -> bytes sent -> newest ranker | hang up -> tested on this device's own pages -> adopted or not -> blended

What the server sees is the same whatever was opened: the same requests over the same two connections, and an answer in
every round, at a moment that does not depend on the pages (app.federation.taking_part). In the background a round is
answered by the first sync after that moment. In a sealed group the roster is followed first, and a member of the
committee adds up what waits for it (app.federation.taking_part): one sync may do both.

No lock and no transaction is held while the network is waited for, so searching and learning go on meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from app.federation import consent, group_ranker, group_roster, ledger, membership, moving, taking_part
from app.federation.adoption import consider
from app.federation.consent import Ask
from app.federation.failures import ConsentError, Declined, Distrusted, FederationError, SpentError, Unreachable
from app.federation.ledger import LedgerEntry, Upload
from app.federation.membership import Membership
from app.federation.server import Connect, Correspondence, connect, corresponding, theta_of
from app.federation.taking_part import ReplayPages, RoundPlace, newest_pages, rounds_left
from app.settings import Settings
from app.store import Store
from console.wording import count, iso_day, iso_minute
from foltr.federated.sealed.sums import Occasion
from foltr.federated.wire import Accepted, Announcement, ModelRecord, encode

ROUND_ENDED = ("stale-round", "wrong-lineage", "wrong-model", "sealed-wrongly", "already-reported", "wrong-phase")
"""refusals after which an update is of no use any more, and the next round is another matter"""


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one sync did."""

    round: int
    sent: bool
    """whether the server has this device's update for the round, from now or from before"""
    said: tuple[str, ...]
    """sentences for a person"""
    refused: str = ""
    """why the privacy ledger, or its user, kept this device from sending, "" where they did not"""


@dataclass(frozen=True, slots=True)
class _Errand:
    """What the first connection of a sync brought."""

    told: Announcement
    upload: Upload | None
    """this device's answer to the round, where it was prepared before"""
    start: ModelRecord | None
    """what a new answer begins from, None when none is to be made"""
    newest: ModelRecord
    renamed: str
    """that the group has another name now, "" otherwise"""
    sentence: str
    """why nothing is to be made, "" otherwise"""
    refused: str
    """the same, where the budget or the user says so"""
    occasion: Occasion | None = None
    """the round, where the group is sealed and this device takes part"""
    summed: str = ""
    """what this device has added up, "" for nothing"""


@dataclass(frozen=True, slots=True)
class Sync:
    """Syncs one device; `agrees` is asked when the group's terms are new to its user."""

    store: Store
    settings: Settings
    agrees: Ask
    by: Connect = connect
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    at_once: bool = True
    """whether to answer now, or with a sync in the later part of the round's time (app.federation.taking_part)"""

    def run(self) -> SyncReport:
        """One sync; FederationError says what stood in its way, and is remembered for `federation status`."""
        federation = self.settings.federation
        known = membership.member(self.store)
        member, not_followed = moving.followed(self.store, known, federation, by=self.by, clock=self.clock)
        try:
            report = self._with(member)
        except FederationError as error:
            said = "; ".join(filter(None, (str(error), not_followed)))
            membership.note_standing(self.store, error=said)
            if not_followed and isinstance(error, Unreachable):
                raise Unreachable(said) from error
            raise
        if not_followed:
            report = replace(report, said=(not_followed, *report.said))
        synced = max(int(self.clock()), membership.load_standing(self.store).synced)
        membership.note_standing(self.store, synced=synced, error=report.refused)
        return report

    def _with(self, member: Membership) -> SyncReport:
        began = self.clock()
        with self._talk(member) as server:
            errand = self._errand(server)
        told, upload, newest = errand.told, errand.upload, errand.newest
        if errand.start is not None:
            upload = self._prepared(member, errand, errand.start)
            self.sleep(taking_part.pause(taking_part.chance(told, member), self.clock() - began))
        sent, sentence = told.received or (upload is not None and upload.state == "sent"), errand.sentence
        summed = [errand.summed]
        if upload is not None and upload.body is not None:
            with self._talk(member) as server:
                sent, sentence = self._send(server, told, upload)
                summed.append(self._add_up(server, errand))
                newest = server.newest_model(told)
        verdict = consider(self.store, self.settings, told.terms, newest, now=int(self.clock()))
        said = tuple(filter(None, (errand.renamed, *summed, sentence, verdict)))
        return SyncReport(told.round, sent, said, errand.refused)

    def _errand(self, server: Correspondence) -> _Errand:
        """Ask what the present round is, and for all that is needed to answer it."""
        if broken := taking_part.broken_word(self.store):
            raise Distrusted(broken)
        agreed = membership.load_standing(self.store).agreed_terms
        if agreed is not None and agreed.mode != "open":
            group_roster.follow(
                self.store, server
            )  # a restored server has its roster back before it says who is in a round
        told = self._told(server)
        renamed, now = membership.rename(self.store, told.group), int(self.clock())
        consent.ask(self.store, server.member, told.terms, self.settings.federation, agrees=self.agrees, now=now)
        moving.note(self.store, told.moved)
        self._catch_up(server.member, told)
        place, summed = self._place(server, told), ""
        if told.phase == "sum" and place.occasion is not None:
            summed = self._answer_list(server, told, place.occasion)
            told = self._told(server)  # this answer may have been the last one that was needed
            place = self._place(server, told)
        upload, start, sentence, refused = ledger.find_upload(self.store, told.lineage, told.round), None, "", ""
        if told.phase == "sum":
            sentence = f"round {told.round} is being added up"
        elif upload is not None:
            sentence = f"round {told.round} was answered before" if upload.body is None else ""
        elif told.received:
            how = (
                "this device's update was carried over to it"
                if told.carried
                else "by a state that this one is a copy of"
            )
            sentence = f"round {told.round} was answered before: {how}"
        else:
            try:
                sentence = self._why_not(server.member, told, place)
                if not sentence:
                    consent.ask_about_members(self.store, membership.member(self.store), told.terms, agrees=self.agrees)
                start = None if sentence else server.announced_model(told)
            except (SpentError, ConsentError) as error:  # the group's ranker is still of use
                refused = str(error)
        newest = server.newest_model(told)
        return _Errand(told, upload, start, newest, renamed, sentence, refused, place.occasion, summed)

    def _place(self, server: Correspondence, told: Announcement) -> RoundPlace:
        """Where this device stands in a sealed round; nowhere in an open group, or while the group rests."""
        if told.terms.mode == "open":
            return RoundPlace(None)
        taking_part.follow_rankers(self.store, server, told)
        taking_part.note_roster(self.store, server.member, told)
        if told.phase == "rest":
            return RoundPlace(None)
        return taking_part.place(self.store, server, told)

    def _answer_list(self, server: Correspondence, told: Announcement, occasion: Occasion) -> str:
        """Add up as a member of the committee; a sentence, "" where this device is not in it or was too late."""
        if occasion.cohort.point(server.member.device) is None:
            return ""
        try:
            return taking_part.add_up(self.store, server, told, occasion)
        except Declined as refusal:
            if refusal.reason not in ROUND_ENDED:
                raise
            return f"round {told.round} was added up without this device"

    def _add_up(self, server: Correspondence, errand: _Errand) -> str:
        """The same right after this device's own answer, which may have been the last one that was awaited."""
        if errand.occasion is None:
            return ""
        told = self._told(server)
        if told.phase != "sum" or (told.lineage, told.round) != (errand.told.lineage, errand.told.round):
            return ""
        return self._answer_list(server, told, errand.occasion)

    def _told(self, server: Correspondence) -> Announcement:
        """The present round; what an abandoned lineage had learned is dropped before anything else."""
        before = membership.load_standing(self.store)
        try:
            told = server.announcement(before)
        except Declined as refusal:
            group_roster.readmit(self.store, server, refusal)
            told = server.announcement(before)
        with self.store.transaction():
            # Another sync may have seen more in the meantime.
            present = membership.load_standing(self.store)
            if (told.lineage, told.round) >= (present.lineage, present.round):
                membership.save_standing(self.store, present.seen(told))
        ledger.settle_past(self.store, told.lineage, told.round)
        adopted = group_ranker.load(self.store)
        if adopted is not None and adopted.record.lineage < told.lineage:
            group_ranker.erase(self.store)
        return told

    def _catch_up(self, member: Membership, told: Announcement) -> None:
        """Charge what the server has had of this device and the ledger does not know, as after a restored state."""
        spent, now = ledger.entries(self.store), self._moment(member)
        planned = ledger.plan_entry(told.terms, lineage=0, round=0, now=now)
        known = sum(entry.group_id == planned.group_id and entry.time >= member.joined for entry in spent)
        if told.answered > known:
            most = ledger.most_missing(spent, planned, self.settings.federation)
            ledger.write_missing(self.store, planned, known=known, counted=told.answered, most=most)

    def _why_not(self, member: Membership, told: Announcement, place: RoundPlace) -> str:
        """Why this device does not answer the round, "" when it does; SpentError where the budget forbids it."""
        if told.phase == "rest":
            return f"the group rests until {iso_day(told.opens)}: its ranker stays, and nothing is sent"
        if place.why_not:
            return place.why_not
        cost, spent = self._cost(member, told, place.occasion), ledger.entries(self.store)
        if ledger.has(spent, cost):
            return f"sat out round {told.round}: it was answered before this device joined again"
        if told.purpose == "forget" and not any(entry.group_id == cost.group_id for entry in spent):
            return f"sat out round {told.round}: it forgets a member, and this device had not taken part before"
        if cost.exact_count and not self._pages(told).interactions:
            return f"sat out round {told.round}: no new pages, and the group's terms tell their number anyway"
        ledger.check_period(spent, cost, told.terms)
        ledger.check_budget(spent, cost, self.settings.federation)
        moment = taking_part.moment(told, taking_part.chance(told, member))
        if not self.at_once and self.clock() < moment:
            return f"answers round {told.round} after {iso_minute(moment)}; `sync --now` does at once"
        return ""

    def _prepared(self, member: Membership, errand: _Errand, start: ModelRecord) -> Upload:
        """This device's answer, on disk with its cost; without new pages it is noise alone."""
        told, theta = errand.told, theta_of(start)
        pages = self._pages(told)
        if errand.occasion is None:
            body = encode(taking_part.sealed_update(told, theta, pages, member))
        else:
            body = encode(taking_part.shared_update(errand.occasion, told, theta, pages, member))
        last = 0 if told.purpose == "forget" else pages.last
        upload = Upload(told.lineage, told.round, body, "waiting", last, len(pages.interactions))
        return ledger.write_upload(self.store, upload, self._cost(member, told, errand.occasion))

    def _pages(self, told: Announcement) -> ReplayPages:
        forgets = told.purpose == "forget"
        after = 0 if forgets else ledger.last_page_used(self.store, (told.lineage, *told.carried))
        most = told.terms.n_unlearn if forgets else told.terms.n_local
        spread = 1 if forgets else rounds_left(told.terms, told.round)
        return newest_pages(self.store, told.terms.manifest_hash, after=after, n=most, n_rounds=spread)

    def _cost(self, member: Membership, told: Announcement, occasion: Occasion | None) -> LedgerEntry:
        """Of a sealed round this device's part of the noise, which holds for the sum that anyone sees."""
        part = taking_part.part_of_noise(told.terms, occasion.cohort) if occasion is not None else None
        now = self._moment(member)
        return ledger.plan_entry(told.terms, lineage=told.lineage, round=told.round, now=now, mechanism=part)

    def _moment(self, member: Membership) -> int:
        """The time that goes into the ledger: a clock that went back must not give anything back."""
        seen = max(member.joined, membership.load_standing(self.store).synced, int(self.clock()))
        return ledger.latest_moment(ledger.entries(self.store), seen)

    def _send(self, server: Correspondence, told: Announcement, upload: Upload) -> tuple[bool, str]:
        """Hand the answer over; whether the server has it, and a sentence."""
        assert upload.body is not None
        try:
            accepted = (server.send if told.terms.mode == "open" else server.send_shared)(upload.body)
        except Declined as refusal:
            if refusal.reason not in ROUND_ENDED:
                raise
            ledger.settle_upload(self.store, upload, "late")
            return False, f"too late for round {upload.round} ({refusal.reason}); it counts as spent all the same"
        ledger.settle_upload(self.store, upload, "sent")
        pages = "1 page" if upload.n_interactions == 1 else f"{upload.n_interactions:,} pages"
        learned = f"learned from {pages}" if upload.n_interactions else "with noise alone: no new pages"
        return True, f"answered round {upload.round}, {learned} ({_how_far(told, accepted)})"

    def _talk(self, member: Membership) -> AbstractContextManager[Correspondence]:
        return corresponding(member, self.settings.federation, by=self.by, clock=self.clock)


def _how_far(told: Announcement, accepted: Accepted) -> str:
    """ "2 updates so far, 3 awaited until 2026-11-29 10:00" """
    awaited = max(told.wanted - accepted.received, 0)
    until = f", {awaited:,} awaited until {iso_minute(told.deadline)}" if awaited else ""
    return f"{count(accepted.received, 'update')} so far{until}"
