"""From the words of a query to the indexed terms that answer them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from indexer.query.nodes import Word, positive_words
from indexer.query.parse import parse
from indexer.retrieval.concepts import (
    COMPLETED,
    NOT_AS_WRITTEN,
    Concept,
    ConceptLookup,
    concepts_of,
    field_counts,
)
from indexer.retrieval.variants import MAX_COMPLETIONS, MAX_FORMS
from indexer.schema import TEXT_FIELDS
from indexer.storage import snapshot as snapshot_module
from indexer.storage.index import Index
from indexer.storage.snapshot import Snapshot
from indexer.text.analysis import fold

MakeIndex = Callable[..., Index]


def concepts(
    snapshot: Snapshot, text: str, *, languages: tuple[str, ...] = ("en",), typing: bool = False
) -> tuple[Concept, ...]:
    return concepts_of(parse(text, as_you_type=typing), ConceptLookup(snapshot, languages))


def forms(snapshot: Snapshot, text: str, **options: object) -> list[set[str]]:
    """The alternatives of each concept, a run of several terms written with blanks."""
    return [{" ".join(run) for run in concept.forms} for concept in concepts(snapshot, text, **options)]


def test_what_is_typed_is_remembered_while_there_is_room(
    make_index: MakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The completions of a beginning are looked up once, and again where others have taken their room."""
    asked: list[str] = []
    for room, expected in ((snapshot_module.CACHE_BYTES, ["h", "s"]), (1, ["h", "s", "h"])):
        monkeypatch.setattr(snapshot_module, "CACHE_BYTES", room)
        snapshot = make_index(["heron stork", "house"]).snapshot()
        look_up = snapshot.terms_with_prefix
        monkeypatch.setattr(
            snapshot, "terms_with_prefix",
            lambda field, prefix, *most, look_up=look_up: asked.append(prefix) or look_up(field, prefix, *most),
        )  # fmt: skip
        asked.clear()
        for text in ("body:h*", "body:s*", "body:h*"):
            concepts(snapshot, text)
        assert asked == expected


@pytest.fixture(scope="module")
def birds(make_index: MakeIndex) -> Snapshot:
    return make_index([
        "heron herons heroned heronry run running runner house houses housing C C++ foo_bar foo bar 3.2.20",
        {"text": "heron 東京都", "title": "Running", "author": "Anna", "path": "/sea/anna.txt"},
        "O'Reilly reillymedia media well-known",
    ]).snapshot()  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("heron", [{"heron", "herons", "heroned"}]),
        ("HERONS", [{"heron", "herons", "heroned"}]),
        ("=heron", [{"heron"}]),
        ("running", [{"running", "run"}]),
        ("houses", [{"houses", "house", "housing"}]),
        ("run house", [{"run", "running"}, {"house", "houses", "housing"}]),
        ("unknown", [{"unknown"}]),
        ("heron*", [{"heron", "herons", "heroned", "heronry"}]),
        ("c++", [{"c++"}]),
        ("c", [{"c"}]),
        ("foo_bar", [{"foo_bar", "foo bar"}]),
        ("=foo_bar", [{"foo_bar"}]),
        ("3.2.20", [{"3.2.20", "3 2 20"}]),
        ("3.2.21", [{"3"}, {"2"}, {"21"}]),
        ("O'Reilly", [{"o"}, {"reilly"}]),
        ("O'ReillyMedia", [{"o"}, {"reillymedia"}]),
        ("well-known", [{"well-known", "well known"}]),
        ('"running houses"', [{"running"}, {"houses"}]),
        ("東京", [{"東京"}]),
        ("東京都", [{"東京"}, {"京都"}]),
        ("京", [{"京", "京都"}]),
        ("d41d8cd98f00b204e9800998ecf8427e", [{"d41d8cd98f00b204e9800998ecf8427e"}]),
        ("-heron run", [{"run", "running"}]),
        ("ext:pdf", []),
    ],
)
def test_what_a_word_of_a_query_stands_for(birds: Snapshot, text: str, expected: list[set[str]]) -> None:
    """Forms with the same stem, completions of a prefix, a joined word whole or in parts; not what is excluded."""
    assert forms(birds, text) == expected


def test_a_stem_that_ends_in_e_is_found_without_it(make_index: MakeIndex) -> None:
    """English puts back the e of short words: the stem of coding is code, of using use."""
    snapshot = make_index(["code coding codes coder", "use using uses used useful usable", "write writing"]).snapshot()
    assert forms(snapshot, "code") == forms(snapshot, "coding") == [{"code", "coding", "codes"}]
    assert forms(snapshot, "use") == forms(snapshot, "using") == [{"use", "using", "uses", "used", "useful"}]
    assert forms(snapshot, "write") == [{"write", "writing"}]


def test_what_an_apostrophe_leaves_of_a_word_is_a_function_word(make_index: MakeIndex) -> None:
    """I'd, don't, l'école; the words beside it have their forms. Names keep both parts, fields too."""
    snapshot = make_index(["l'assurance assurances", "I'd heron O'Neill don't"]).snapshot()

    def asked(text: str, language: str) -> list[tuple[str, bool]]:
        return [(c.surface[0], c.function_word) for c in concepts(snapshot, text, languages=(language,))]

    assert asked("I'd like", "en") == [("i", True), ("d", True), ("like", False)]
    assert asked("don\u2019t we'll", "en") == [("don", True), ("t", True), ("we", True), ("ll", True)]
    assert asked("O'Neill", "en") == [("o", False), ("neill", False)]
    assert asked("title:I'd", "en") == [("i", False), ("d", False)]
    assert forms(snapshot, "l'assurance", languages=("fr",)) == [{"l"}, {"assurance", "assurances"}]


def test_a_word_with_one_piece_is_named_by_it(birds: Snapshot) -> None:
    """Not by the punctuation around it as well."""
    assert [one.surface[0] for one in concepts(birds, ".net --heron")] == ["net", "heron"]


def test_ligatures_are_their_two_letters(make_index: MakeIndex) -> None:
    """Typed in either way, where the index holds the other."""
    snapshot = make_index(["une œuvre, l'œuf", "oeuvre encyclopædia", "poem"]).snapshot()
    assert forms(snapshot, "oeuvre") == forms(snapshot, "œuvre") == [{"oeuvre"}]
    assert forms(snapshot, "œuvres", languages=("fr",)) == [{"oeuvre", "oeuvres"}]
    assert forms(snapshot, "encyclopaedia") == [{"encyclopaedia"}]
    assert forms(snapshot, "poem") == [{"poem"}]


def test_one_character_is_every_pair_that_it_begins(make_index: MakeIndex) -> None:
    """However many there are, and as a phrase and its end too; of Korean, no other syllable that begins as it does."""
    others = [chr(0x5000 + i) for i in range(MAX_COMPLETIONS + 10)]
    texts = [f"我书{other}了" for other in others] + ["책을 읽다", "두 책이", "챈을"]
    snapshot = make_index(texts).snapshot()
    assert forms(snapshot, "书") == forms(snapshot, '"书"') == [{"书"} | {f"书{other}" for other in others}]
    assert forms(snapshot, "책") == [{fold(form) for form in ("책", "책을", "책이")}]
    assert forms(snapshot, '"두 책"') == [{fold("두")}, *forms(snapshot, "책")]
    assert forms(snapshot, "=书") == [{"书"}]


def test_only_the_last_word_is_a_prefix_while_typing(birds: Snapshot) -> None:
    """What is still being typed may become any word that begins so, a mark included."""
    assert forms(birds, "heron ho", typing=True)[0] == {"heron", "herons", "heroned"}
    assert forms(birds, "heron ho", typing=True)[1] == {"ho", "house", "houses", "housing"}
    assert forms(birds, "c+", typing=True)[0] >= {"c", "c++"}
    assert forms(birds, "c++", typing=True) == [{"c++"}]
    assert forms(birds, "foo_b", typing=True) == [{"foo_b", "foo_bar", "foo b"}]


def test_a_word_of_the_index_is_taken_as_finished(make_index: MakeIndex) -> None:
    """Typed or finished it stands for the same, unless another ending is far more common: that one fills in then."""
    common = ["herons and a car", "a heron", "carpet"] + ["carpet"] * 19
    snapshot = make_index(common).snapshot()
    (typed,), (whole,) = concepts(snapshot, "heron", typing=True), concepts(snapshot, "heron")
    assert typed.node.unfinished
    assert (typed.forms, typed.completions, typed.is_beginning) == (whole.forms, (), False)
    (car,) = concepts(snapshot, "car", typing=True)
    assert (car.forms, car.completions, car.is_beginning) == ((("car",),), (("carpet",),), True)
    docs, tf = field_counts(snapshot, car, "body")
    assert docs.tolist() == [0, *range(2, 22)]
    assert tf.tolist() == [1.0] + [COMPLETED] * 20
    (asked,) = concepts(snapshot, "car*", typing=True)
    assert asked.forms == (("car",), ("carpet",))


def test_languages_decide_about_stems_and_function_words(birds: Snapshot) -> None:
    """Without a language nothing is stemmed; a word asked for in its exact form or in a field is no function word."""
    assert forms(birds, "herons", languages=()) == [{"herons"}]
    assert [c.function_word for c in concepts(birds, "the heron")] == [True, False]
    assert [c.function_word for c in concepts(birds, "the heron", languages=("de",))] == [False, False]
    assert [c.function_word for c in concepts(birds, "=the title:the the")] == [False, False, True]


def test_fields_of_a_query_are_fields_of_the_index(birds: Snapshot) -> None:
    """`from:` is the author, `path:` the folders and the file's own name, nothing means everywhere."""
    assert concepts(birds, "x")[0].fields == TEXT_FIELDS
    assert concepts(birds, "from:x")[0].fields == ("author",)
    assert concepts(birds, "path:x")[0].fields == ("path", "name")
    assert [concepts(birds, f"{field}:x")[0].fields for field in ("title", "body", "name")] == [
        ("title",), ("body",), ("name",),
    ]  # fmt: skip


def test_the_most_frequent_forms_are_taken(make_index: MakeIndex) -> None:
    """Of more completions or forms than are looked at, those in most documents; of equally frequent ones, by name."""
    rare = [f"tea{chr(97 + i)}{chr(97 + j)}" for i in range(6) for j in range(6)]
    snapshot = make_index([" ".join(rare), "tear teal", "tear"]).snapshot()
    (concept,) = concepts(snapshot, "tea*")
    assert [run[0] for run in concept.forms] == ["tea", "tear", *sorted([*rare, "teal"])][:MAX_COMPLETIONS]
    many = make_index([" ".join("connect" + ending for ending in ("s", "ed", "ing", "ion", "ions", "ive", "or"))])
    assert len(concepts(many.snapshot(), "connect")[0].forms) <= MAX_FORMS


def counts(snapshot: Snapshot, text: str, field: str = "body") -> dict[int, float]:
    (concept,) = concepts(snapshot, text)
    docs, tf = field_counts(snapshot, concept, field)
    return dict(zip(docs.tolist(), tf.tolist(), strict=True))


def test_forms_of_a_word_are_counted_together(make_index: MakeIndex) -> None:
    """heron, herons, heron: 3 occurrences; a field without the word has no documents."""
    snapshot = make_index(["heron herons heron", "stork", "herons"]).snapshot()
    assert counts(snapshot, "heron") == {0: 1 + 1 + 1, 2: 1}
    assert counts(snapshot, "heron", "title") == {}


def joined_counts(snapshot: Snapshot, text: str, texts: Sequence[str] = ()) -> dict[int, float]:
    """The occurrences of the one joined word of a query, where the texts of the documents may be read."""
    lookup = ConceptLookup(snapshot, ("en",), lambda ids: [(i, texts[i]) for i in ids if i < len(texts)])
    (concept,) = concepts_of(parse(text), lookup)
    docs, tf = lookup.counts(concept)["body"]
    return dict(zip(docs.tolist(), tf.tolist(), strict=True))


def test_a_joined_word_is_its_pieces_next_to_each_other(make_index: MakeIndex) -> None:
    """foo_bar holds foo and bar in a row: one occurrence; apart they are none while there is a row somewhere."""
    snapshot = make_index(["foo_bar foo", "foo x foo bar", "foo x bar", "bar foo_bar foo"]).snapshot()
    assert joined_counts(snapshot, "foo_bar") == {0: 1, 1: 1, 3: 1}
    assert joined_counts(snapshot, "foo-bar") == {0: 1, 1: 1, 3: 1}


def test_a_word_with_a_hyphen_may_be_written_without_it(make_index: MakeIndex) -> None:
    """Wi-Fi finds wi-fi and, counting less, wifi; =wi-fi the former alone; we'll is not well."""
    snapshot = make_index(["wifi wifi", "the wi-fi", "fi wi", "a well", "on-line", "on-line", "online"]).snapshot()
    assert joined_counts(snapshot, "on-line") == {4: 1, 5: 1, 6: COMPLETED}
    assert joined_counts(snapshot, "online") == {4: COMPLETED, 5: COMPLETED, 6: 1}
    assert joined_counts(snapshot, "Wi-Fi") == {0: 2 * COMPLETED, 1: 1}
    assert joined_counts(snapshot, "=wi-fi") == {1: 1}
    assert forms(snapshot, "we'll") == [{"we"}, {"ll"}]


@pytest.mark.parametrize("text", ["大韓민국", "第12회大會", "⑴-⒛x", "½b-cup", "㊂ا"])
def test_pieces_are_looked_up_as_the_index_holds_them(make_index: MakeIndex, text: str) -> None:
    """Taken apart once more they would be other terms: syllables become letters when they are folded."""
    snapshot = make_index([f"heron {text} stork", "other words"]).snapshot()
    found = concepts(snapshot, text)
    assert found
    assert all(snapshot.document_frequency("body", term) for concept in found for term in concept.forms[0])


def test_loose_pieces_count_only_where_nothing_else_does(make_index: MakeIndex) -> None:
    """As often as the rarer of them; pieces that are no words, that no document holds together or of which one is a
    function word are asked for one by one, with their other forms; prefixes count little."""
    snapshot = make_index(["foo x foo bar-x bar", "foo, that is", "x2 y 7 herons"]).snapshot()
    assert joined_counts(snapshot, "bar_foo") == {0: 2}
    assert forms(snapshot, "7.x2") == [{"7"}, {"x2"}]
    assert forms(snapshot, "heron_foo") == [{"heron", "herons"}, {"foo"}]
    for typed, function_words in {
        "is-foo": [True, False],
        "pre-heron": [True, False],
        "dna-7": [False, False],
        "2023年11月": [False] * 4,
    }.items():
        found = concepts_of(parse(typed), ConceptLookup(snapshot, ("en",)))
        assert [concept.function_word for concept in found] == function_words


def test_documents_that_hold_a_word_as_written_count_far_more(make_index: MakeIndex) -> None:
    """One occurrence against two thousandths; where none holds it so, all count in full."""
    texts = ["use --foo-bar", "the foo bar, foo bar", "Foo_Bar()"]
    snapshot = make_index(texts).snapshot()
    assert joined_counts(snapshot, "--foo-bar", texts) == {0: 1, 1: 2 * NOT_AS_WRITTEN, 2: NOT_AS_WRITTEN}
    assert joined_counts(snapshot, "FOO_bar", texts) == {0: NOT_AS_WRITTEN, 1: 2 * NOT_AS_WRITTEN, 2: 1}
    assert joined_counts(snapshot, "foo::bar", texts) == {0: 1, 1: 2, 2: 1}
    assert joined_counts(snapshot, "foo_b*", texts) == {0: NOT_AS_WRITTEN, 1: 2 * NOT_AS_WRITTEN, 2: 1}


def test_words_that_look_like_code_are_meant_as_written_too(make_index: MakeIndex) -> None:
    """e1000e is not a piece of my_e1000e; a plain word is, and keeps its other forms."""
    texts = ["my_e1000e", "the e1000e", "my_heron", "herons"]
    snapshot = make_index(texts).snapshot()
    assert joined_counts(snapshot, "e1000e", texts) == {0: NOT_AS_WRITTEN, 1: 1}
    assert joined_counts(snapshot, "heron", texts) == {2: 1, 3: 1}


def test_letters_and_digits_in_one_may_be_written_apart(make_index: MakeIndex) -> None:
    """Where no document writes them as one: side by side alone, else as what begins so; asked exactly, not at all."""
    texts = ["23 kg of honey, motet BWV 227", "kg 23 and 40 kg", "900v lamps", "HM-BH 714, the ASI533MC", "hm 714 bh"]
    lookup = ConceptLookup(make_index(texts).snapshot(), ("en",))
    expected = {"23kg": [0], "bwv227": [0], "900V": [2], "=23kg": [], "hmbh714": [3], "asi533": [3], "mc533": []}
    for typed, docs in expected.items():
        (concept,) = concepts_of(parse(typed), lookup)
        assert lookup.counts(concept).get("body", ([],))[0] == pytest.approx(docs), typed


@pytest.mark.parametrize(
    ("text", "typed", "other"),
    [
        ("CO2", "CO-2 H_2SO_4", "CO3"), ("plate M-AB 1234", "M-AB1234 MAB1234", "plate M-AB 1235"),
        ("DE 123456789", "DE123456789", "DE 123456788"), ("release v3.11.4", "3.11.4", "release 3.11.5"),
        ("release 3.11.4", "v3.11.4", "v3.11.5"), ("$1,500 is due", "$1500 1500", "$1,501"),
        ("a rug of 60x120", "60×120", "120x60"), ("a rug of 60×120", "60x120", "120×60"), ("USA", "U.S.A.", "U.S."),
        ("N.A.T.O. and S.A.", "nato", "N.A.T. O"),
    ],
)  # fmt: skip
def test_what_is_pasted_is_found_with_other_separators(
    make_index: MakeIndex, text: str, typed: str, other: str
) -> None:
    """A formula, a plate, a number, a version, an amount, a size, an abbreviation, an address; not its neighbour."""
    lookup = ConceptLookup(make_index([text, other, "H2SO4"]).snapshot(), ("en",))
    for node in positive_words(parse(typed)):
        (concept,) = lookup.of(node)
        assert lookup.counts(concept)["body"][0].tolist() == [2 if "SO" in node.text else 0], node.text


def test_what_is_made_of_a_word_counts_little_beside_the_word_itself(make_index: MakeIndex) -> None:
    """Wohnung stands by itself too; Nebenkosten in its compound alone, which counts in full."""
    more = " und das ist nicht richtig, weil wir noch auf den Brief von der Stadt und auf das Geld warten"
    texts = [f"{word} ist alt{more}" for word in ("Die Wohnung", "Der Wohnungsmarkt", "Die Nebenkostenabrechnung")]
    lookup = ConceptLookup(make_index(texts).snapshot(), ("de",))
    for typed, docs, tf in (("wohnung", [0, 1], [1.0, COMPLETED]), ("nebenkosten", [2], [1.0])):
        (concept,) = concepts_of(parse(typed), lookup)
        found = lookup.counts(concept)["body"]
        assert (found[0].tolist(), found[1].tolist()) == (docs, tf)


def test_a_month_is_known_by_its_number_in_names(make_index: MakeIndex) -> None:
    """Beside a year alone, for little where it is not written out; mar is no month, nor is Marco."""
    names = ["Rechnung_2024-03.pdf", "20240315 Strom.pdf", "Miete 03.2024.pdf", "2024-05.pdf", "03 Bilder.zip"]
    snapshot = make_index([{"path": f"/x/{name}"} for name in [*names, "März.txt"]]).snapshot()
    for word, expected in (("März", [0, 1, 2, 5]), ("march", [0, 1, 2]), ("maart", [0, 1, 2]), ("mar", []),
                           ("mai", [3]),
                               ("may", [3]), ("мая", [3]), ("april", []), ("marco", [])):  # fmt: skip
        lookup = ConceptLookup(snapshot, ("de", "en"))
        (concept,) = lookup.of(Word(word))
        docs, tf = field_counts(snapshot, concept, "name")
        assert docs.tolist() == expected, word
        assert tf.tolist() == [COMPLETED if number < 5 else 1.0 for number in expected]


def test_a_word_of_a_name_may_go_on_with_a_number(make_index: MakeIndex) -> None:
    """scan0012 for scan and 20240315 for 2024, for little; not scanner, and not where the very word is asked for."""
    names = ["scan0012.pdf", "scan.pdf", "scanner.pdf", "20240315.pdf", "2024.pdf", "20250315.pdf"]
    snapshot = make_index([{"path": f"/x/{name}"} for name in names]).snapshot()
    for word, expected in ((Word("scan"), [COMPLETED, 1.0, 0, 0, 0, 0]), (Word("2024"), [0, 0, 0, COMPLETED, 1.0, 0]),
                           (Word("scan", exact=True), [0, 1.0, 0, 0, 0, 0])):  # fmt: skip
        (concept,) = ConceptLookup(snapshot, ("en",)).of(word)
        docs, tf = field_counts(snapshot, concept, "name")
        assert [dict(zip(docs.tolist(), tf.tolist(), strict=True)).get(i, 0) for i in range(6)] == expected


def test_a_year_in_a_name_is_the_beginning_of_its_dates(make_index: MakeIndex) -> None:
    """IMG_2026 finds IMG_20260815 and IMG_2026_0815 among names, in texts only itself."""
    names = ["IMG_20260815_1.jpg", "IMG_2026_0815.jpg", "IMG_2025_2026.jpg", "IMG_20250815.jpg"]
    documents: list[dict[str, str]] = [{"path": f"/photos/{name}"} for name in names]
    snapshot = make_index([*documents, {"text": "IMG_20260815"}, {"text": "img 2026"}]).snapshot()
    lookup = ConceptLookup(snapshot, ("en",))
    (concept,) = lookup.of(Word("IMG_2026"))
    found = {field: docs.tolist() for field, (docs, _) in lookup.counts(concept).items()}
    assert found == {"name": [0, 1], "body": [5]}
