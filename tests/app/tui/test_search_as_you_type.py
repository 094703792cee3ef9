"""When the answer for the finished word takes the place of the one for its beginning."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from app.search.results import ResultPage, SearchRequest
from app.tui.bars.status_lines import StatusLine
from app.tui.search_as_you_type import is_unfinished

TYPED = ResultPage(
    SearchRequest("conf", as_you_type=True), (), n_matches=100, n_documents=1000, seconds=0.0, n_all_words=100
)


def _rested(n_all_words: int, **changes: object) -> ResultPage:
    return replace(TYPED, request=replace(TYPED.request, as_you_type=False, **changes), n_all_words=n_all_words)


def test_a_word_that_is_hardly_anywhere_was_not_finished() -> None:
    """Fewer than half of the matches: the list stays; half of them: it is a word."""
    assert is_unfinished(TYPED, _rested(49))
    assert not is_unfinished(TYPED, _rested(50))


def test_only_the_same_question_is_compared() -> None:
    """Another text, order or filter is always shown, and so is the first page."""
    assert not is_unfinished(TYPED, _rested(0, text="config"))
    assert not is_unfinished(TYPED, _rested(0, order="name"))
    assert not is_unfinished(TYPED, _rested(0, type="pdf"))
    assert not is_unfinished(None, _rested(0))
    assert not is_unfinished(_rested(100), _rested(0))


def test_an_answer_that_had_to_be_filled_up_does_not_replace_a_full_one() -> None:
    """As a whole word too few documents hold it, so others were added: more matches, but worse ones."""
    assert is_unfinished(TYPED, replace(_rested(500), relaxed=True))
    assert not is_unfinished(replace(TYPED, relaxed=True), replace(_rested(500), relaxed=True))


def test_a_page_that_found_nothing_is_no_better_than_any_other() -> None:
    """No document holds a word that begins so, but some hold the other words: these are shown."""
    nothing = replace(TYPED, n_matches=0, n_all_words=0)
    assert not is_unfinished(nothing, replace(_rested(0), n_matches=24, relaxed=True))


async def test_while_the_hand_types_one_question_waits(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first key asks at once; of those that follow quickly only the last one's question is left."""
    one, waiting = stage(), []
    async with one.app.run_test() as pilot:
        screen = one.app.search_screen
        screen.questions._settings = replace(screen.questions._settings, debounce_ms=30_000)
        set_timer = screen.box.set_timer

        def noting(seconds: float, deed: Any) -> Any:
            timer = set_timer(seconds, deed)
            waiting.extend([timer] * (seconds == 30.0))
            return timer

        monkeypatch.setattr(screen.box, "set_timer", noting)
        await pilot.press(*"wind")
        await one.until(pilot, lambda: one.asked == "w")
        assert [timer._task is None for timer in waiting] == [True, True, False]
        await pilot.press("enter")
        await one.until(pilot, lambda: one.asked == "wind")
        assert waiting[-1]._task is None


@pytest.mark.parametrize(("n_mails", "asked"), [(1, "wind"), (2, "thread:ab")])
async def test_a_thread_is_shown_and_left_by_one_key(stage: Any, conftest_types: Any, n_mails: int, asked: str) -> None:
    """A mail that is alone in its thread has nothing else to show."""
    engine = conftest_types.FakeSearch()
    engine._hit = lambda *place: replace(type(engine)._hit(engine, *place), thread="ab", n_in_thread=n_mails)
    one = stage(engine=engine)
    async with one.searched("wind") as pilot:
        await pilot.press("alt+i")
        assert one.app.search_screen.box.value == asked
        assert ("no other mail is in a thread" in one.app.search_screen.query_one(StatusLine).text) == (n_mails == 1)
        await pilot.press("alt+i")
        assert one.app.search_screen.box.value == "wind"
