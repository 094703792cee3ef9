"""The actions on the selected result: open it, edit it, page it, show its folder, copy its path."""

from __future__ import annotations

from functools import partial

from textual import on
from textual.app import SuspendNotSupported
from textual.screen import Screen

from app.opener import How, OpenError
from app.search.results import Hit, ResultPage
from app.tui.hand_over import Place, finish, hand_over
from app.tui.messages import HandedOver, HitChosen, NotOpened, TerminalWanted
from app.tui.preview_pane import PreviewPane
from app.tui.recall import Recall
from app.tui.result_row import title_of
from app.tui.results_list import ResultsList
from app.tui.session import Session
from app.tui.setup import Setup
from app.tui.status_line import StatusLine
from app.tui.wording import safe_line
from indexer.documents import display_path


class HitActions(Screen[None]):
    """A screen with a list of results and a session to tell what was opened."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        self.setup = setup
        self.settings = setup.settings
        self.session = Session(setup.open_engine, self.post_message)
        self.recall = Recall()

    def action_open(self) -> None:
        self._hand_over(self.settings.open.enter)

    def action_edit(self) -> None:
        self._hand_over("editor")

    def action_page(self) -> None:
        self._hand_over("pager")

    def action_folder(self) -> None:
        self._hand_over("folder")

    def action_copy(self) -> None:
        """Copy the path by OSC 52, which reaches the clipboard even over SSH."""
        hit = self._selected_hit()
        if hit is not None:
            shown = display_path(hit.path)
            self.app.copy_to_clipboard(shown)
            exact = "" if shown == hit.path else " (its name cannot be written exactly)"
            self.query_one(StatusLine).say(f"copied {shown}{exact}")

    @on(HitChosen)
    def _chosen(self, message: HitChosen) -> None:
        self._hand_over(self.settings.open.enter)

    @on(HandedOver)
    def _handed_over(self, message: HandedOver) -> None:
        self._record(message.hit)
        self.query_one(StatusLine).say(f"opened {title_of(message.hit)} with {safe_line(message.program)}")

    @on(TerminalWanted)
    def _terminal_wanted(self, message: TerminalWanted) -> None:
        """Step aside until the program ends; the screen comes back as it was."""
        try:
            with self.app.suspend():
                code = finish(message)
        except (OpenError, SuspendNotSupported) as error:
            self._say_not_opened(str(error))
            return
        self._record(message.hit)
        ended = f" (it ended with code {code})" if code else ""
        self.query_one(StatusLine).say(f"opened {title_of(message.hit)}{ended}")

    @on(NotOpened)
    def _not_opened(self, message: NotOpened) -> None:
        self._say_not_opened(message.error)
        self.query_one(ResultsList).refresh()

    def _record(self, hit: Hit) -> None:
        """One click, and one past query for those who keep them."""
        self.session.opened(hit)
        if self.session.page is not None and self.settings.history.enabled:
            query = self.session.page.request.text.strip()
            self.recall.add(query)
            self.session.run(partial(self.setup.history.add, query))

    def _say_not_opened(self, error: str) -> None:
        self.notify(safe_line(error), title="Not opened", severity="error", markup=False)

    def _selected_hit(self) -> Hit | None:
        return self.query_one(ResultsList).selected

    def _hand_over(self, how: How) -> None:
        hit, page = self._selected_hit(), self.session.page
        if hit is not None and page is not None:
            self.session.run(partial(self._hand_over_now, hit, how, page=page, place=self._place_of(hit)))

    def _hand_over_now(self, hit: Hit, how: How, *, page: ResultPage, place: Place) -> None:
        """Runs in a worker."""
        done = hand_over(
            hit,
            how,
            place=place,
            settings=self.settings,
            data_dir=self.setup.data_dir,
            text_of=partial(self.session.text_of, page),
        )
        self.session.tell(done)

    def _place_of(self, hit: Hit) -> Place:
        """The match that is shown in the preview, else the one in the snippet."""
        preview = self.query_one(PreviewPane)
        if preview.loaded is not None and preview.loaded.doc_id == hit.doc_id and preview.display:
            line, page = preview.body.position
            return Place(line, page)
        results = self.query_one(ResultsList)
        snippet = results.snippet_of(results.cursor)
        return Place(snippet.line, snippet.page) if snippet else Place()
