"""An engine over a few documents in memory, and the screen in front of it."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.events import Paste
from textual.pilot import Pilot
from textual.timer import Timer

from app.following.indexing import update_index
from app.learning.outcomes import Outcome
from app.search.index_status import IndexStatus
from app.search.results import (
    Contrast,
    Contribution,
    Explanation,
    FacetCount,
    Facets,
    Hit,
    Part,
    Preview,
    ResultPage,
    SearchRequest,
    Snippet,
)
from app.settings import OpenSettings, Paths, ScreenSettings, SearchSettings, Settings
from app.suggested_folders import RootSuggestion
from app.tui.background_indexing import ProgressLine
from app.tui.bars.query_input import QueryInput
from app.tui.keys import problems_of, usable
from app.tui.screen_setup import Setup
from app.tui.search_app import FoltrApp
from indexer.query.nodes import Problem

NOW = 1_750_000_000.0
"""15 June 2025; the moment that all dates are told from"""
DAY = 86_400.0
WIDE = (120, 40)
Stages = Callable[..., Any]
"""what the fixture `stage` is"""


@dataclass(frozen=True)
class Document:
    """One made-up document."""

    path: str
    title: str
    type: str
    text: str
    days_old: float = 10.0
    pages: tuple[int, ...] = ()
    missing: bool = False
    copies: tuple[str, ...] = ()


PAGE_ONE = "Wind turbines turn wind into power.\nThe wind is free.\n"
SEA = "The wind at sea blows steadily.\n" * 30
DOCUMENTS = (
    Document("/home/anna/energy/turbine.md", "Wind turbines at sea", "markdown", SEA),
    Document("/home/anna/energy/report.pdf", "Annual wind report", "pdf", PAGE_ONE + "Page two: more wind.\n", 40.0,
             pages=(0, len(PAGE_ONE)), copies=("/home/anna/old/report.pdf",)),
    Document("/home/anna/mail/inbox.mbox", "Re: kitchen windows", "mail", "The windows let the wind in.\n", 400.0),
    Document("/home/anna/notes/gone.txt", "", "text", "wind\tand rain\n", 3.0, missing=True),
    Document("/home/anna/notes/solar.txt", "Solar panels", "text", "The sun shines on panels.\n", 0.1),
)  # fmt: skip


class FakeSearch:
    """Answers as `app.search.search.Search` does, from DOCUMENTS, and keeps a diary of what it was told."""

    def __init__(self, documents: Sequence[Document] = DOCUMENTS) -> None:
        self.documents = list(documents)
        self.requests: list[SearchRequest] = []
        self.opened_paths: list[str] = []
        self.left: list[ResultPage] = []
        self.moved: list[tuple[str, str]] = []
        self.lately: tuple[Hit, ...] = ()
        self.unread: list[tuple[str, str]] = []
        self.snippet_rows: list[int] = []
        self.closed = False
        self.unkept = ""
        self.generation = 1
        self.seen_generation = 1
        self.gate: dict[str, threading.Event] = {}
        """query, or query@machine -> the answer waits until this is set"""
        self.reached: dict[str, threading.Event] = {}
        """query -> set when the question has arrived"""

    def search(self, request: SearchRequest) -> ResultPage:
        self.requests.append(request)
        text = "@".join((request.text.strip(), *request.on))
        if text in self.reached:
            self.reached[text].set()
        if text in self.gate:
            self.gate[text].wait(120)
        words = tuple(re.findall(r"\w+", request.text.lower()))
        found = [(n, d) for n, d in enumerate(self.documents) if all(_matches(d, w, request, words) for w in words)]
        found = [(n, d) for n, d in found if d.type.startswith(request.type) and d.path.startswith(request.folder)]
        if request.order == "name":
            found.sort(key=lambda pair: pair[1].path.rsplit("/", 1)[-1])
        if request.order == "modified":
            found.sort(key=lambda pair: pair[1].days_old)
        hits = tuple(self._hit(rank, n, d) for rank, (n, d) in enumerate(found, 1))
        return ResultPage(
            request=request,
            hits=hits[: request.limit],
            n_matches=len(hits),
            n_all_words=len(hits),
            n_documents=len(self.documents),
            seconds=0.012,
            problems=(Problem(text.index('"'), 1, "no partner"),) if text.count('"') == 1 else (),
            suggestion="wind" if text == "wimd" and not request.as_you_type else "",
            facets=_facets(found),
            words=words,
            page_id=len(self.requests),
        )

    def snippet(self, page: ResultPage, hit: Hit, width: int = 160) -> Snippet:
        self.snippet_rows.append(hit.rank)
        text = " ".join(self.documents[hit.doc_id].text.split())[:width]
        spans = tuple(m.span() for w in page.words for m in re.finditer(rf"\b{w}", text, re.IGNORECASE))
        return Snippet(text, tuple(sorted(spans)), 1, 1 if self.documents[hit.doc_id].pages else 0)

    def preview(self, page: ResultPage, hit: Hit, width: int = 160) -> Preview:
        document = self.documents[hit.doc_id]
        spans = sorted(m.span() for w in page.words for m in re.finditer(rf"\b{w}", document.text, re.IGNORECASE))
        return Preview(document.text, tuple(spans), document.pages, "the file is gone" if document.missing else "")

    def opened(self, page: ResultPage, hit: Hit) -> None:
        assert hit in page.hits
        self.opened_paths.append(hit.path)

    def leave(self, page: ResultPage) -> str | None:
        self.left.append(page)
        return "learned from 1 pick"

    def recent(self) -> ResultPage:
        found = structs.replace(self.search(SearchRequest("")), hits=self.lately, page_id=0, words=())
        self.requests.pop()
        return found

    def failures(self) -> list[tuple[str, str]]:
        return self.unread

    def pending_outcomes(self) -> list[Outcome]:
        return [Outcome(NOW, 1, 2, "screen") for _ in self.opened_paths]

    def follow(self, moves: Iterable[tuple[str, str]]) -> None:
        self.moved += moves

    def explain(self, page: ResultPage, hit: Hit) -> Explanation:
        contributions = (
            Contribution("title.coverage", "words found in the title", 1.0, 2.25, 0.5),
            Contribution("body.bm25", "BM25 of the text", 0.5, 1.5, -0.25),
        )
        other = page.hits[hit.rank - 2 if hit.rank > 1 else 1]
        parts = (Part("title", "the words in its title", 2.75, 1.5), Part("words", "its words", 1.25, -0.25))
        summary = f"By its words alone it would stand at {hit.bm25_rank}."
        return Explanation(hit, 4.0, contributions, summary, Contrast(other, parts))

    def why(self, page: ResultPage, hit: Hit) -> str:
        return "exact title" if hit.bm25_rank != hit.rank and page.request.order == "learned" else ""

    def status(self) -> IndexStatus:
        n = len(self.documents)
        return IndexStatus(n, 0, n, 0, 0, self.generation, 1000, ("/home/anna",), "", NOW)

    def refresh(self) -> bool:
        newer, self.seen_generation = self.generation > self.seen_generation, self.generation
        return newer

    def close(self) -> None:
        self.closed = True

    def _hit(self, rank: int, number: int, document: Document) -> Hit:
        return Hit(
            rank=rank,
            doc_id=number,
            path=document.path,
            part="",
            title=document.title,
            type=document.type,
            author="",
            modified=NOW - document.days_old * DAY,
            size=len(document.text),
            truncated="",
            score=10.0 - rank,
            bm25_rank=rank + 3 if number == 1 else rank,
            copies=document.copies,
            missing=document.missing,
        )


def _matches(document: Document, word: str, request: SearchRequest, words: tuple[str, ...]) -> bool:
    end = "" if request.as_you_type and word == words[-1] else r"s?\b"
    return re.search(rf"\b{word}{end}", f"{document.title} {document.text}", re.IGNORECASE) is not None


def _facets(found: list[tuple[int, Document]]) -> Facets:
    types = sorted({d.type for _, d in found})
    folders = sorted({d.path.rsplit("/", 1)[0] for _, d in found})
    return Facets(
        types=tuple(FacetCount(t, t, sum(d.type == t for _, d in found)) for t in types),
        folders=tuple(
            FacetCount(f, f.rsplit("/", 1)[-1], sum(d.path.startswith(f) for _, d in found)) for f in folders
        ),
        times=(FacetCount("week", "last week", sum(d.days_old < 7 for _, d in found)),),
    )


class FakeIndexing:
    """Indexing that reports only what a test tells it to."""

    def __init__(self, *, indexed: bool = True, folders: Sequence[RootSuggestion] = ()) -> None:
        self.indexed, self.suggested = indexed, folders
        self.forgotten: list[str] = []
        self.started: list[tuple[str, ...]] = []
        self.report: Callable[[ProgressLine], None] = lambda line: None
        self.stopped = False
        self.retried = 0

    def has_index(self) -> bool:
        return self.indexed

    def suggest(self) -> Sequence[RootSuggestion]:
        return self.suggested

    def folders(self) -> Sequence[tuple[str, str]]:
        return [("/home/anna/energy", "2 documents: 1 markdown, 1 pdf"), ("/home/anna/notes", "")]

    def forget(self, name: str) -> bool:
        self.forgotten.append(name)
        return name != "/home/anna/notes"

    def start(
        self, folders: Sequence[str], report: Callable[[ProgressLine], None], *, retry_failures: bool = False
    ) -> None:
        self.started.append(tuple(folders))
        self.retried += retry_failures
        self.report = report

    def stop(self) -> None:
        self.stopped = True


@dataclass
class Stage:
    """An application under test and the parts behind it."""

    app: FoltrApp
    engine: FakeSearch
    indexing: FakeIndexing
    history: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """what was announced; the screen forgets it after some seconds, on a busy machine before a test can look"""

    async def until(self, pilot: Pilot[int], condition: Callable[[], bool], what: str = "") -> None:
        """Wait until something is so, and what belongs to it is laid out; fails after two minutes."""
        await self._wait(condition, what)
        await pilot.pause()

    async def _wait(self, condition: Callable[[], bool], what: str = "") -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if condition():
                return
            await asyncio.sleep(0.005)  # a pause of the pilot's sends a message to each widget
        raise AssertionError(f"never happened: {what or condition}")

    @property
    def text(self) -> str:
        """What the terminal shows, line by line."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    @asynccontextmanager
    async def searched(self, text: str, **options: Any) -> AsyncIterator[Pilot[int]]:
        """The application in a terminal with these options of `run_test`, and what is shown for a query."""
        async with self.app.run_test(**options) as pilot:
            await self.search(pilot, text)
            yield pilot

    async def search(self, pilot: Pilot[int], text: str) -> None:
        """Give a query at once, as by pasting, and wait for its page and the rest."""
        self.app.search_screen.query_one(QueryInput).post_message(Paste(text))
        await self.until(pilot, lambda: self.asked == text, f"a page for {text!r}")
        await self.settle(pilot)

    async def settle(self, pilot: Pilot[int]) -> None:
        """Wait until the hand rests, nothing is being worked on, and all of it is on the screen.

        An answer makes the screen ask for snippets, a timer for a preview, and so on: a few times round is all of it.
        """
        screen = self.app.search_screen
        for _ in range(4):
            for owner, timer in ((screen.questions, "_typing"), (screen.side, "_resting")):
                await self._wait(lambda o=owner, t=timer: not _runs(getattr(o, t)), f"the end of {timer}")
            for name in ("search", "snippets", "preview", "record"):
                lane, reached = screen.session._lanes[name], threading.Event()
                lane.put(reached.set)
                await self._wait(lambda e=reached, la=lane: e.is_set() and la._latest is None, f"lane {name}")
                lane.put((passed := threading.Event()).set)  # what was the latest has begun; this comes after it
                await self._wait(passed.is_set, f"lane {name}")
            await pilot.pause()

    @property
    def asked(self) -> str:
        """The text that the page shown answers."""
        page = self.app.search_screen.session.page
        return page.request.text if page else ""


@asynccontextmanager
async def wind(one: Stage) -> AsyncIterator[tuple[Stage, Pilot[int]]]:
    """This stage in a wide terminal, showing what was found for "wind"."""
    async with one.searched("wind", size=WIDE) as pilot:
        yield one, pilot


@pytest.fixture
def conftest_types() -> SimpleNamespace:
    """The types of this file, for tests that make documents or engines of their own."""
    return SimpleNamespace(
        Document=Document,
        FakeSearch=FakeSearch,
        FakeIndexing=FakeIndexing,
        Folder=RootSuggestion,
        ProgressLine=ProgressLine,
    )


@pytest.fixture(autouse=True, scope="session")
def style_sheets_are_parsed_once() -> Iterator[None]:
    """What Textual has parsed of a style sheet with the colours of a theme serves the next screen, too: parsing is an
    eighth of a test."""
    parse, parsed = Stylesheet._parse_rules, dict[tuple[object, ...], list[RuleSet]]()

    def parsed_once(sheet: Stylesheet, css: str, read_from: Any, *place: Any, **named: Any) -> list[RuleSet]:
        key = (frozenset(sheet._variables.items()), css, read_from, place, tuple(named.items()))
        if key not in parsed:
            parsed[key] = parse(sheet, css, read_from, *place, **named)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parsed_once)
        yield


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Stage]]:
    """Makes stages; sessions are closed at the end."""
    for name in ("NO_COLOR", "DISPLAY", "WAYLAND_DISPLAY", "TMUX", "TERMUX_VERSION", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)  # no test reaches the clipboard of who runs it
    monkeypatch.setenv("HOME", "/home/anna")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setattr("app.tui.session.CLOSING_SECONDS", 120.0)
    time.tzset()
    made: list[Stage] = []

    def make(*, engine: FakeSearch | None = None, indexing: FakeIndexing | None = None, **settings: object) -> Stage:
        engine, indexing = engine or FakeSearch(), indexing or FakeIndexing()
        opener = tmp_path / "opener.sh"
        opener.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/opened\n')
        opener.chmod(0o755)
        chosen = Settings(
            search=SearchSettings(debounce_ms=5), open=OpenSettings(opener=str(opener)), screen=ScreenSettings()
        )
        screen = settings.pop("screen", None)
        chosen = _with(chosen, screen=screen) if screen else chosen
        keymap = chosen.screen.keys
        setup = Setup(
            settings=chosen,
            data_dir=tmp_path,
            open_engine=lambda: engine,
            indexing=indexing,
            history=SimpleNamespace(queries=tuple, add=lambda query: None),
            read_stats=tuple,
            keymap=usable(keymap),
            problems=problems_of(keymap),
            now=NOW,
        )
        one = Stage(FoltrApp(replace(setup, **settings)), engine, indexing)
        one.app.animation_level = "none"  # a fifth of what a test draws would be on the way to something
        notify = one.app.notify

        def noting(message: str, **options: Any) -> None:
            one.notes.append(message)
            notify(message, **options)

        monkeypatch.setattr(one.app, "notify", noting)
        made.append(one)
        return one

    yield make
    for one in made:
        one.app.search_screen.session.close()
    monkeypatch.undo()
    time.tzset()


def _runs(timer: Timer | None) -> bool:
    """Whether a timer that rings once has yet to ring."""
    return timer is not None and timer._task is not None and not timer._task.done()


def _with(settings: Settings, **sections: object) -> Settings:
    import msgspec

    return msgspec.structs.replace(settings, **sections)


@pytest.fixture
def paths(tmp_path: Path, request: pytest.FixtureRequest) -> Paths:
    """An index of the TEXTS of the file that asks for it."""
    for name, text in request.module.TEXTS.items():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    found = Paths(config_dir=tmp_path / "config", data_dir=tmp_path / "data")
    update_index(Settings(), found, roots=[str(tmp_path / "files")])
    return found
