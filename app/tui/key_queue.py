"""Keys one after another, however fast they come: each finds the screen and the focus as the key before it left them.

Textual gives a key to the widget that has the focus when it arrives, and looks for a binding once it has bubbled up to
the application. So the second of two keys that arrive together reaches a panel already closed, or misses a new one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from textual import events
from textual._widget_navigation import Direction
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.dom import DOMNode
from textual.message_pump import MessagePump
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Input, OptionList, Static

from console.printable import safe_line

Found = TypeVar("Found")
LONGEST = 1.0
"""seconds to wait for a part of the screen that is busy with a key"""


class KeyByKey(App[int]):
    """An application that delivers a key, or pasted text, only after all effects of the one before it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._waiting: deque[events.Key | events.Paste] = deque()
        self._handing_out: asyncio.Task[None] | None = None
        self._n_handed = 0
        """events scheduled but not yet delivered: none may overtake them"""
        self._was_typed = False
        """whether the last one delivered was a letter for a text box"""

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, (events.Key, events.Paste)) or event.is_forwarded:
            await super().on_event(event)
            return
        is_busy = self._handing_out is not None and not self._handing_out.done()
        if is_busy and (self._waiting or self._n_handed or not (self._was_typed and self._is_typed(event))):
            self._waiting.append(event)
            return
        target, self._was_typed = self.focused or self.screen, self._is_typed(event)
        await super().on_event(event)
        if not is_busy:
            self._handing_out = asyncio.create_task(self._hand_out(target))

    async def _hand_out(self, target: DOMNode) -> None:
        """Deliver those that came meanwhile, each after the one before it is done; letters for one box together."""
        await self._settled(target)
        while self._waiting and self.screen_stack:
            event = self._waiting.popleft()
            target, self._was_typed = self.focused or self.screen, self._is_typed(event)
            self._n_handed += 1
            self.call_later(self._go, event)
            if not (self._was_typed and self._waiting and self._is_typed(self._waiting[0])):
                await self._settled(target)

    async def _go(self, event: events.Event) -> None:
        self._n_handed -= 1
        await super().on_event(event)

    def _is_typed(self, event: events.Event) -> bool:
        """Whether a text box takes it as a letter, which opens and closes nothing."""
        box = self.focused
        return (
            isinstance(event, events.Key)
            and isinstance(box, Input)
            and box.check_consume_key(event.key, event.character)
        )

    async def _settled(self, target: DOMNode) -> None:
        """Wait until the key has bubbled up from `target`, and screens and focus have changed as it wants."""
        await _passed(self)
        for pump in target.ancestors_with_self:
            await _passed(pump)
        for pump in (self, *self.screen_stack[-1:], self):  # none is left where the key has ended the program
            await _passed(pump)


async def _passed(pump: MessagePump) -> None:
    """Wait until all that was queued there is done; not at all if it takes no more messages."""
    passed = asyncio.Event()
    if pump.call_later(passed.set):
        try:
            await asyncio.wait_for(passed.wait(), LONGEST)
        except TimeoutError:
            return


class Panel(ModalScreen[ScreenResultType]):
    """A screen over the others that returns one answer; a second one, as from two clicks, would close the one below.

    A panel that only `shows` something is also closed by a click beside it.
    """

    shows: ClassVar[bool] = False

    def on_click(self, event: events.Click) -> None:
        if self.shows and self.get_widget_at(*event.screen_offset)[0] is self:
            self.dismiss()

    def read(self, what: Callable[[], Found], then: Callable[[Found], object]) -> None:
        """Read in a worker what may take a while, then show it, or why it cannot be read."""

        async def work() -> None:
            try:
                then(await asyncio.to_thread(what))
            except Exception as error:
                told = safe_line(str(error)) or type(error).__name__
                self.query_one(".reading", Static).update("It could not be read.")
                self.notify(told, title="Not read", severity="error", timeout=15, markup=False)

        self.run_worker(work())

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()


BETWEEN_BUTTONS = (
    Binding("left", "app.focus_previous", "The button before"),
    Binding("right", "app.focus_next", "The button after"),
)


class RowList(OptionList):
    """Rows to choose from; Textual would end the program where a key turns the page before they are laid out."""

    def _move_page(self, direction: Direction) -> None:
        if self._lines:
            super()._move_page(direction)
