"""Pictures and pages of PDFs as rows of the preview, in the way that the terminal can show them.

They are drawn in a process of its own (app.tui.preview.rasteriser), which may take so much time and memory and no
more; what was overtaken is given up. All but `forget` is called in the worker of previews.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from app.tui.preview.graphics_protocols import (
    BLOCK_POINTS,
    CELL,
    MOST_COLUMNS,
    block_rows,
    deletion,
    placeholder_rows,
    sixel_rows,
    through_tmux,
    transmission,
)
from app.tui.preview.preview_rows import Piece, Row
from app.tui.preview.rasteriser import NO_PILLOW, Drawing, address_of, draw, files_of
from app.tui.terminal.terminal_capabilities import TerminalCapabilities, places_pictures
from console.extras import how_to_add
from console.printable import safe_line
from indexer.documents import FileEntry
from indexer.errors import ExtractionError

if TYPE_CHECKING:
    from indexer.confined.pool import WorkerPool

Way = Literal["kitty", "tmux", "sixel", "blocks", "off"]
"""by kitty's protocol, by the same through tmux, in sixels, as blocks, or not at all"""
HIGHEST = 48
"""rows that a picture takes at most"""
SECONDS = 1.5
"""of processor time for one picture; after twice that it is given up"""
MEMORY_MB = 1_024
MOST_KEPT = 24
"""pictures that the terminal holds; each takes the size of its points there"""
TMUX_SECONDS = 1.0
"""to wait for tmux"""


class Picture(Struct, frozen=True):
    """The rows of a picture or of one page."""

    rows: tuple[Row, ...]
    n_pages: int = 0
    """of the document; 0 where it cannot be shown, and the rows say why"""


def way_of(setting: str, terminal: TerminalCapabilities, env: Mapping[str, str]) -> Way:
    """How pictures are shown with a value of `screen.pictures` on this terminal."""
    if setting == "off" or "NO_COLOR" in env:
        return "off"
    all_colours = env.get("COLORTERM") in ("truecolor", "24bit")  # a picture's number is a colour
    if setting == "sixel" or (setting == "auto" and terminal.has_sixels and all(terminal.cell)):
        places = places_pictures(terminal.name) and all_colours
        return "kitty" if setting == "auto" and places else "sixel"
    if setting == "blocks" or not all_colours:
        return "blocks"
    if setting == "kitty":
        return "tmux" if "TMUX" in env else "kitty"
    if places_pictures(terminal.name):
        return "kitty"
    return "tmux" if terminal.name.startswith("tmux") and _tmux_hands_on() else "blocks"


def _tmux_hands_on() -> bool:
    """Whether the terminal around tmux places pictures, and tmux hands it what is meant for it and all colours."""
    outside = "#{client_termfeatures}\n#{client_termtype}"
    command = ["tmux", "show", "-Apv", "allow-passthrough", ";", "display", "-p", outside]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=TMUX_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    passes, features, outer, *_ = [*done.stdout.splitlines(), "", "", ""]
    return passes in ("on", "all") and "RGB" in features.split(",") and places_pictures(outer)


class Pictures:
    """Draws, and remembers what the terminal holds already."""

    def __init__(self, way: Way, *, cell: tuple[int, int] = (0, 0)) -> None:
        """`cell` is the size of one in points, across and down, where the terminal has told it."""
        self.way = way
        self._cell = cell if all(cell) and way == "sixel" else BLOCK_POINTS if way == "blocks" else CELL
        self._pool: WorkerPool[Drawing] | None = None
        self._held: OrderedDict[tuple[object, ...], tuple[int, Picture]] = OrderedDict()
        """(path, its time, page, width, height) -> the number of the picture and its rows, the newest last"""
        self._n_sent = 0
        self._unsent: list[str] = []

    def show(self, path: str, width: int, stop: threading.Event, page: int = 0, *, height: int = HIGHEST) -> Picture:
        """A picture, or a page counted from 0, in at most `width` cells and `height` rows.

        The reason instead where it cannot be shown; no row once `stop` is set.
        """
        if self.way == "off":
            return Picture(())
        width = max(1, min(width, MOST_COLUMNS))
        key = (path, _changed(path), page, width, height)
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key][1]
        across, down = self._cell
        drawing = self._draw(address_of(path, page, (width * across, height * down)), stop)
        if drawing is None:
            return Picture(())
        if isinstance(drawing, ExtractionError):
            advice = f"{NO_PILLOW}: {how_to_add('pictures')}"  # the process that draws cannot look what is installed
            why = advice if str(drawing) == NO_PILLOW else f"not shown: {drawing}"
            return Picture(tuple((Piece(line, "quiet"),) for line in wrap(safe_line(why), width)))
        columns, rows = -(-drawing.width // across), -(-drawing.height // down)
        number = self._send(drawing, columns, rows) if self.by_number else 0
        picture = Picture(self._rows(drawing, number, columns, rows), drawing.n_pages)
        self._held[key] = (number, picture)
        while len(self._held) > MOST_KEPT:
            _, (oldest, _) = self._held.popitem(last=False)
            self._unsent += [deletion(oldest)] if oldest else []
        return picture

    @property
    def by_number(self) -> bool:
        """The terminal holds the pictures itself."""
        return self.way in ("kitty", "tmux")

    @property
    def is_legible(self) -> bool:
        """A page can be read in its picture."""
        return self.way not in ("blocks", "off")

    def _rows(self, drawing: Drawing, number: int, columns: int, rows: int) -> tuple[Row, ...]:
        if self.by_number:
            return placeholder_rows(number, columns, rows)
        if self.way == "blocks":
            return block_rows(drawing)
        return tuple((Piece(" " * columns, image),) for image in sixel_rows(drawing, self._cell[1]))

    def take_unsent(self) -> str:
        """What the terminal must be given before the rows that were made are painted."""
        unsent, self._unsent = self._unsent, []
        wrap = through_tmux if self.way == "tmux" else str
        return "".join(map(wrap, unsent))

    def forget(self) -> None:
        """The terminal holds nothing any more: it was another program's for a while."""
        self._held.clear()
        self._unsent.clear()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()

    def _draw(self, address: str, stop: threading.Event) -> Drawing | ExtractionError | None:
        """None once `stop` is set."""
        if self._pool is None:
            self._pool = _make_pool()
        return next((made for _, made in self._pool.run([FileEntry(address, 0, 0, 0, 0)], stop)), None)

    def _send(self, drawing: Drawing, columns: int, rows: int) -> int:
        """Give the picture a number that no other program is likely to use."""
        self._n_sent = self._n_sent % 255 + 1
        number = (os.getpid() & 0xFFFF) << 8 | self._n_sent
        self._unsent += transmission(number, drawing, columns, rows)
        return number


def _make_pool() -> WorkerPool[Drawing]:
    """What draws; loaded for the first picture.

    multiprocessing's resource tracker inherits stderr, and Textual's stand-in for that is no file: it is started here.
    """
    from multiprocessing import resource_tracker

    from indexer.confined.pool import WorkerPool

    if os.name == "posix":
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            resource_tracker.ensure_running()
    return WorkerPool(draw, n_workers=1, seconds=SECONDS, memory_mb=MEMORY_MB, files_of=files_of)


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
