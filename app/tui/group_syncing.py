"""Syncing with the group from time to time: in a worker of its own, so that nothing else waits for the network."""

from __future__ import annotations

from functools import partial

from textual import on

from app.tui.asking import Asking
from app.tui.consent_screen import ConsentScreen
from app.tui.engine import GroupSync
from app.tui.messages import ConsentWanted, Synced
from app.tui.status_line import StatusLine

LOOK_SECONDS = 60.0
"""time between two looks at whether a sync is due"""


class GroupSyncing(Asking):
    """A screen that syncs where the settings ask for it and the user has agreed."""

    def begin_syncing(self) -> None:
        """Ask the user where that was never done, then look from time to time whether a sync is due."""
        group = self.setup.group
        if group is not None:
            self.session.sync(partial(self._look_at_group, group))
            self.set_interval(LOOK_SECONDS, partial(self._look_again_at, group))

    def _look_at_group(self, group: GroupSync) -> None:
        """Runs in a worker."""
        lines = tuple(group.question())
        if lines:
            self.session.tell(ConsentWanted(lines))
        else:
            self._sync(group)

    def _look_again_at(self, group: GroupSync) -> None:
        self.session.sync(partial(self._sync, group))

    def _sync(self, group: GroupSync) -> None:
        """Runs in a worker."""
        news = group.sync_when_due()
        if news is not None:
            self.session.tell(Synced(news.text, news.important))

    @on(ConsentWanted)
    def _consent_wanted(self, message: ConsentWanted) -> None:
        self.app.push_screen(ConsentScreen(message.lines), self._consent_given)

    def _consent_given(self, agreed: bool | None) -> None:
        group = self.setup.group
        if group is not None and agreed is not None:
            self.session.sync(partial(self._answer_and_sync, group, agreed))

    def _answer_and_sync(self, group: GroupSync, agreed: bool) -> None:
        """Runs in a worker."""
        group.answer(agreed=agreed)
        self._sync(group)

    @on(Synced)
    def _synced(self, message: Synced) -> None:
        self.query_one(StatusLine).show_group(message.text)
        if message.important:
            self.notify(message.text, title="group", markup=False)
