"""The line of keys at the bottom: as many actions as fit, the most important first, and always how to leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.widget import Widget

from app.tui.keys import Action, actions_of, is_letter, keys_of, typed_action

GAP = "  "
Label = tuple[Action, str, str]
"""an action, its key as it is shown, its title"""


class KeyLine(Widget):
    """One line; a click on an action is its key."""

    DEFAULT_CSS = "KeyLine { height: 1; }"
    COMPONENT_CLASSES: ClassVar[set[str]] = {"keys--key"}

    def __init__(self, keymap: Mapping[str, str], display: Callable[[str], str], *, without: frozenset[str]) -> None:
        """`display` writes a key as people do; the actions `without` are not there, for they do nothing here."""
        super().__init__()
        actions = [action for action in actions_of("search") if action.rank and action.id not in without]
        self._labels = [
            (action, display(key), action.title) for action in actions if (key := _everywhere(action, keymap))
        ]
        self._titles: dict[str, str] = {}

    def rename(self, action: str, title: str) -> None:
        """Call an action otherwise, as "Open 3"."""
        if self._titles.get(action) != title:
            self._titles[action] = title
            self.refresh()

    @property
    def shown(self) -> list[Label]:
        """What fits into the line, in the order of the table; the last one says how to leave."""
        labels = [(action, key, self._titles.get(action.id, title)) for action, key, title in self._labels]
        return fitting(labels, self.size.width)

    def render(self) -> Text:
        style = self.get_component_rich_style("keys--key", partial=True)
        text = Text(" ", no_wrap=True, end="")
        for _, key, title in self.shown:
            text.append(key, style=style)
            text.append(f" {title}{GAP}")
        return text

    async def on_click(self, event: events.Click) -> None:
        left = 1
        for label in self.shown:
            right = left + _width(label)
            if left <= event.x < right - len(GAP):
                await self.screen.run_action(typed_action(label[0].id))
                return
            left = right


def fitting(labels: list[Label], width: int) -> list[Label]:
    """Those of the highest rank that fit together into `width` cells, in their own order."""
    kept: set[str] = set()
    room = width - 1 + len(GAP)
    for label in sorted(labels, key=lambda label: label[0].rank):
        room -= _width(label)
        if room < 0:
            break
        kept.add(label[0].id)
    return [label for label in labels if label[0].id in kept]


def _width(label: Label) -> int:
    return cell_len(f"{label[1]} {label[2]}{GAP}")


def _everywhere(action: Action, keymap: Mapping[str, str]) -> str:
    """The first key that works while text is being typed; "" for none."""
    return next((key for key in keys_of(action, keymap) if not is_letter(key)), "")
