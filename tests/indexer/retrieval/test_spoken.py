"""Which documents are in another language than a question, from what the index holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from indexer.query.parse import parse
from indexer.retrieval.matching import Matcher
from indexer.retrieval.spoken import in_other_languages
from indexer.storage.index import Index
from tests.matchers import matcher_of

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
