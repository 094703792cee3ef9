"""`foltr-search --plain [QUERY]`: the search as a dialogue in plain lines, for screen readers and slow lines."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import click

from app.commands.command import INTERRUPTED, Command, Context, load, load_numpy
from console.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.search.results import Hit, ResultPage
    from app.search.search import Search

EXAMPLES = """
foltr-search --plain
foltr-search --plain tax return 2024
"""
HELP = (
    "Type words to search, a number to open that result, n for the next results, p for the previous ones, w and a "
    "number for why it ranks there, t and a number for its text, l and a number for documents like it, q to leave. "
    "After a slash everything is searched for: /n, /2024."
)


@click.command("--plain", cls=Command, hidden=True, examples=EXAMPLES)
@click.argument("query", nargs=-1)
def command(query: tuple[str, ...]) -> int:
    """Search in plain lines of text: nothing is drawn, nothing moves.

    Type words to search, the number of a result to open it, n for more, ? for help, q to leave. It learns as usual.
    """
    load_numpy()
    from app.search.search import Search
    from indexer.errors import IndexDamaged

    with suppress(ImportError):
        import readline  # noqa: F401 -- input() then knows the lines typed before

    context = load()
    with closing(Search(context.settings, context.paths)) as search:
        if search.trouble:
            raise IndexDamaged(search.trouble)
        talk = Dialogue(context, search)
        try:
            talk.begin(" ".join(query))
            while talk.answer(input("> ")):
                pass
        except EOFError:
            print()
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            talk.leave()
    return 0


class Dialogue:
    """What was asked last, how far its results were said, and whether one of them was opened."""

    def __init__(self, context: Context, search: Search) -> None:
        self._context, self._search = context, search
        self._page: ResultPage | None = None
        self._first = 0
        """index of the first result that was said last"""
        self._was_opened = False

    def begin(self, query: str) -> None:
        """Say what there is, or answer the query of the command line."""
        if query:
            self._ask(query)
        else:
            print(f"{count(self._search.status().n_documents, 'document')}. {HELP}")

    def answer(self, line: str) -> bool:
        """Do what a line says; False to leave."""
        words = line.strip()
        letter, _, number = words.partition(" ")
        about = {"w": self._say_why, "t": self._say_text, "l": self._ask_like}
        if words == "q":
            return False
        if words.startswith("/"):
            self._ask(words[1:])
        elif words == "?":
            print(HELP)
        elif words in ("n", "p"):
            self._turn(1 if words == "n" else -1)
        elif words.isascii() and words.isdigit():
            self._with(words, self._open)
        elif letter in about and number.isascii() and number.isdigit():
            self._with(number, about[letter])
        elif words:
            self._ask(words)
        return True

    def leave(self) -> None:
        """Learn from the page on which something was opened."""
        if self._page is not None and self._was_opened and (learned := self._search.leave(self._page)):
            print(learned)
        self._was_opened = False

    def _ask(self, text: str) -> None:
        from app.commands.search import matches_of, say_about
        from app.search.results import SearchRequest
        from app.store import SearchHistory

        if not text.strip():
            return
        self.leave()
        settings, search = self._context.settings, self._search
        search.refresh()
        limit = max(settings.search.page_size, settings.search.limit)  # as the screen asks: both give the same order
        self._page, self._first = search.search(SearchRequest(text, limit=limit, on=tuple(settings.devices.ask))), 0
        search.keep(self._page)
        if not search.unkept:
            SearchHistory(search.store, settings.history).add(text, now=time.time())
        say_about(self._page, self._context.paths)
        if self._page.hits:
            print(f"{matches_of(self._page)}.")
            self._say(self._page)

    def _turn(self, step: int) -> None:
        """Go on by a page of results, or back."""
        first = self._first + step * self._context.settings.search.page_size
        if self._page is None or not 0 <= first < len(self._page.hits):
            print("There are no more results." if self._page is not None and step > 0 else "There are none before.")
        else:
            self._first = first
            self._say(self._page)

    def _say(self, page: ResultPage) -> None:
        from app.search.results import title_of
        from console.printable import safe_line
        from console.wording import day, short_path

        last = self._first + self._context.settings.search.page_size
        for hit in page.hits[self._first : last]:
            told = ("the file is gone" if hit.missing else "", hit.type, safe_line(hit.author), day(hit.modified))
            about = ", ".join(filter(None, (*told, short_path(hit.path), self._search.why(page, hit))))
            print(f"{hit.rank}. {title_of(hit)}: {about}")
            passage = self._search.snippet(page, hit)
            if text := passage.text.strip():
                print(f"   {safe_line(f'{passage.heading}: {text}' if passage.heading else text)}")
        if last < len(page.hits):
            print(f"{len(page.hits) - last} more: n")

    def _with(self, number: str, what: Callable[[ResultPage, Hit], None]) -> None:
        if self._page is None or not self._page.hits:
            print(HELP)
        elif 1 <= (rank := int(number[:9])) <= len(self._page.hits):
            what(self._page, self._page.hits[rank - 1])
        else:
            print(f"There are results 1 to {len(self._page.hits)}; /{number} searches for the number.")

    def _open(self, page: ResultPage, hit: Hit) -> None:
        from app.commands.open import run_prepared
        from app.document_to_open import Place, prepare
        from app.external_programs import OpenError

        context, passage = self._context, self._search.snippet(page, hit)
        try:
            local, how = self._search.here(page, hit, context.settings.open.enter, context.paths.data_dir)
            ready = prepare(
                local, how, place=Place(passage.line, passage.page), settings=context.settings,
                data_dir=context.paths.data_dir, text_of=lambda: self._search.preview(page, hit).text,
            )  # fmt: skip
            run_prepared(ready, opened=lambda: self._record(page, hit))
        except OpenError as error:
            print(error)

    def _record(self, page: ResultPage, hit: Hit) -> None:
        self._search.opened(page, hit)
        self._was_opened = True

    def _say_why(self, page: ResultPage, hit: Hit) -> None:
        print(self._search.explain(page, hit).summary)

    def _say_text(self, page: ResultPage, hit: Hit) -> None:
        from app.search.headings import headed
        from console.printable import safe_text

        print(safe_text(headed(hit, self._search.preview(page, hit).text)))

    def _ask_like(self, page: ResultPage, hit: Hit) -> None:
        from app.likeness import query_like

        if query := query_like(self._search, hit):
            print(f"Searching: {query}")
            self._ask(query)
        else:
            print("No other document has any of its words.")
