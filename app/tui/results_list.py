"""The list of results: three lines each (title and marks; snippet; author, path, type and date), drawn in view only.

Only visible rows are styled and only visible rows ask for a snippet, so that a page of any length appears at once.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.reactive import reactive
from textual.strip import Strip

from app.search.results import Hit, ResultPage, Snippet
from app.tui.keys import BY_ID, actions_of, typed_action
from app.tui.line_view import LineView
from app.tui.marks import Marks
from app.tui.messages import HitChosen, HitSelected, RowsShown, SnippetsMade
from console.printable import safe_line
from console.wording import also_as, columns, day, fit, fit_path, in_thread, minute_of, short_path, size

HEIGHT = 3
"""lines of one result"""
LEAST_TITLE = 24
"""cells that a title keeps before it gives way to why the result stands there"""
LEAST_PLACE = 20
"""cells that a path keeps before it gives way to an author; of a mail half of them: who sent it says more"""
NO_TEXT = "no text inside"
TOLD = frozenset({"artist", "album", "genre", "year", "duration", "camera", "place", "taken", "subject", "pixels"})
"""properties that a row without a text of its own shows"""
KINDS: Mapping[str, str] = {
    **dict.fromkeys(("mail", "calendar"), "mail"),
    **dict.fromkeys(("source", "notebook"), "source"),
    **dict.fromkeys(("spreadsheet", "data"), "table"),
    **dict.fromkeys(("pdf", "document", "presentation", "ebook"), "paper"),
    **dict.fromkeys(("image", "audio", "video"), "media"),
}
"""the colour of a type's name; what is plain text has none"""


@dataclass(frozen=True, slots=True)
class RowStyles:
    """The styles of one row, each complete."""

    base: Style
    bar: Style
    title: Style
    snippet: Style
    match: Style
    dim: Style
    mark: Style
    warning: Style
    kinds: Mapping[str, Style] = field(default_factory=dict)
    """by the values of KINDS"""


def author_of(hit: Hit) -> str:
    """Who wrote it, as "Ann Lee" of "Ann Lee <ann@example.org>"; "" where nobody is named."""
    name, _, address = safe_line(hit.author).partition("<")
    return name.strip(" \"'") or address.rstrip("> ")


def title_of(hit: Hit) -> str:
    """The title, or the name of the file where a document has none; a part of a file says which."""
    name = hit.title or short_path(hit.path).rsplit(os.sep, 1)[-1]
    return safe_line(name).strip() or "untitled"


def known_of(hit: Hit) -> str:
    """What describes a document that has no text, as "Nina Simone · Pastel Blues"; "" where nothing does."""
    named = [minute_of(value) if name == "taken" else value for name, value in hit.properties if name in TOLD]
    return safe_line(" · ".join(dict.fromkeys(named)))


def marks_of(hit: Hit, why: str) -> str:
    """What is special about a result: why it stands there, its thread, copies, other formats, a file that is gone."""
    copies = f"+{len(hit.copies)}" if hit.copies else ""
    marks = ("file is gone" if hit.missing else "", why, in_thread(hit.n_in_thread), copies, also_as(hit.twins))
    return "  ".join(mark for mark in marks if mark)


def row_lines(
    hit: Hit, *, snippet: Snippet | None, why: str, words: tuple[str, ...], width: int, styles: RowStyles, now: float,
    chosen: bool, sized: bool = False, marked: bool = False,
) -> tuple[Strip, Strip, Strip]:  # fmt: skip
    """The three lines of one result, each exactly `width` cells wide; `words` are marked wherever they stand.

    `sized`: with the size of the file.
    """
    bar = (("▌" if chosen else " ") + ("●" if marked else " "), styles.bar)
    room = max(0, width - 3)
    marks = marks_of(hit, why)
    if room - cell_len(marks) < LEAST_TITLE:
        marks = marks_of(hit, "")
    if cell_len(marks) > room // 2:  # a row without its title says nothing
        marks = "gone" if hit.missing else f"({hit.n_in_thread})" if hit.n_in_thread > 1 else ""
    title_room = room - (cell_len(marks) + 2 if marks else 0)
    title_style = styles.title + Style(strike=True, bold=False) if hit.missing else styles.title
    first = [bar, *_marked(fit(title_of(hit), title_room), words, title_style, styles.match)]
    right = [
        (size(hit.size) + " · " if sized else "", styles.dim),
        (hit.type, styles.kinds.get(KINDS.get(hit.type, ""), styles.dim)),
        (f" · {date}" if (date := day(hit.modified, now)) else "", styles.dim),
    ]
    third = [
        bar,
        *_place(
            hit, snippet.heading if snippet else "", words, room - sum(columns(text) for text, _ in right) - 2, styles
        ),
    ]
    return (
        _line(first, [(marks, styles.warning if hit.missing else styles.mark)], width, styles.base),
        _second_line(hit, snippet, words, bar=bar, width=width, styles=styles),
        _line(third, right, width, styles.base),
    )


def _second_line(
    hit: Hit, snippet: Snippet | None, words: tuple[str, ...], *, bar: tuple[str, Style], width: int, styles: RowStyles
) -> Strip:
    """The snippet, or of a document that has no text what is known of it."""
    room = max(0, width - 3)
    if snippet is None or snippet.text.strip() or hit.type == "mail":
        return _snippet_line(bar, snippet, room=room, width=width, styles=styles)
    known = known_of(hit)
    told = _marked(fit(known, room), words, styles.snippet, styles.match) if known else [(NO_TEXT, styles.dim)]
    return _line([bar, *told], [], width, styles.base)


def _place(hit: Hit, heading: str, words: tuple[str, ...], room: int, styles: RowStyles) -> Iterator[tuple[str, Style]]:
    """Who wrote it, where there is room, where it lies, and the heading over the passage."""
    least = LEAST_PLACE // 2 if hit.type == "mail" else LEAST_PLACE
    author = fit(author_of(hit), room - least - 3)
    if author and room >= 2 * least:
        yield from _marked(author, words, styles.snippet, styles.match)
        yield " · ", styles.dim
        room -= columns(author) + 3
    place = short_path(mailbox_of(hit)) + "".join(f" › {safe_line(one)}" for one in (hit.part, heading) if one)
    yield from _marked(fit_path(place, max(8, room)), words, styles.dim, styles.match)


def mailbox_of(hit: Hit) -> str:
    """The path, or of a mail the Maildir that it lies in: the name of its file says nothing."""
    folder = os.path.dirname(hit.path)
    in_maildir = hit.type == "mail" and not hit.part and os.path.basename(folder) in ("cur", "new")
    return os.path.dirname(folder) if in_maildir else hit.path


def _marked(text: str, words: tuple[str, ...], style: Style, match: Style) -> list[tuple[str, Style]]:
    """A text in pieces, those that are matches in the style of a match."""
    from app.search.snippets import pieces  # it needs numpy, which the first frame is painted without

    return [(piece, match if is_match else style) for piece, is_match in pieces(text, words)]


def _line(left: Iterable[tuple[str, Style]], right: Iterable[tuple[str, Style]], width: int, base: Style) -> Strip:
    """`left` from the left edge and `right` up to one cell before the right edge."""
    lefts = [(text, style) for text, style in left if text]
    rights = [(text, style) for text, style in right if text]
    used = sum(cell_len(text) for text, _ in (*lefts, *rights))
    gap = (" " * max(1, width - 1 - used), base)
    strip = Strip([Segment(text, style) for text, style in (*lefts, gap, *rights, (" ", base))], used + len(gap[0]) + 1)
    return strip.adjust_cell_length(width, base)


def _snippet_line(
    bar: tuple[str, Style], snippet: Snippet | None, *, room: int, width: int, styles: RowStyles
) -> Strip:
    text = Text(safe_line(snippet.text) if snippet else "", style=styles.snippet)
    for start, end in snippet.spans if snippet else ():
        text.stylize(styles.match, start, end)
    text.truncate(room, overflow="ellipsis")
    line = Text.assemble(bar, text)
    return Strip([*_segments(line)]).adjust_cell_length(width, styles.base)


def _segments(text: Text) -> Iterable[Segment]:
    """The segments of a text that was already cut to its room, without a console's own wrapping."""
    cuts = sorted({0, len(text.plain), *(edge for span in text.spans for edge in (span.start, span.end))})
    for start, end in pairwise(cuts):
        over = (span.style for span in text.spans if span.start <= start and end <= span.end)
        style = Style.combine([Style.null(), *(one for one in over if isinstance(one, Style))])
        yield Segment(text.plain[start:end], style)


KEPT_SNIPPETS = 500

SnippetKey = tuple[int, tuple[str, ...], str]


class ResultsList(LineView, can_focus=True):
    """The results of one page, with a cursor."""

    HELP = "The results. Enter opens the selected one; letters act on it; Esc goes back to the search box."
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "results--title",
        "results--snippet",
        "results--match",
        "results--dim",
        "results--mark",
        "results--warning",
        "results--bar",
        "results--chosen",
        *(f"results--{kind}" for kind in KINDS.values()),
        "results--selected",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(action.keys, action.id.replace("-", "_"), action.description, show=False, id=action.id)
            for action in actions_of("list")
        ),
        *(
            Binding(BY_ID[name].keys, typed_action(name), BY_ID[name].title, id=name, tooltip=BY_ID[name].description)
            for name in ("open", "edit", "copy")
        ),
    ]

    cursor: reactive[int] = reactive(0, init=False)
    """row of the selected result; 0 for the first"""

    def __init__(self, *, now: float | None = None, id: str | None = None) -> None:
        """`now` is the moment that dates are told from, for screenshots; None for the real one."""
        super().__init__(id=id)
        self.page: ResultPage | None = None
        self._now = now
        self._snippets: OrderedDict[SnippetKey, Snippet] = OrderedDict()
        self._reasons: dict[int, str] = {}
        """row of the page shown -> why it stands there"""
        self._asked: set[int] = set()
        self._asked_width = 0
        """characters of the snippets that were asked for"""
        self._lines: dict[tuple[int, bool, bool], tuple[Strip, Strip, Strip]] = {}
        self._row_styles: dict[tuple[bool, bool], RowStyles] = {}
        """by whether the row is chosen and the list has the focus"""
        self.sized = False
        """sizes are shown in the rows"""
        self.moved = False
        """the user put the cursor where it is"""
        self.marks = Marks()

    @property
    def is_read(self) -> bool:
        """The user has moved the cursor or scrolled on this page."""
        return self.moved or self.scroll_offset.y > 0

    @property
    def selected(self) -> Hit | None:
        """The hit under the cursor."""
        hits = self.page.hits if self.page else ()
        return hits[self.cursor] if 0 <= self.cursor < len(hits) else None

    def show_page(self, page: ResultPage | None, *, keep: Hit | None = None, rows: SnippetsMade | None = None) -> None:
        """Show another page from its start, or with the cursor on the document of `keep` where it is still there.

        `rows` is what is known of its rows already. Whoever shows a page knows that another hit is selected then.
        """
        self.moved = keep is not None
        self.page = page
        self._asked.clear()
        self._asked_width = self.snippet_width
        self._reasons = {}
        self._lines.clear()
        hits = page.hits if page else ()
        self.set_length(len(hits) * HEIGHT)
        same = [row for row, hit in enumerate(hits) if keep is not None and hit.doc_id == keep.doc_id]
        self.set_reactive(ResultsList.cursor, same[0] if same else 0)
        self._follow_cursor()
        if rows is not None:
            self._asked.update(rows.snippets)
            self._keep(rows)
        self.repaint()
        self.call_after_refresh(self.ask_for_snippets)

    @on(SnippetsMade)
    def add_snippets(self, rows: SnippetsMade) -> None:
        """Keep snippets that a worker made, and draw those that belong to the page shown, with their reasons."""
        self._keep(rows)
        self.repaint()

    def _keep(self, rows: SnippetsMade) -> None:
        if rows.page is self.page:
            self._reasons.update(rows.reasons)
        for row, snippet in rows.snippets.items():
            self._snippets[self._snippet_key(rows.page, row)] = snippet
            if rows.page is self.page:
                self._forget_lines(row)
        while len(self._snippets) > KEPT_SNIPPETS:
            self._snippets.popitem(last=False)

    def snippet_of(self, row: int) -> Snippet | None:
        """The snippet of one row, once it was made."""
        return self._snippets.get(self._snippet_key(self.page, row)) if self.page else None

    def ask_for_snippets(self) -> None:
        """Ask once for the snippets of the rows in view, and why they stand there."""
        if self.page is None or not self.size.height:
            return
        if self._asked_width != self.snippet_width:
            self._asked_width = self.snippet_width
            self._asked.clear()
        first = max(0, int(self.scroll_offset.y) // HEIGHT)
        last = min(len(self.page.hits), self.rows_seen)
        rows = tuple(r for r in range(first, last) if r not in self._asked)
        if rows:
            self._asked.update(rows)
            self.post_message(RowsShown(self.page, rows, self.snippet_width))

    def move(self, rows: int) -> None:
        """Move the cursor by so many rows, stopping at both ends."""
        if self.page is not None and self.page.hits:
            self.moved = True
            self.cursor = max(0, min(len(self.page.hits) - 1, self.cursor + rows))

    def turn_mark(self) -> None:
        """Mark the selected result, or take its mark away."""
        if self.page is not None and self.selected is not None:
            self.marks.turn(self.page, self.selected)
            self._forget_lines(self.cursor)
            self.repaint()

    def clear_marks(self, *, but: Collection[str] = ()) -> None:
        """Take the marks away, but for those of these paths."""
        self.marks.clear(but=but)
        self._lines.clear()
        self.repaint()

    def watch_cursor(self, old: int, new: int) -> None:
        self._follow_cursor()
        self.repaint()
        self.post_message(HitSelected())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.ask_for_snippets()

    def on_resize(self) -> None:
        self._lines.clear()
        self.set_length(len(self.page.hits) * HEIGHT if self.page else 0)
        self._follow_cursor()
        self.ask_for_snippets()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._lines.clear()
        self._row_styles.clear()

    def on_click(self, event: events.Click) -> None:
        row = (event.y + int(self.scroll_offset.y)) // HEIGHT
        if self.page is None or not 0 <= row < len(self.page.hits):
            return
        self.moved, self.cursor = True, row
        if event.chain == 2:
            self.post_message(HitChosen(self.page.hits[row]))

    def make_line(self, row: int) -> Strip:
        hit, line = divmod(row, HEIGHT)
        if self.page is None or hit >= len(self.page.hits):
            return Strip.blank(self.text_width, self.base_style)
        return self._row(hit)[line]

    def turn_sizes(self) -> None:
        """Show the size of each file in its row, or no longer."""
        self.sized = not self.sized
        self._lines.clear()
        self.repaint()

    def action_list_down(self) -> None:
        self.move(1)

    def action_list_up(self) -> None:
        self.move(-1)

    def action_list_top(self) -> None:
        self.move(-len(self.page.hits) if self.page else 0)

    def action_list_bottom(self) -> None:
        self.move(len(self.page.hits) if self.page else 0)

    def action_list_half_down(self) -> None:
        self.move(max(1, self.rows_in_view // 2))

    def action_list_half_up(self) -> None:
        self.move(-max(1, self.rows_in_view // 2))

    def action_list_page_down(self) -> None:
        self.move(max(1, self.rows_in_view - 1))

    def action_list_page_up(self) -> None:
        self.move(-max(1, self.rows_in_view - 1))

    @property
    def snippet_width(self) -> int:
        """Characters of a snippet."""
        return max(20, self.text_width - 3)

    @property
    def rows_in_view(self) -> int:
        """How many whole results fit."""
        return self.size.height // HEIGHT

    @property
    def rows_seen(self) -> int:
        """The row after the last one of which something is in view."""
        return -(-(int(self.scroll_offset.y) + self.size.height) // HEIGHT)

    def _snippet_key(self, page: ResultPage, row: int) -> SnippetKey:
        return (page.hits[row].doc_id, page.words, page.hits[row].part)

    def _forget_lines(self, row: int) -> None:
        for chosen in (False, True):
            for focused in (False, True):
                self._lines.pop((row, chosen, focused), None)

    def _follow_cursor(self) -> None:
        region = Region(0, self.cursor * HEIGHT, max(1, self.size.width), HEIGHT)
        self.scroll_to_region(region, animate=False, force=True, immediate=True)

    def _row(self, row: int) -> tuple[Strip, Strip, Strip]:
        assert self.page is not None
        key = (row, row == self.cursor, self.has_focus)
        if key not in self._lines:
            self._lines[key] = row_lines(
                self.page.hits[row],
                snippet=self.snippet_of(row),
                why=self._reasons.get(row, ""),
                words=self.page.words,
                width=self.text_width,
                styles=self._styles(chosen=key[1], focused=key[2]),
                now=time.time() if self._now is None else self._now,
                chosen=key[1],
                sized=self.sized,
                marked=self.marks.holds(self.page.hits[row]),
            )
        return self._lines[key]

    def _chosen_style(self) -> Style:
        """What tells the title of the chosen row where colours are few."""
        return self.get_component_rich_style("results--chosen").without_color

    def _styles(self, *, chosen: bool, focused: bool) -> RowStyles:
        if (chosen, focused) not in self._row_styles:
            self._row_styles[chosen, focused] = self._made_styles(chosen=chosen)
        return self._row_styles[chosen, focused]

    def _made_styles(self, *, chosen: bool) -> RowStyles:
        base = self.get_component_rich_style("results--selected") if chosen else self.base_style

        def part(name: str) -> Style:
            own = self.get_component_rich_style(f"results--{name}")
            return base + own + Style.from_color(None, base.bgcolor)

        return RowStyles(
            base=base,
            bar=part("bar"),
            title=part("title") + (self._chosen_style() if chosen else Style.null()),
            snippet=part("snippet"),
            match=part("match"),
            dim=part("dim"),
            mark=part("mark"),
            warning=part("warning"),
            kinds={kind: part(kind) for kind in set(KINDS.values())},
        )
