"""The command palette: every action of the search screen by name, and each order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Hits, Provider

from app.search.results import ORDERS
from app.tui.keys import actions_of
from app.tui.status_line import ORDER_NAMES

if TYPE_CHECKING:
    from app.tui.search_screen import SearchScreen


class SearchCommands(Provider):
    """What can be done on the search screen."""

    async def discover(self) -> Hits:
        for name, help_text, action in self._commands():
            yield DiscoveryHit(name, partial(self._run, action), help=help_text)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, help_text, action in self._commands():
            score = matcher.match(name)
            if score > 0:
                yield Hit(score, matcher.highlight(name), partial(self._run, action), help=help_text)

    @property
    def _search_screen(self) -> SearchScreen:
        from app.tui.search_screen import SearchScreen

        assert isinstance(self.screen, SearchScreen)
        return self.screen

    def _commands(self) -> Iterator[tuple[str, str, str]]:
        """(name, help, action) of each command."""
        for action in actions_of("search"):
            place = "app" if action.id == "quit" else "screen"
            yield action.title, action.description, f"{place}.{action.id.replace('-', '_')}"
        for order in ORDERS:
            yield f"Order: {ORDER_NAMES[order]}", "Sort the results so.", f"screen.order_by('{order}')"

    async def _run(self, action: str) -> None:
        await self._search_screen.run_action(action)
