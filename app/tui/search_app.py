"""The Textual application: started with its real parts, its themes and keys, and ended with the terminal as it was."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from rich.console import Console, RenderableType
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.screen import Screen
from textual.widgets import Input

from app.clipboard import copy, terminal_sequence
from app.paths import typed_path
from app.search.results import ORDERS
from app.settings import Paths, Settings
from app.tui.background_indexing import Background
from app.tui.bars.status_lines import ORDER_NAMES
from app.tui.key_queue import KeyByKey
from app.tui.keys import BY_ID, actions_of, problems_of, typed_action, usable
from app.tui.messages import Copied
from app.tui.preview.preview_pane import PreviewBody
from app.tui.remembered_choices import Remembered, keep_remembered, read_remembered
from app.tui.screen_setup import LEFT, Setup, StoredHistory
from app.tui.search_screen import SearchScreen
from app.tui.terminal.controlling_terminal import on_the_terminal, outliving, watch_terminal
from app.tui.themes import DAY, NIGHT, problem_of, readable, theme_named
from console.printable import safe_line
from console.wording import count_vowel_signs

if TYPE_CHECKING:
    from app.federation.background_sync import BackgroundSync
    from app.learning.outcomes import Outcome
    from app.search.search import Search
    from app.tui.screen_setup import Picking
    from app.tui.terminal.terminal_capabilities import TerminalCapabilities

GONE = 129
"""the exit code where the terminal went away, that of SIGHUP"""
FAILED = 2
"""the exit code after a crash; 1 is that of a picker that found nothing"""
FEW_COLOURS = ("standard", "windows")
"""Rich's names of terminals with sixteen"""
NO_COLOR_THEME = "ansi-dark"
"""with NO_COLOR only the terminal's own two colours are used; this theme asks for no others"""


class FoltrApp(KeyByKey):
    """One search screen; it may be covered by help, statistics or the first start."""

    TITLE = "foltr-search"
    CSS_PATH = Path(__file__).with_name("styles.tcss")
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "f24"  # the search screen's own action opens it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "copy_or_quit", "Copy or quit", show=False, priority=True, system=True),
        Binding("ctrl+z", "suspend_process", "To the background", show=False, system=True),
        Binding(
            BY_ID["quit"].keys, "quit", BY_ID["quit"].title, id="quit", priority=True, tooltip=BY_ID["quit"].description
        ),
    ]

    def __init__(self, setup: Setup) -> None:
        # NO_COLOR is decided before the theme is known; True makes Textual strip colours instead of turning them grey,
        # which would print black on black wherever a theme leaves a colour to the terminal.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        count_vowel_signs()
        self.register_theme(NIGHT)
        self.register_theme(DAY)
        self.setup = setup
        self._began_with = ""
        """the theme at the start"""
        self.search_screen = SearchScreen(setup)
        self.crash_report = io.StringIO()
        self.error_console = Console(file=self.crash_report, markup=False, highlight=False, width=120)
        self.set_keymap(dict(setup.keymap))

    @property
    def crash(self) -> Exception | None:
        """The error that ended the program, if one did."""
        return self._exception

    def on_mount(self) -> None:
        self._choose_theme()
        loop = asyncio.get_running_loop()
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
            # Windows has fewer, and its consoles end a program in their own way.
            with contextlib.suppress(NotImplementedError, AttributeError):
                number = getattr(signal, name)
                loop.add_signal_handler(number, self.exit, 128 + number)
        if not self.is_headless and sys.__stdin__ is not None:
            watch_terminal(sys.__stdin__.fileno(), partial(self._terminal_is_gone, loop))
        self.push_screen(self.search_screen)

    def get_driver_class(self) -> type[Driver]:
        """Textual's own driver, changed so that it does not wait for a terminal that is gone."""
        return outliving(super().get_driver_class())

    def _terminal_is_gone(self, loop: asyncio.AbstractEventLoop) -> None:
        """Runs in a thread of its own, perhaps after the program has ended."""
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            loop.call_soon_threadsafe(self.exit, GONE)

    async def action_copy_or_quit(self) -> None:
        """Ctrl+C copies where something is marked, as everywhere else; otherwise it leaves."""
        marked = self.screen.get_selected_text()
        if not marked and isinstance(self.focused, Input):
            marked = self.focused.selected_text
        if marked:
            self.copy_to_clipboard(marked)
        else:
            await self.action_quit()

    def copy_to_clipboard(self, text: str) -> None:
        """Copy in a worker by whatever way works here; `Copied` says which one it was."""
        self._clipboard = text
        self.run_worker(
            lambda: self.call_from_thread(self._has_copied, text, copy(text)), thread=True, exit_on_error=False
        )

    def _has_copied(self, text: str, program: str) -> None:
        if not program:
            self.send(terminal_sequence(text))
        self.search_screen.post_message(Copied(text, program))

    def send(self, sequences: str) -> None:
        """Give the terminal escape sequences that show nothing by themselves."""
        if self._driver is not None:
            self._driver.write(sequences)
            self._driver.flush()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """A frame, then the images whose cells it has painted."""
        super()._display(screen, renderable)
        if screen is self.screen:
            for body in screen.query(PreviewBody):
                if images := body.take_images():
                    self.send(images)

    def get_key_display(self, binding: Binding) -> str:
        """Keys as people write them: F1, ^S, Alt+E."""
        shown = super().get_key_display(binding)
        if shown in ("^@", "^space"):
            return "^Space"
        return "+".join(map(_as_written, shown.split("+")))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The one useful command of Textual's own, and the actions that the search screen offers."""
        yield SystemCommand("Theme", "Choose the colours.", self.action_change_theme)
        if screen is self.search_screen:
            for action in actions_of("search"):
                if action.id not in self.search_screen.without:
                    do = partial(screen.run_action, typed_action(action.id))
                    yield SystemCommand(action.title, action.description, do)
            for order in ORDERS:
                sort = partial(self.search_screen.questions.order_by, order)
                yield SystemCommand(f"Order: {ORDER_NAMES[order]}", "Sort the results so.", sort)

    async def action_quit(self) -> None:
        """Leave; a picker is left with nothing chosen."""
        self.exit(LEFT if self.setup.picking else 0)

    def _choose_theme(self) -> None:
        setting = self.setup.settings.screen.theme
        wanted = self.setup.remembered.theme_for(setting)
        wanted = setting if wanted not in self.available_themes else wanted
        is_light, few = self.setup.terminal.is_light, self.console.color_system in FEW_COLOURS
        name = NO_COLOR_THEME if self.no_color else theme_named(wanted, is_light=is_light, few_colours=few)
        if name in self.available_themes:
            self.theme = name
        else:
            self.notify(problem_of(wanted), severity="warning", timeout=10, markup=False)
        self._began_with = self.theme

    def get_css_variables(self) -> dict[str, str]:
        """The theme's variables and the colour of lines between panes; in a terminal's own colours also an accent."""
        variables = super().get_css_variables()
        if not self.current_theme.ansi:
            return variables | {"rule": variables["panel"]} | readable(variables, is_dark=self.current_theme.dark)
        return variables | {
            "rule": "ansi_bright_black",
            "accent": "ansi_yellow" if self.current_theme.dark else "ansi_red",
        }

    def to_remember(self) -> Remembered:
        """How the screen is now, for the next start."""
        setting, before = self.setup.settings.screen.theme, self.setup.remembered
        chosen = (before.theme, before.theme_over) if self.theme == self._began_with else (self.theme, setting)
        return msgspec.structs.replace(self.search_screen.to_remember(), theme=chosen[0], theme_over=chosen[1])

    def forget_choices(self) -> None:
        """Begin anew with the settings."""
        self.setup = msgspec.structs.replace(self.setup, remembered=Remembered())
        self._choose_theme()


def _as_written(part: str) -> str:
    """A part of a key, as on a keyboard: ^S, Alt, PgUp."""
    if part.startswith("^") or not part.isascii() or len(part) == 1:
        return part.upper() if part.startswith("^") else part
    return {"pgup": "PgUp", "pgdn": "PgDn"}.get(part, part.capitalize())


def start(
    settings: Settings, paths: Paths, *, terminal: TerminalCapabilities, folder: str | None = None,
    picking: Picking | None = None, review: str | int = "",
) -> int:  # fmt: skip
    """Show the screen until the user leaves it, and give the exit code."""

    def open_engine() -> Search:
        from app.commands.command import load_numpy

        load_numpy()  # it and the index are loaded while the first frame is already shown
        from app.search.search import Search

        return Search(settings, paths, resident=True)

    def read_stats() -> Sequence[Outcome]:
        from app.learning import outcomes
        from app.store import Store

        with Store.for_searching(paths.state) as store:
            return outcomes.read(store)

    def make_group() -> BackgroundSync:
        from app.federation.background_sync import BackgroundSync

        return BackgroundSync(settings, paths)

    setup = Setup(
        settings=settings,
        data_dir=paths.data_dir,
        open_engine=open_engine,
        indexing=Background(settings, paths),
        history=StoredHistory(settings, paths),
        read_stats=read_stats,
        group=None if settings.federation.sync == "off" else make_group,
        folder=os.path.realpath(typed_path(folder)) if folder else "",
        keymap=usable(settings.screen.keys),
        problems=problems_of(settings.screen.keys),
        picking=picking,
        review=review,
        remembered=read_remembered(paths.data_dir) if settings.screen.remember else Remembered(),
        terminal=terminal,
    )
    app = FoltrApp(setup)
    code = show(app)
    if picking is None and app.crash is None:
        keep_remembered(paths.data_dir, app.to_remember() if settings.screen.remember else Remembered())
    return code


def show(app: FoltrApp) -> int:
    """Run the application; a crash is one line, or with FOLTR_DEBUG the whole traceback."""
    try:
        with on_the_terminal():  # Textual draws on stderr, which may be a file
            code = app.run()
    finally:
        app.search_screen.session.close()
        app.setup.indexing.stop()
    if app.crash is None or code == GONE:  # that keys cannot be read from a lost terminal is no crash
        return code or 0
    if os.environ.get("FOLTR_DEBUG"):
        print(app.crash_report.getvalue(), file=sys.stderr)
    print(f"foltr-search: the screen failed: {type(app.crash).__name__}: {safe_line(str(app.crash))}", file=sys.stderr)
    print("FOLTR_DEBUG=1 shows where; nothing that was indexed or learned is lost", file=sys.stderr)
    return FAILED
