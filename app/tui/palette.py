"""The command palette: every action of the search screen by name, and each order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.command import DiscoveryHit, Hits, Provider
from textual.command import Hit as CommandHit

from app.search.results import ORDERS
from app.tui.bars.status_line import ORDER_NAMES
from app.tui.keys import actions_of, typed_action


class SearchCommands(Provider):
    """The actions that the screen offers."""

    async def discover(self) -> Hits:
        for name, help_text, action in self._commands():
            yield DiscoveryHit(name, partial(self._run, action), help=help_text)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, help_text, action in self._commands():
            score = matcher.match(name)
            if score > 0:
                yield CommandHit(score, matcher.highlight(name), partial(self._run, action), help=help_text)

    def _commands(self) -> Iterator[tuple[str, str, str]]:
        """(name, help, action) of each command."""
        without: frozenset[str] = getattr(self.screen, "without", frozenset())
        for action in actions_of("search"):
            if action.id not in without:
                yield action.title, action.description, typed_action(action.id)
        for order in ORDERS:
            yield f"Order: {ORDER_NAMES[order]}", "Sort the results so.", f"screen.order_by('{order}')"

    async def _run(self, action: str) -> None:
        await self.screen.run_action(action)
