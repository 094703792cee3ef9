"""Three rows of chips that narrow the results: by type, by folder, by time."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.strip import Strip
from textual.widget import Widget

from app.search.results import FacetCount, Facets
from app.tui.keys import bindings_of
from app.tui.messages import FacetChosen
from console.printable import safe_line
from console.wording import count, fit, short_path

FACETS = ("type", "folder", "time")
LABEL_WIDTH = 9
CHIP_WIDTH = 32
"""cells that one chip may take at most"""


class Chip(Struct, frozen=True):
    """One value to narrow to; "" stands for no narrowing."""

    value: str
    text: str


class FacetBar(Widget, can_focus=True):
    """Left and right choose a chip, up and down a row, Enter narrows."""

    HELP = "The filters. Arrows choose one, Enter narrows to it, Enter on it again removes it."
    DEFAULT_CSS = "FacetBar { height: 3; }"
    COMPONENT_CLASSES: ClassVar[set[str]] = {"facet--label", "facet--active", "facet--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("filter")

    def __init__(self, active: dict[str, str], *, id: str | None = None) -> None:
        """`active` is kept up to date."""
        super().__init__(id=id)
        self.active = active
        """what the results are narrowed to, by facet"""
        self._facets = Facets()
        self._row = 0
        self._columns = [0, 0, 0]

    def show_facets(self, facets: Facets) -> None:
        self._facets = facets
        self.refresh()

    def narrow(self, facet: str, value: str) -> None:
        """Narrow to a facet's value, or with "" no longer."""
        self.active[facet] = value
        self.refresh()

    def chips(self, facet: str) -> list[Chip]:
        """The chips of one row; the active value is there even when nothing matches it any more."""
        counts: tuple[FacetCount, ...] = {
            "type": self._facets.types,
            "folder": self._facets.folders,
            "time": self._facets.times,
        }[facet]
        active = self.active[facet]
        chips = [Chip("", "all")]
        if active and active not in {c.value for c in counts}:
            chips.append(Chip(active, fit(short_path(active) if facet == "folder" else safe_line(active), CHIP_WIDTH)))
        for facet_count in counts:
            number = count(facet_count.n_documents)
            label = fit(safe_line(facet_count.label), CHIP_WIDTH - len(number) - 1)
            chips.append(Chip(facet_count.value, f"{label} {number}"))
        return chips

    def column(self, row: int) -> int:
        """The chip under the cursor of one row; the chips change with every page."""
        return max(0, min(len(self.chips(FACETS[row])) - 1, self._columns[row]))

    def action_go(self, action: str) -> None:
        if action == "filter-choose":
            self._choose()
            return
        self._columns[self._row] = self.column(self._row) + {"filter-left": -1, "filter-right": 1}.get(action, 0)
        self._columns[self._row] = self.column(self._row)
        self._row = max(0, min(len(FACETS) - 1, self._row + {"filter-up": -1, "filter-down": 1}.get(action, 0)))
        self.refresh()

    def _choose(self) -> None:
        facet = FACETS[self._row]
        value = self.chips(facet)[self.column(self._row)].value
        self.post_message(FacetChosen(facet, "" if value == self.active[facet] else value))

    def on_click(self, event: events.Click) -> None:
        if not 0 <= event.y < len(FACETS):
            return
        for column, (left, right, _) in enumerate(self._placed(event.y)):
            if left <= event.x < right:
                self._row, self._columns[event.y] = event.y, column
                self._choose()
                return

    def render_line(self, y: int) -> Strip:
        base, width = self.rich_style, self.size.width
        if y >= len(FACETS):
            return Strip.blank(width, base)
        label = self.get_component_rich_style("facet--label")
        segments = [Segment(f" {FACETS[y]}".ljust(LABEL_WIDTH), label)]
        position = LABEL_WIDTH
        for column, (left, right, chip) in enumerate(self._placed(y)):
            if not right:
                continue  # the row has slid over it
            style = base
            if chip.value == self.active[FACETS[y]]:
                style = self.get_component_rich_style("facet--active")
            if self.has_focus and y == self._row and column == self.column(y):
                style = self.get_component_rich_style("facet--cursor")
            segments.append(Segment(" " * (left - position), base))
            text = chip.text if right <= width else f"{chip.text.rpartition(' ')[0]} …"  # half a number is another one
            segments.append(Segment(f" {fit(text, max(1, width - left - 2))} ", style))
            position = right
        return Strip(segments).adjust_cell_length(width, base)

    def _placed(self, row: int) -> list[tuple[int, int, Chip]]:
        """(left, right, chip) in cells; the row slides so that the chip under the cursor is in view."""
        chips = self.chips(FACETS[row])
        first = 0
        while True:
            placed, left = [], LABEL_WIDTH
            for chip in chips[first:]:
                right = left + cell_len(chip.text) + 2
                placed.append((left, right, chip))
                left = right + 1
            cursor = self.column(row) - first
            if cursor <= 0 or placed[cursor][1] <= self.size.width:
                break
            first += 1
        return [(0, 0, chip) for chip in chips[:first]] + placed
