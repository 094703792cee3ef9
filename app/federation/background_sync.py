"""Syncing unasked while the screen is up: only if the setting says how often, and only after the user agreed.

An answer is prepared by one sync and leaves with a later one, hours after it. The question is asked once;
`foltr-search federation background on|off` changes the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from app.federation import answering_device, consent, group_roster, ledger, membership
from app.federation.failures import ConsentError, Unreachable
from app.federation.server import Connect
from app.federation.sync import Sync
from app.federation.transport import Transport
from app.settings import Paths, Settings
from app.store import Store

SECONDS = {"hourly": 3600, "daily": 86_400}
RETRY_SECONDS = 900
"""pause after a sync that did not succeed"""


class News(Struct, frozen=True):
    """What became of a sync."""

    text: str
    important: bool
    """whether the user should see it now, not only in the status line"""


class BackgroundSync:
    """Syncs when it is due; called from one worker thread, again and again."""

    def __init__(
        self, settings: Settings, paths: Paths, *, by: Connect = Transport, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings, self._paths, self._by, self._clock = settings, paths, by, clock
        self._tried, self._pause = 0.0, 0.0
        """when it tried last, and the seconds until it may again; a clock that ran far ahead holds nothing up"""

    def question(self) -> Sequence[str]:
        """What to ask the user before the first sync; nothing where there is no group or the answer is known."""
        if self._settings.federation.sync not in SECONDS or not self._paths.state.exists():
            return ()
        with Store(self._paths.state) as store:
            member, terms = membership.load(store), membership.load_standing(store).agreed_terms
            if member is None or not member.agreed or member.background != "unasked" or terms is None:
                return ()
            if not answering_device.holds(store):
                return ()
            spent, now = ledger.entries(store), int(self._clock())
            here = group_roster.company(store, member)
            meaning = consent.describe(member, terms, self._settings.federation, spent, here, now=now)
            return (f"Sync with {member.group} by itself, {self._settings.federation.sync}?", *meaning)

    def answer(self, *, agreed: bool) -> None:
        with Store(self._paths.state) as store:
            consent.allow_background(store, membership.member(store), allowed=agreed)

    def sync_when_due(self) -> News | None:
        """Sync if the time has come and the user agreed; None when there was nothing to do."""
        every, now = SECONDS.get(self._settings.federation.sync), self._clock()
        if every is None or abs(now - self._tried) < self._pause or not self._paths.state.exists():
            return None
        with Store(self._paths.state) as store:
            member = membership.load(store)
            agreed = (
                answering_device.holds(store) and member is not None and member.agreed and member.background == "yes"
            )
            if not agreed or abs(now - membership.load_standing(store).synced) < every:
                return None
            self._tried, self._pause = now, RETRY_SECONDS
            return self._sync(store)

    def _sync(self, store: Store) -> News:
        from app.devices.own_devices import meet_others  # few have any

        try:
            report = Sync(
                store, self._settings, lambda lines: False, by=self._by, clock=self._clock, at_once=False,
                meet=partial(meet_others, self._paths, self._settings),
            ).run()  # fmt: skip
        except Unreachable as error:
            return News(f"not synced: {error}", important=False)
        except ConsentError as error:
            return News(str(error), important=True)
        self._pause = SECONDS[self._settings.federation.sync]
        if report.refused:
            return News(report.refused, important=True)
        return News("; ".join(report.said) or "synced", important=report.sent)
