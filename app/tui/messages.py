"""Everything the worker threads and the widgets tell the screen, in one place.

Workers post these and change nothing; the handlers of the screen alone change what is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, dataclass_transform

from textual.message import Message

if TYPE_CHECKING:
    from app.document_to_open import Prepared
    from app.file_operations import Filed
    from app.search.index_status import IndexStatus
    from app.search.results import Explanation, Hit, Preview, ResultPage, Snippet
    from app.tui.background_indexing import ProgressLine
    from app.tui.preview.preview_rows import Row, Rows


@dataclass_transform(eq_default=False)
class Notice(Message):
    """A message whose content is its fields."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(eq=False, repr=False)(cls)


class EngineReady(Notice):
    """The index is open and questions can be answered."""

    status: IndexStatus
    unkept: str = ""
    """why nothing is learned, as one line; "" when all is well"""


class Failed(Notice):
    """A worker could not do what it was asked; `what` names the job and `error` is one line."""

    what: str
    error: str


class SnippetsMade(Notice):
    """Snippets of some rows of one page, by row index, and why these rows stand where they stand."""

    page: ResultPage
    snippets: dict[int, Snippet]
    reasons: dict[int, str]


class Answered(Notice):
    """The answer to the request with this sequence number."""

    sequence: int
    page: ResultPage
    rows: SnippetsMade
    """what could be made at once for the first rows, so that most pages are painted only once"""


class PreviewMade(Notice):
    """The text of one hit, and its rows at a width in cells."""

    hit: Hit
    preview: Preview
    rows: Rows
    sent: str = ""
    """pictures: what the terminal must be sent before the rows are painted"""


class PagesInView(Notice):
    """Other pages of a document, counted from 0, came into view; those not drawn yet are wanted."""

    missing: tuple[int, ...]


class PageDrawn(Notice):
    """The wanted picture of a page of a document, counted from 0."""

    hit: Hit
    page: int
    width: int
    picture: tuple[Row, ...]
    sent: str


class Explained(Notice):
    """Why one hit ranks where it does."""

    explanation: Explanation


class Learned(Notice):
    """What was learned from the page that was left, as one sentence."""

    sentence: str


class IndexChanged(Notice):
    """The index holds a newer commit than the page shown."""

    status: IndexStatus


class Progressed(Notice):
    """How far the background indexing is, ready to be shown."""

    line: ProgressLine


class ConsentWanted(Notice):
    """Syncing with the group unasked needs the user's consent: a question, then what it means."""

    lines: tuple[str, ...]


class Synced(Notice):
    """What became of a sync with the group."""

    text: str
    important: bool


class RowsShown(Notice):
    """These rows of the list have come into view without a snippet."""

    page: ResultPage
    rows: tuple[int, ...]
    width: int
    """cells that a snippet may take"""


class HitSelected(Notice):
    """The cursor of the list moved; ask the list what is selected when this arrives."""


class HitChosen(Notice):
    """The user wants the selected hit opened."""


class PreviewResized(Notice):
    """The preview pane has another width: its text must be wrapped again."""


class PreviewScrolled(Notice):
    """Another part of the text is in view."""


class FacetChosen(Notice):
    """Narrow to a facet's value; "" removes the narrowing."""

    facet: str
    """type, folder or time"""
    value: str


class HandedOver(Notice):
    """A program was started for a hit, and the screen goes on."""

    hit: Hit
    program: str


class TerminalWanted(Notice):
    """A program for a hit needs this terminal, so the screen must step aside."""

    hit: Hit | None
    """None for the folder of a file that is no hit"""
    ready: Prepared


class NotOpened(Notice):
    """A hit could not be opened; one line says why."""

    error: str


class LikeFound(Notice):
    """What to search for to find documents like the selected one; "" for nothing."""

    query: str
    typed: str
    """the text in the search box when it was asked for"""


class RecentRead(Notice):
    """What was opened and changed lately."""

    page: ResultPage


class Copied(Notice):
    """A text was given to a clipboard."""

    text: str
    by: str
    """the program that took it; "" where the terminal was asked to, which does not confirm"""


class FilesFiled(Notice):
    """Files were copied, moved or put into the trash, or refused."""

    what: str
    filed: tuple[Filed, ...]
    folder: str


class HistoryRead(Notice):
    """The past queries, newest first."""

    queries: tuple[str, ...]


Handled = Copied | HandedOver | TerminalWanted | NotOpened
"""what became of a result that was to be opened or copied"""
