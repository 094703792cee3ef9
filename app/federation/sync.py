"""One sync with the group: answer its round, then see whether its newest ranker serves this device.

    announcement -> checked -> consent -> privacy ledger -> replay -> ledger and sealed bytes on disk -> bytes sent
                 -> newest ranker -> tested on this device's own pages -> adopted or not -> blended

No lock and no transaction is held while the network is waited for, so searching and learning go on meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.federation import consent, group_ranker, ledger, membership
from app.federation.adoption import consider
from app.federation.consent import Ask
from app.federation.failures import Declined, FederationError, SpentError
from app.federation.ledger import Upload
from app.federation.replay import newest_pages, rounds_left, sealed_update
from app.federation.server import Connect, Correspondence, connect, corresponding, theta_of
from app.settings import Settings
from app.store import Store
from app.wording import count, iso_day, iso_minute
from foltr.federated.wire import Accepted, Announcement, encode

ROUND_ENDED = ("stale-round", "wrong-lineage", "wrong-model", "sealed-wrongly", "already-reported")
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
    """why the privacy ledger kept this device from sending, "" when it did not"""


@dataclass(frozen=True, slots=True)
class Sync:
    """Syncs one device; `agrees` is asked when the group's terms are new to its user."""

    store: Store
    settings: Settings
    agrees: Ask
    by: Connect = connect
    clock: Callable[[], float] = time.time

    def run(self) -> SyncReport:
        """One sync; FederationError says what stood in its way, and is remembered for `federation status`."""
        member = membership.member(self.store)
        try:
            with corresponding(member, self.settings.federation, by=self.by, clock=self.clock) as server:
                report = self._with(server)
        except FederationError as error:
            membership.note_standing(self.store, error=str(error))
            raise
        membership.note_standing(self.store, synced=int(self.clock()), error=report.refused)
        return report

    def _with(self, server: Correspondence) -> SyncReport:
        told = self._told(server)
        renamed = membership.rename(self.store, told.group)
        consent.ask(self.store, server.member, told.terms, self.settings.federation, agrees=self.agrees)
        refused = ""
        try:
            sent, sentence = self._answer(server, told)
        except SpentError as error:  # the group's ranker is still of use
            sent, sentence, refused = False, "", str(error)
        verdict = consider(self.store, self.settings, told.terms, server.newest_model(told), now=int(self.clock()))
        return SyncReport(told.round, sent, tuple(line for line in (renamed, sentence, verdict) if line), refused)

    def _told(self, server: Correspondence) -> Announcement:
        """The present round; what an abandoned lineage had learned is dropped before anything else."""
        before = membership.load_standing(self.store)
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

    def _answer(self, server: Correspondence, told: Announcement) -> tuple[bool, str]:
        """Take part in the round; whether the server has an update of this device, and a sentence."""
        if told.phase == "rest":
            return False, f"the group rests until {iso_day(told.opens)}: its ranker stays, and nothing is sent"
        upload = ledger.find_upload(self.store, told.lineage, told.round)
        if upload is None and told.received:
            return True, f"round {told.round} was answered before: this device's update was carried over to it"
        if upload is None:
            prepared = self._prepared(server, told)
            if isinstance(prepared, str):
                return False, prepared
            upload = prepared
        if upload.body is None:
            return upload.state == "sent", f"round {told.round} was answered before"
        try:
            accepted = server.send(upload.body)
        except Declined as refusal:
            if refusal.reason not in ROUND_ENDED:
                raise
            ledger.settle_upload(self.store, upload, "late")
            return False, f"too late for round {told.round} ({refusal.reason}); it counts as spent all the same"
        ledger.settle_upload(self.store, upload, "sent")
        pages = "1 page" if upload.n_interactions == 1 else f"{upload.n_interactions:,} pages"
        return True, f"answered round {told.round}, learned from {pages} ({_how_far(told, accepted)})"

    def _prepared(self, server: Correspondence, told: Announcement) -> Upload | str:
        """This device's update, on disk with its cost; or why it sits the round out."""
        cost = ledger.plan_entry(told.terms, lineage=told.lineage, round=told.round, now=int(self.clock()))
        spent = ledger.entries(self.store)
        if ledger.has(spent, cost):
            return f"sat out round {told.round}: it was answered before this device joined again"
        forgets = told.purpose == "forget"
        if forgets and not any(entry.group_id == cost.group_id for entry in spent):
            return f"sat out round {told.round}: it forgets a member, and this device had not taken part before"
        after = 0 if forgets else ledger.last_page_used(self.store, (told.lineage, *told.carried))
        most = told.terms.n_unlearn if forgets else told.terms.n_local
        spread = 1 if forgets else rounds_left(told.terms, told.round)
        pages = newest_pages(self.store, told.terms.manifest_hash, after=after, n=most, n_rounds=spread)
        fewest = 1 if forgets else min(self.settings.federation.min_interactions, most)
        if len(pages.interactions) < fewest:
            return f"sat out round {told.round}: {len(pages.interactions)} new pages, wanted {fewest}"
        ledger.check(spent, cost, self.settings.federation)
        theta = theta_of(server.announced_model(told))
        body = encode(sealed_update(told, theta, pages, device=server.member.device))
        last = 0 if forgets else pages.last
        upload = Upload(told.lineage, told.round, body, "waiting", last, len(pages.interactions))
        return ledger.write_upload(self.store, upload, cost)


def _how_far(told: Announcement, accepted: Accepted) -> str:
    """ "2 updates so far, 3 awaited until 2026-11-29 10:00" """
    awaited = max(told.wanted - accepted.received, 0)
    until = f", {awaited:,} awaited until {iso_minute(told.deadline)}" if awaited else ""
    return f"{count(accepted.received, 'update')} so far{until}"
