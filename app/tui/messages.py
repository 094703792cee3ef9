"""Everything the worker threads and the widgets tell the screen, in one place.

Workers post these and change nothing; the handlers of the screen alone change what is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from app.filing import Filed
    from app.handing_over import Prepared
    from app.search.results import Explanation, Hit, IndexStatus, Preview, ResultPage, Snippet
    from app.tui.preview.preview_rows import Row, Rows
    from app.tui.screen_parts import FolderChoice, ProgressLine


@dataclass(eq=False, repr=False)
class EngineReady(Message):
    """The index is open and questions can be answered."""

    status: IndexStatus
    unkept: str = ""
    """why nothing is learned, as one line; "" when all is well"""


@dataclass(eq=False, repr=False)
class Failed(Message):
    """A worker could not do what it was asked; `what` names the job and `error` is one line."""

    what: str
    error: str


@dataclass(eq=False, repr=False)
class SnippetsMade(Message):
    """Snippets of some rows of one page, by row index, and why these rows stand where they stand."""

    page: ResultPage
    snippets: dict[int, Snippet]
    reasons: dict[int, str]


@dataclass(eq=False, repr=False)
class Answered(Message):
    """The answer to the request with this sequence number."""

    sequence: int
    page: ResultPage
    rows: SnippetsMade
    """what could be made of the first rows in the same breath, so that most pages are painted once"""


@dataclass(eq=False, repr=False)
class PreviewMade(Message):
    """The text of one hit, and its rows at a width in cells."""

    hit: Hit
    preview: Preview
    rows: Rows
    sent: str = ""
    """what the terminal must be given before the rows are painted: pictures"""


@dataclass(eq=False, repr=False)
class PagesInView(Message):
    """Other pages of a document came into view, counted from 0; those that are not drawn yet are wanted."""

    missing: tuple[int, ...]


@dataclass(eq=False, repr=False)
class PageDrawn(Message):
    """A page of a document, counted from 0, as the picture that was wanted for these rows."""

    hit: Hit
    page: int
    width: int
    picture: tuple[Row, ...]
    sent: str


@dataclass(eq=False, repr=False)
class Explained(Message):
    """Why one hit stands where it stands."""

    explanation: Explanation


@dataclass(eq=False, repr=False)
class Learned(Message):
    """What was learned from the page that was left, as one sentence."""

    sentence: str


@dataclass(eq=False, repr=False)
class IndexChanged(Message):
    """The index holds a commit that the shown page does not."""

    status: IndexStatus


@dataclass(eq=False, repr=False)
class Progressed(Message):
    """How far the background indexing is, ready to be shown."""

    line: ProgressLine


@dataclass(eq=False, repr=False)
class ConsentWanted(Message):
    """The group could be synced with by itself, if the user agrees: a question, then what it means."""

    lines: tuple[str, ...]


@dataclass(eq=False, repr=False)
class Synced(Message):
    """What became of a sync with the group."""

    text: str
    important: bool


@dataclass(eq=False, repr=False)
class RowsShown(Message):
    """These rows of the list have come into view without a snippet."""

    page: ResultPage
    rows: tuple[int, ...]
    width: int
    """cells that a snippet may take"""


@dataclass(eq=False, repr=False)
class HitSelected(Message):
    """The cursor of the list moved; the list knows what is selected by the time that this arrives."""


@dataclass(eq=False, repr=False)
class HitChosen(Message):
    """The user wants this hit opened."""

    hit: Hit


@dataclass(eq=False, repr=False)
class PreviewResized(Message):
    """The preview pane has another width, in cells: its text must be wrapped again."""

    width: int


@dataclass(eq=False, repr=False)
class PreviewScrolled(Message):
    """Another part of the text is in view."""


@dataclass(eq=False, repr=False)
class FacetChosen(Message):
    """Narrow to a facet's value; "" takes the narrowing away."""

    facet: str
    """type, folder or time"""
    value: str


@dataclass(eq=False, repr=False)
class FoldersSuggested(Message):
    """Folders that exist and are worth indexing, with their file counts."""

    folders: tuple[FolderChoice, ...]
    advice: str = ""
    """what the device lacks and could have, in one line"""


@dataclass(eq=False, repr=False)
class HandedOver(Message):
    """A program was started for a hit and runs beside the screen."""

    hit: Hit
    program: str


@dataclass(eq=False, repr=False)
class TerminalWanted(Message):
    """A program for a hit needs this terminal, so the screen must step aside."""

    hit: Hit | None
    """None for the folder of a file that is no hit"""
    ready: Prepared


@dataclass(eq=False, repr=False)
class NotOpened(Message):
    """A hit could not be opened; one line says why."""

    hit: Hit
    error: str


@dataclass(eq=False, repr=False)
class RecentRead(Message):
    """What was opened and changed lately."""

    page: ResultPage


@dataclass(eq=False, repr=False)
class Copied(Message):
    """A text was given to a clipboard."""

    text: str
    by: str
    """the program that took it; "" where the terminal was asked to, which gives no answer"""


@dataclass(eq=False, repr=False)
class FilesFiled(Message):
    """Files were copied, moved or put into the trash, or refused."""

    what: str
    filed: tuple[Filed, ...]
    folder: str


@dataclass(eq=False, repr=False)
class HistoryRead(Message):
    """The past queries, newest first."""

    queries: tuple[str, ...]
