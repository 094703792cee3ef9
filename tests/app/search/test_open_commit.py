"""The newest commit kept open: languages, vocabulary, folders, and what happens when there is a newer one."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.search.facets import folder_names
from app.search.open_commit import Reader, Reading, language_codes
from indexer.documents import ExtractedDocument, FileEntry
from indexer.prepare import prepare_document
from indexer.query.parse import parse
from indexer.retrieval.candidates import Candidates, find
from indexer.storage.catalogue import Catalogue
from indexer.storage.index import Index
from tests.matchers import matcher_of

TEXTS = {
    "en": "the heron is one of the birds that you and I have seen at the lake",
    "de": "der Reiher ist einer von den Vögeln, die wir auf dem See nicht gesehen haben",
    "fr": "le héron est dans les eaux du lac et il ne bouge pas, ce qui est une ruse",
    "es": "la garza está en el agua y no se mueve, por lo que los peces no la ven",
    "nl": "de reiger staat in het water en hij wacht op een vis die er niet is",
    "sv": "hägern står i vattnet och det är inte lätt att se att han väntar på en fisk som är där",
}


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    opened = Catalogue.open(tmp_path / "catalogue.sqlite")
    yield opened
    opened.close()


def add(folder: Path, texts: list[str], first_id: int = 0) -> None:
    with Index.open(folder).writer("test") as writer:
        for i, text in enumerate(texts, start=first_id):
            document = prepare_document(ExtractedDocument(text=text, type="text", title="Title word"))
            writer.add(i, FileEntry(f"/n/{i}.txt", 1, 1, 1, i), document)
        writer.commit()


def languages(folder: Path, catalogue: Catalogue, texts: list[str]) -> tuple[str, ...]:
    add(folder, texts)
    return Reader(folder, catalogue).reading.languages


def test_common_languages_are_stemmed(tmp_path: Path, catalogue: Catalogue) -> None:
    """Most frequent first; one document of a hundred does not make a language common."""
    texts = [TEXTS["de"]] * 60 + [TEXTS["en"]] * 39 + [TEXTS["fr"]]
    assert languages(tmp_path / "index", catalogue, texts) == ("de", "en")


def candidates(reading: Reading, text: str, own_languages: tuple[str, ...]) -> Candidates:
    return find(matcher_of(reading.snapshot, reading.languages, own_languages), parse(text), limit=99)


def found(reading: Reading, text: str) -> list[int]:
    """The documents that a query finds."""
    return sorted(candidates(reading, text, reading.own_languages).docs.tolist())


LETTER = "Sehr geehrte Damen, die Rechnungen von den Mitarbeitern und der Plan für die Häuser sind nicht da."


def test_a_letter_in_a_rare_language_is_stemmed_by_its_own(tmp_path: Path, catalogue: Catalogue) -> None:
    """One of a hundred: bills, staff and houses are found by one of each, in any case of theirs."""
    texts = [TEXTS["en"]] * 98 + [LETTER, "The rechnungen of the firm are in the box that was on the table of it"]
    add(tmp_path / "index", texts)
    reading = Reader(tmp_path / "index", catalogue).reading
    assert (reading.languages, reading.own_languages) == (("en",), ("de",))
    for word in ("Rechnung", "Mitarbeiter", "Haus", "HÄUSERN"):
        assert found(reading, word) == [98], word
    assert found(reading, "rechnungen") == [98, 99]
    assert found(reading, "=Rechnung") == []


def test_a_word_is_found_within_those_that_are_made_of_it(tmp_path: Path, catalogue: Catalogue) -> None:
    """Below the documents that hold it itself, in German documents alone, and not where it is but a part of a stem."""
    texts = [
        "Der Krankenversicherungsbeitrag ist für die Mitarbeiter nicht gestiegen, und das ist auch gut so",
        "Die Versicherung ist nicht da, und der Plan ist auch nicht für die Leute da",
        "The krankenversicherungsbeitrag is one of the words that you and I have seen at the lake",
        "Versicherungsnehmer ist, wer den Vertrag für sich und die anderen mit dem Haus geschlossen hat",
    ]
    add(tmp_path / "index", [*texts, *[TEXTS["en"]] * 400])
    reading = Reader(tmp_path / "index", catalogue).reading
    assert reading.own_languages == ("de",)
    page = candidates(reading, "Versicherung", reading.own_languages)
    assert (page.docs[0], sorted(page.docs.tolist())) == (1, [0, 1, 3])
    assert found(reading, "Arbeit") == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Ağustos faturanın ödemesi yarın", "fatura"),
        ("الفاتورة والكتاب في البيت", "كتاب"),
        ("התשלום של החשבונות", "חשבון"),
        ("Výpadky proudu, údržbář přišel", "vypadek"),
        ("Doniczki są, nawóz też się znajdzie", "doniczek"),
    ],
)
def test_a_word_is_found_with_what_grows_on_it(tmp_path: Path, catalogue: Catalogue, text: str, word: str) -> None:
    """Suffixes of Turkish, an e of Czech and Polish that comes and goes, articles and prepositions of Arabic, Hebrew:
    where the language is common, and where it is rare."""
    for n_others in (0, 99):
        add(tmp_path / f"{n_others}", [TEXTS["en"]] * n_others + [text])
        assert found(Reader(tmp_path / f"{n_others}", catalogue).reading, word) == [n_others]


def test_other_languages_change_nothing_for_a_word_that_they_lack(tmp_path: Path, catalogue: Catalogue) -> None:
    """To the bit: scores of English words beside a German letter, and there are none but English ones without it."""
    add(tmp_path / "index", [TEXTS["en"] + f" and state number {i} of the states" for i in range(60)] + [LETTER])
    reading = Reader(tmp_path / "index", catalogue).reading
    for text in ("heron", "birds at lakes", "state", "number 7", "seeing"):
        pages = [
            find(matcher_of(reading.snapshot, ("en",), own), parse(text), limit=99)
            for own in ((), reading.own_languages)
        ]
        assert pages[0].concepts == pages[1].concepts
        assert pages[0].docs.tobytes() == pages[1].docs.tobytes()
        assert pages[0].bm25f.tobytes() == pages[1].bm25f.tobytes()
    add(tmp_path / "english", [TEXTS["en"]] * 9)
    assert Reader(tmp_path / "english", catalogue).reading.own_languages == ()


def test_each_language_of_many_documents_counts(tmp_path: Path, catalogue: Catalogue) -> None:
    """However many there are: in all of them, words that say nothing are known as such."""
    assert len(languages(tmp_path / "index", catalogue, list(TEXTS.values()))) == len(TEXTS)


def test_unknown_languages_are_taken_for_english(tmp_path: Path, catalogue: Catalogue) -> None:
    """Also in an empty index."""
    assert languages(tmp_path / "index", catalogue, ["x y z"]) == ("en",)
    assert Reader(tmp_path / "empty", catalogue).reading.languages == ("en",)


def test_chosen_languages_are_used_as_they_are(tmp_path: Path, catalogue: Catalogue) -> None:
    """Whatever the documents are in."""
    add(tmp_path / "index", [TEXTS["en"]])
    reading = Reader(tmp_path / "index", catalogue, languages=("fi",)).reading
    assert (reading.languages, reading.own_languages) == (("fi",), ())


def test_languages_by_code_or_name() -> None:
    """Codes and English names in any case; what is neither is passed over."""
    assert language_codes(["english", "DE", "Klingon", "fr"]) == ("en", "de", "fr")
    assert language_codes([]) == ()


def test_the_vocabulary_is_that_of_titles_and_texts(tmp_path: Path, catalogue: Catalogue) -> None:
    """With document frequencies added up."""
    add(tmp_path / "index", ["heron title", "heron"])
    reading = Reader(tmp_path / "index", catalogue).reading
    vocabulary = reading.vocabulary
    assert vocabulary.within("herno", 1) == [("heron", 1, 2)]
    assert [vocabulary.contains(term) for term in ("heron", "title", "word", "stork")] == [2, 1 + 2, 2, 0]


@pytest.mark.parametrize("folder", ["/no/such", "~nobody-of-this-name/x", "", "\ud800", "/a\0b"])
def test_a_folder_that_nobody_has_holds_nothing(tmp_path: Path, catalogue: Catalogue, folder: str) -> None:
    """Whatever it is called."""
    assert Reader(tmp_path / "index", catalogue).reading.folder_ids(folder) == set()


def test_a_newer_commit_is_opened_once(tmp_path: Path, catalogue: Catalogue) -> None:
    """True once for each commit; whoever still has the old reading keeps it."""
    reader = Reader(tmp_path / "index", catalogue)
    old = reader.reading
    assert not reader.refresh()
    add(tmp_path / "index", ["heron"])
    assert (reader.refresh(), reader.refresh()) == (True, False)
    assert (old.snapshot.n_documents, reader.reading.snapshot.n_documents) == (0, 1)


def test_an_index_made_anew_is_another_one_even_at_the_same_generation(tmp_path: Path, catalogue: Catalogue) -> None:
    """Generations start again; the names of segments never come back."""
    folder = tmp_path / "index"
    add(folder, ["heron"])
    reader = Reader(folder, catalogue)
    Index.destroy(folder)
    add(folder, ["stork", "crane"])
    assert Index.open(folder).generation == reader.reading.snapshot.generation
    assert reader.refresh()
    assert reader.reading.snapshot.n_documents == 2


def test_damage_is_trouble_and_not_an_error(tmp_path: Path, catalogue: Catalogue) -> None:
    """An unreadable index is empty and says why; repaired, it is opened."""
    folder = tmp_path / "index"
    add(folder, ["heron"])
    (table,) = folder.glob("*.toc")
    content = table.read_bytes()
    table.write_bytes(b"garbage")
    reader = Reader(folder, catalogue)
    assert reader.reading.snapshot.n_documents == 0
    assert reader.trouble
    assert not reader.refresh()
    table.write_bytes(content)
    assert reader.refresh()
    assert (reader.trouble, reader.reading.snapshot.n_documents) == ("", 1)


def test_an_old_commit_goes_with_the_last_who_reads_it(tmp_path: Path, catalogue: Catalogue) -> None:
    """Its files are closed at once, not when garbage is looked for: nothing in it holds itself."""
    reader = Reader(tmp_path / "index", catalogue)
    assert reader.reading.vocabulary.contains("heron") == 0
    assert folder_names(reader.reading.snapshot, catalogue)
    old = weakref.ref(reader.reading), weakref.ref(reader.reading.snapshot)
    gc.disable()
    try:
        add(tmp_path / "index", ["heron"])
        reader.refresh()
        assert [one() for one in old] == [None, None]
    finally:
        gc.enable()
