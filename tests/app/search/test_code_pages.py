"""Pages of source code and pages of texts: each by its own ranker, and what is said and learned of that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from app.commands.results_text import explanation_lines
from app.learning.prior import theta_prior
from app.learning.traits import FOLDER, NO_CODE, TEST
from app.learning.votes import BY_TEXT
from app.search.code_pages import LEAST, MOST, share_of_code
from app.search.reasons import PARTS
from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from app.search.shown_page import load_shown
from app.tui.preview.explain_pane import explanation_text
from foltr.ranking.interaction import Interaction
from indexer.retrieval.features import NAMES
from tests.app.search.homes import searching

CODE = {
    "src/retry_policy.py": "class RetryPolicy:\n    def wait(self): return self.seconds\n" + "value = 1\n" * 40,
    "tests/test_retry_policy.py": "from retry_policy import RetryPolicy\n" + "# retry policy\n" * 9,
    "docs/usage.md": "# Retry policy\n\nThe retry policy says when a retry happens. A policy is a retry policy.\n",
    "src/client.py": "from retry_policy import RetryPolicy\n\ndef send(policy: RetryPolicy): ...\n" + "x = 2\n" * 30,
}
TEXTS = {f"notes/heron{i}.md": f"# Herons {i}\n\n" + "A heron waits. " * (9 - i) for i in range(6)}


@pytest.fixture
def search(tmp_path: Path) -> Iterator[Search]:
    """A home with a checkout and some notes."""
    with searching(tmp_path, CODE | TEXTS) as opened:
        yield opened


def test_where_a_mail_holds_more_of_the_words_than_source_code_the_page_is_one_of_texts(tmp_path: Path) -> None:
    """Four words of the first query stand in the mail, three in a file of source code; of the second it is the same
    three in both."""
    mail = (
        "From: anna@home.example\nSubject: Friday\n\nHeron. Retry the policy, in seconds. "
        + "It rained on Friday. " * 99
    )
    with searching(tmp_path, CODE | TEXTS | {"mail.eml": mail}) as search:
        kinds = [ask(search, text).reasons for text in ("retry policy seconds heron", "retry policy seconds wait")]
    assert [reasons is not None and reasons.kind is not None for reasons in kinds] == [False, True]


def ask(search: Search, text: str) -> ResultPage:
    return search.search(SearchRequest(text, explore=False))


def names(page: ResultPage) -> list[str]:
    return [os.path.basename(hit.path) for hit in page.hits]


def without_kinds(search: Search, text: str) -> ResultPage:
    with mock.patch("app.search.page_order.page_kind", return_value=None):
        return ask(search, text)


def test_the_share_by_hand() -> None:
    """Two fifths of the squared scores are half way from 30 to 50 %; nothing below, everything above."""
    is_source, bm25f = np.array([False, True]), np.array([np.sqrt(3.0), np.sqrt(2.0)])
    assert share_of_code(is_source, bm25f) == pytest.approx((0.4 - LEAST) / (MOST - LEAST)) == pytest.approx(0.5)
    assert share_of_code(~is_source, bm25f) == 1.0
    assert share_of_code(is_source & False, bm25f) == 0.0
    assert share_of_code(np.zeros(0, dtype=bool), np.zeros(0)) == 0.0
    assert share_of_code(np.array([True, False]), np.zeros(2)) == 0.0


def test_many_weak_pages_of_code_say_nothing() -> None:
    """Sixty files that share a common word with the letter that is asked for do not decide how it is ranked."""
    is_source, bm25f = np.arange(61) > 0, np.full(61, 0.3)
    bm25f[0] = 1.0
    assert share_of_code(is_source, bm25f) == 0.0
    bm25f[1:] = 0.4
    assert share_of_code(is_source, bm25f) == pytest.approx((0.4 - LEAST) / (MOST - LEAST))


@given(st.lists(st.tuples(st.booleans(), st.floats(0.1, 9)), min_size=2, max_size=60))
def test_one_weak_candidate_more_makes_no_jump(found: list[tuple[bool, float]]) -> None:
    """What scores a tenth of the best moves the share by a hundredth of one candidate at most."""
    is_source, bm25f = (np.array(column) for column in zip(*found, strict=True))
    more = np.append(is_source, True), np.append(bm25f, bm25f.max() / 10)
    likely = ((bm25f / bm25f.max()) ** 2).sum()
    change = abs(share_of_code(*more) - share_of_code(is_source, bm25f))
    assert change <= 0.01 / likely / (MOST - LEAST) + 1e-9


def test_a_page_of_texts_is_what_it_was_to_the_bit(search: Search) -> None:
    """Without source code among the candidates no score differs by a bit, and nothing is said of kinds."""
    page, before = ask(search, "heron waits"), without_kinds(search, "heron waits")
    assert [(hit.path, hit.score) for hit in page.hits] == [(hit.path, hit.score) for hit in before.hits]
    assert page.reasons is not None
    assert page.reasons.kind is None
    assert search.explain(page, page.hits[0]).ranked_as == ""


def test_the_implementation_comes_before_its_tests_and_what_is_written_about_it(search: Search) -> None:
    """The words alone prefer the document that says them most; the ranker of code the file that is asked for."""
    assert names(without_kinds(search, "policy of each retry"))[0] != "retry_policy.py"
    assert names(ask(search, "policy of each retry"))[0] == "retry_policy.py"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("retry policy test", "test_retry_policy.py"),
        ("a test for the retry policy", "test_retry_policy.py"),
        ("retry policy docs", "usage.md"),
    ],
)
def test_who_asks_for_tests_or_what_is_written_about_code_gets_it(search: Search, text: str, first: str) -> None:
    """By the word for it; the page is one of source code all the same."""
    page = ask(search, text)
    assert names(page)[0] == first
    assert page.reasons is not None
    assert page.reasons.kind is not None


def test_among_source_code_a_title_and_a_folder_do_not_stand_for_a_name(tmp_path: Path) -> None:
    """A page about it, in a folder of that name, is behind the file that does it."""
    files = {
        "src/shell_completions.go": "package cli\n\n// Shell completion: the generation of a script.\n" * 6,
        "docs/completions/shell.md": "# Generation\n\nCall it so.\n",
        "src/completions.go": "package cli\n\n// completion of a shell, generation\n" * 4,
    }
    with searching(tmp_path, files | {f"src/f{i}.go": "package cli\n// shell\n" for i in range(6)}) as search:
        assert names(ask(search, "shell completion generation"))[0] == "shell_completions.go"


def test_a_letter_that_alone_has_all_words_stays_first(tmp_path: Path) -> None:
    """A checkout in which one of the words is everywhere does not bury it."""
    mail = "From: shop@example.org\nSubject: Your order #4458-2291 has shipped\n\nDear customer, it comes with DHL.\n"
    files = {"parcel.eml": mail}
    for i in range(40):
        files[f"src/order{i}.py"] = f"def order_{i}(order):\n    return order\n" * 9
        files[f"note{i}.txt"] = f"Nothing of it, number {i}."
    with searching(tmp_path, files) as search:
        assert names(ask(search, "order 4458-2291"))[0] == "parcel.eml"


def test_what_is_said_of_a_page_of_code(search: Search) -> None:
    """The kind in words, in the command, the pane and beside the row; the features that counted."""
    page = ask(search, "policy of each retry")
    told = search.explain(page, page.hits[0])
    assert told.ranked_as == "source code"
    assert "Ranked as source code." in " ".join(" ".join(explanation_lines(told, width=80)).split())
    assert "ranked as source code" in explanation_text(told, 100).plain
    assert {"passage", "named_after"} <= {own.feature for own in told.contributions}
    assert search.why(page, page.hits[0]) in ("named by your words", "")


def test_parts_add_up_on_every_share(search: Search) -> None:
    """Whatever the ranker of code has to say, beside habits and picks, the parts come to the score of the row."""
    for share in (0.0, 0.3, 0.8, 1.0):
        with mock.patch("app.search.code_pages.share_of_code", return_value=share):
            for _ in range(2):
                page = ask(search, "policy of each retry")
                reasons = page.reasons
                assert reasons is not None
                scores = [hit.score for hit in page.hits]
                parts = np.delete(reasons.parts, list(PARTS).index("luck"), axis=1)
                np.testing.assert_allclose(parts.sum(axis=1), scores, atol=1e-9)
                assert (reasons.kind is None) == (share == 0.0)
                assert not parts[:, list(PARTS).index("group")].any()
                search.opened(page, page.hits[-1])
                search.leave(page)


def test_a_page_of_code_teaches_habits_and_is_not_kept_for_a_group(search: Search) -> None:
    """What is opened votes and is found again; what a group learns from are pages of texts, as before."""
    page = ask(search, "policy of each retry")
    search.opened(page, page.hits[2])
    assert search.leave(page) is not None
    assert search.store.count_interactions() == 0
    assert search.learner.habits.votes
    assert search.picks.marks([(page.hits[2].path, "", "source")])
    texts = ask(search, "heron waits")
    search.opened(texts, texts.hits[1])
    search.leave(texts)
    assert search.store.count_interactions() == 1


def test_an_assistant_learns_of_tests_and_of_what_is_no_source_code(search: Search) -> None:
    """On pages of code alone; a person's pages have no such marks, and their lessons are not held against chance."""
    roles = {"test_retry_policy.py": {TEST}} | {os.path.basename(name): {NO_CODE} for name in ("usage.md", *TEXTS)}
    with closing(Search(search._settings, structs.replace(search._paths, assistant="own"))) as assistant:
        for one, known in ((search, dict[str, set[str]]()), (assistant, roles)):
            page, texts = ask(one, "policy of each retry"), ask(one, "heron waits")
            code, notes = one._shown.of(page.page_id), one._shown.of(texts.page_id)
            assert code is not None
            assert notes is not None
            assert [set(own) & {TEST, NO_CODE} for own in code.marks] == [
                known.get(name, set()) for name in names(page)
            ]
            assert not any({TEST, NO_CODE} & set(own) for own in notes.marks)
            one.opened(page, page.hits[0])
            one.leave(page)
            assert (BY_TEXT in one.learner.habits.recent[-1].said) == bool(known)


def test_of_source_code_an_assistant_likes_no_age_length_or_other_type(search: Search) -> None:
    """What is one in a hundred questions by chance moved whole pages; of texts it learns these, as a person does."""
    known = {"source", TEST, NO_CODE, BY_TEXT}
    said = []
    with closing(Search(search._settings, structs.replace(search._paths, assistant="own"))) as assistant:
        for one, text in (
            (search, "policy of each retry"),
            (assistant, "policy of each retry"),
            (assistant, "heron waits"),
        ):
            page = ask(one, text)
            one.opened(page, page.hits[2])
            one.leave(page)
            said.append({name for name in one.learner.habits.recent[-1].said if not name.startswith(FOLDER)} - known)
    assert said[0] >= {"long", "markdown"}
    assert said[1] == set()
    assert said[2] & {"long", "short", "new"}


def test_a_lesson_is_held_against_the_ranker_of_code(search: Search) -> None:
    """Opening what stands first by the ranker of code is no surprise: it votes for less than where texts' was asked."""
    page = ask(search, "policy of each retry")
    kept = search._shown.of(page.page_id)
    assert kept is not None
    assert kept.beyond is not None
    assert page.reasons is not None
    np.testing.assert_allclose(
        kept.features @ theta_prior() + kept.beyond, [hit.score for hit in page.hits], atol=1e-6
    )  # fmt: skip
    clicks = np.arange(len(page.hits)) == 0
    said = []
    for beyond in (kept.beyond, None):
        rehearsal = search.learner.rehearsal()
        taught = rehearsal.learner._taught(
            Interaction(kept.features, np.arange(clicks.size), clicks), rehearsal.model, b"q", kept.marks, kept.scores,
            day=date.min, beyond=beyond,
        )  # fmt: skip
        said.append(sum(abs(r) for r, _ in taught.votes.votes[0].said.values()))
    assert said[0] < said[1]


def test_a_kept_page_of_code_teaches_the_same(search: Search) -> None:
    """`open N` learns from the page that the command printed: what the kind added is kept with it."""
    page = ask(search, "policy of each retry")
    shown = search._shown.of(page.page_id)
    assert shown is not None
    search.keep(page)
    kept = load_shown(search.store)
    assert kept is not None
    assert shown.beyond is not None
    assert kept.beyond is not None
    assert kept.beyond.tolist() == shown.beyond.tolist()
    assert kept.features.shape == (len(page.hits), len(NAMES))
