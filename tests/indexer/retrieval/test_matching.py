"""Which documents a query admits, against an evaluation of the same tree on the texts themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.query.nodes import And, Filter, Node, Not, Or, Phrase, Word, is_filter
from indexer.query.parse import parse
from indexer.retrieval.concepts import ConceptLookup
from indexer.retrieval.matching import Matcher
from indexer.storage.index import Index
from indexer.storage.snapshot import Snapshot
from indexer.text.analysis import sequence
from indexer.text.language import is_function_word, stem
from tests.matchers import matcher_of

MakeIndex = Callable[..., Index]
Document = Mapping[str, Any]

VOCABULARY = ["heron", "herons", "run", "running", "the", "of", "sea"]
TEXT = st.lists(st.sampled_from(VOCABULARY), max_size=5).map(" ".join)
DOCUMENTS = st.lists(
    st.fixed_dictionaries({
        "text": TEXT, "title": TEXT, "type": st.sampled_from(["text", "pdf"]), "size": st.integers(1, 4),
        "changed": st.integers(1, 4), "path": st.sampled_from(["/sea/x.pdf", "/the/run.md", "/of/sea/heron.txt"]),
    }), min_size=1, max_size=6,
)  # fmt: skip
FIELDS = st.sampled_from([None, "title", "body", "name", "path"])
RANGES = st.tuples(st.none() | st.integers(0, 5), st.none() | st.integers(0, 5))
WORDS = st.builds(Word, st.sampled_from([*VOCABULARY, "he", "unknown"]), FIELDS, st.booleans(), st.booleans())
PHRASES = st.builds(Phrase, st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=3).map(" ".join), FIELDS)
FILTERS = (
    st.builds(Filter, st.just("type"), st.just(""), st.sampled_from(["text", "pdf", "mail"]))
    | st.builds(Filter, st.just("ext"), st.just(""), st.sampled_from(["pdf", "md", "zip"]))
    | st.builds(Filter, st.just("dir"), st.just(""), st.sampled_from(["sea", "of", "of/sea", "/of"]))
    | st.builds(Filter, st.sampled_from(["size", "modified"]), st.just(""), RANGES)
)


def _grown(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    def joined(kind: type[And] | type[Or], nodes: list[Node]) -> Node:
        return kind(tuple(child for node in nodes for child in (node.children if isinstance(node, kind) else (node,))))

    several = st.lists(nodes, min_size=2, max_size=4)
    negated = nodes.map(lambda node: node if isinstance(node, Not) else Not(node))
    return st.builds(joined, st.sampled_from([And, Or]), several) | negated


TREES = st.recursive(WORDS | PHRASES | FILTERS, _grown, max_leaves=6)


class OneByOne:
    """The slow twin: every node asked of every document's own words."""

    def __init__(self, documents: list[Document], languages: tuple[str, ...]) -> None:
        self.languages = languages
        self.fields = [
            {"title": sequence(d["title"]), "body": sequence(d["text"]), "name": sequence(d["path"].rpartition("/")[2]),
             "path": sequence(d["path"].rpartition("/")[0].replace("/", " "))} for d in documents
        ]  # fmt: skip
        self.documents = documents
        self.known = {word for fields in self.fields for name in ("title", "body") for word in fields[name]}

    def admits(self, node: Node, i: int) -> bool:
        match node:
            case Word():
                return any(self.answers(word, node) for name in self.where(node.field) for word in self.fields[i][name])
            case Phrase():
                words = sequence(node.text)
                runs = [self.fields[i][name] for name in self.where(node.field)]
                return any(run[k : k + len(words)] == words for run in runs for k in range(len(run)))
            case Filter():
                return self.holds(node, self.documents[i])
            case Not(child):
                return not self.admits(child, i)
            case Or(children):
                return any(self.admits(child, i) for child in children)
            case And(children):
                needed = [c for c in children if not self.is_function_word(c)]
                if all(is_filter(c) or isinstance(c, Not) for c in needed):
                    needed = list(children)
                return all(self.admits(child, i) for child in needed)

    def where(self, field: str | None) -> tuple[str, ...]:
        return ("title", "body", "name", "path") if field is None else ("path", "name") if field == "path" else (field,)

    def answers(self, word: str, asked: Word) -> bool:
        if asked.prefix:
            return word.startswith(asked.text)
        if word == asked.text or asked.exact:
            return word == asked.text
        return word in self.known and any(stem(word, c) == stem(asked.text, c) for c in self.languages)

    def is_function_word(self, node: Node) -> bool:
        plain = isinstance(node, Word) and not (node.exact or node.prefix or node.field)
        return plain and is_function_word(node.text, self.languages)

    @staticmethod
    def holds(condition: Filter, document: Document) -> bool:
        folder, _, name = document["path"].rpartition("/")
        match condition.kind, condition.value:
            case "type", kind:
                return bool(document["type"] == kind)
            case "ext", ending:
                return bool(name.endswith(f".{ending}"))
            case "size", (low, high):
                return (low is None or document["size"] >= low) and (high is None or document["size"] <= high)
            case "modified", (start, end):
                return (start is None or document["changed"] >= start) and (end is None or document["changed"] < end)
            case _, str(where):
                return bool(f"{folder}/".startswith(f"{where}/")) if where[0] == "/" else f"/{where}/" in f"{folder}/"


def matcher(snapshot: Snapshot, documents: list[Document], languages: tuple[str, ...] = ("en",)) -> Matcher:
    def below(folder: str) -> set[int]:
        return {i for i, document in enumerate(documents) if document["path"].startswith(f"{folder}/")}

    return Matcher(ConceptLookup(snapshot, languages), below)


@settings(max_examples=80, deadline=None)
@given(documents=DOCUMENTS, trees=st.lists(TREES, min_size=4, max_size=8), languages=st.sampled_from([(), ("en",)]))
def test_trees_admit_what_they_say(
    make_index: MakeIndex, documents: list[Document], trees: list[Node], languages: tuple[str, ...]
) -> None:
    """Any tree of words, phrases, conditions, AND, OR and NOT, over one segment or several."""
    snapshot = make_index(documents, sizes=[len(documents) // 2]).snapshot()
    twin, own = OneByOne(documents, languages), matcher(snapshot, documents, languages)
    ids = snapshot.documents["doc_id"].tolist()
    for tree in trees:
        admitted = own.admitted(tree)
        assert {ids[i] for i in np.flatnonzero(admitted)} == {i for i in range(len(documents)) if twin.admits(tree, i)}
        if not isinstance(tree, Or):
            assert (admitted <= own.relaxed(tree)).all()


def admitted(snapshot: Snapshot, text: str, *, relaxed: bool = False) -> list[int]:
    """The ids that a query admits; folders given by their path hold nothing."""
    root = parse(text).root
    own = matcher_of(snapshot)
    mask = own.relaxed(root) if relaxed and root is not None else own.admitted(root)
    return sorted(snapshot.documents["doc_id"][mask].tolist())


@pytest.fixture(scope="module")
def notes(make_index: MakeIndex) -> Snapshot:
    english = " and it is not easy to see that it was in the water of the lake"
    return make_index([
        {"text": "the heron waits" + english, "title": "Grey heron", "path": "/sea/birds/heron.md", "type": "markdown"},
        {"text": "houses on the hill", "path": "/sea/Houses.PDF", "type": "pdf", "size": 5_000},
        {"text": "a house, two herons", "author": "Anna Heron", "recipients": "Ben", "path": "/box.mbox",
         "part": "message 1", "type": "mail", "modified": 50.0},
        {"text": "the the", "path": "/x/the"},
        {"text": "東京都、日本 and 東京tower", "path": "/x/tokyo"},
    ]).snapshot()  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("heron", [0, 2]),
        ("=heron", [0, 2]),
        ("body:=heron", [0]),
        ("the heron", [0, 2]),
        ("the", [0, 1, 3]),
        ("house", [1, 2]),
        ("=houses", [1]),
        ("hou*", [1, 2]),
        ("heron -house", [0]),
        ("NOT heron", [1, 3, 4]),
        ("heron OR hill", [0, 1, 2]),
        ('"grey heron"', [0]),
        ('"two herons"', [2]),
        ('"two heron"', []),
        ("title:heron", [0]),
        ("from:heron", [2]),
        ("from:ben", []),
        ("path:birds", [0]),
        ("path:houses", [1]),
        ("dir:sea", [0, 1]),
        ("dir:sea/birds", [0]),
        ("dir:birds/sea", []),
        ("ext:pdf", [1]),
        ("type:mail", [2]),
        ("=the heron", [0]),
        ("the* heron", [0]),
        ("body:the heron", [0]),
        ("type:mail -heron", []),
        ("the type:mail", []),
        ("the -heron", [1, 3]),
        ("of -unknown the", [0]),
        ("lang:en", [0]),
        ("size:>1kb", [1]),
        ("size:..1000b", [0, 2, 3, 4]),
        ("modified:<1980", [2]),
        ('"東京都、日本"', [4]),
        ('"東京tower"', [4]),
        ("都", [4]),
        ('"d41d8cd98f00b204e9800998ecf8427e"', []),
        ("unknown", []),
    ],
)
def test_queries_admit_these_documents(notes: Snapshot, text: str, ids: list[int]) -> None:
    """Worked by hand, from the text of the query on."""
    assert admitted(notes, text) == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("heron hill", [0, 1, 2]),
        ("the heron", [0, 2]),
        ("heron hill type:mail", [2]),
        ("heron type:pdf", []),
        ("type:pdf", [1]),
        ("type:mail OR type:pdf", [1, 2]),
        ('hill "grey heron"', [0]),
        ("hill =houses", [1]),
        ("hill title:heron", [0]),
        ("!", [0, 1, 2, 3, 4]),
        ("the", [0, 1, 3]),
        ("the type:pdf", [1]),
        ("x-waits", [0, 3, 4]),
        ("x-waits heron", [0, 2, 3, 4]),
        ("東京都", [4]),
        ("heron hill -house", [0]),
        ("-heron -hill", [3, 4]),
        ('"grey heron"', [0]),
        ("(heron OR hill) type:pdf", [1]),
    ],
)
def test_relaxed_one_of_the_words_is_enough(notes: Snapshot, text: str, ids: list[int]) -> None:
    """Function words do not count as one of the words, conditions and phrases stay what they are."""
    assert admitted(notes, text, relaxed=True) == ids


def test_removed_documents_are_never_admitted(make_index: MakeIndex) -> None:
    """Neither by a word nor by its absence."""
    snapshot = make_index(["heron", "heron", *["x"] * 9], removed=[0]).snapshot()
    assert admitted(snapshot, "heron") == [1]
    assert 0 not in admitted(snapshot, "NOT heron")
    assert 0 not in admitted(snapshot, "heron unknown", relaxed=True)


def test_words_of_nothing_ask_for_nothing(notes: Snapshot) -> None:
    """A word without letters admits every document; a phrase or a folder without any admits none."""
    own = matcher_of(notes)
    assert own.admitted(Word("!")).tolist() == [True] * 5
    assert own.relaxed(And((Word("!"), Word("unknown")))).tolist() == [False] * 5
    assert own.admitted(Phrase("!")).tolist() == [False] * 5
    assert own.admitted(Filter("dir", "", "!")).tolist() == [False] * 5
    assert own.admitted(Not(Word("!"))).tolist() == [False] * 5
    assert own.admitted(Filter("type", "", "unheard")).tolist() == [False] * 5


@pytest.mark.parametrize(("folder", "asked"), [("/sea", ["/sea"]), ("~/sea", ["~/sea"]), ("sea", []), ("x/sea", [])])
def test_a_folder_given_by_its_path_is_looked_up(notes: Snapshot, folder: str, asked: list[str]) -> None:
    """What begins with / or ~ is one folder, whose documents the caller knows; other names are words of the path."""
    looked_up: list[str] = []

    def below(path: str) -> set[int]:
        looked_up.append(path)
        return {2, 3}

    admitted = Matcher(ConceptLookup(notes, ("en",)), below).admitted(Filter("dir", "", folder))
    assert looked_up == asked
    if asked:
        assert notes.documents["doc_id"][admitted].tolist() == [2, 3]


def test_the_ends_of_ranges(notes: Snapshot) -> None:
    """Sizes are included at both ends, times at the first one only; an open end admits everything to its side."""
    own = matcher_of(notes)
    sizes, times = [1_000, 5_000], [50.0, 1_000_000_000.0]

    def admits(kind: str, value: tuple[float | None, float | None]) -> list[int]:
        return sorted(notes.documents["doc_id"][own.admitted(Filter(kind, "", value))].tolist())

    assert admits("size", (sizes[0], sizes[0])) == [0, 2, 3, 4]
    assert admits("size", (sizes[0] + 1, sizes[1])) == [1]
    assert admits("size", (sizes[0] + 1, sizes[1] - 1)) == []
    assert admits("size", (sizes[1], None)) == [1]
    assert admits("size", (None, sizes[1] - 1)) == [0, 2, 3, 4]
    assert admits("modified", (times[0], times[1])) == [2]
    assert admits("modified", (None, times[0])) == []
    assert admits("modified", (times[1], None)) == [0, 1, 3, 4]
    assert admits("modified", (None, None)) == [0, 1, 2, 3, 4]
