"""Queries become the trees that their text says."""

from __future__ import annotations

import pytest

from indexer.query.nodes import And, Filter, Not, Or, Phrase, Query, Word, is_filter, positive_words, render
from indexer.query.parse import foreign_word, is_distance, parse

NOW = 1_750_000_000.0


def root(text: str, *, as_you_type: bool = False) -> object:
    query = parse(text, now=NOW, as_you_type=as_you_type)
    assert query.problems == ()
    return query.root


def messages(text: str, *, as_you_type: bool = False) -> list[tuple[int, int, str]]:
    query = parse(text, now=NOW, as_you_type=as_you_type)
    return [(problem.position, problem.length, problem.message) for problem in query.problems]


A, B, C, D = Word("a"), Word("b"), Word("c"), Word("d")
PDF, MAIL = Filter("ext", "", "pdf"), Filter("type", "", "mail")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", None),
        ("  \0 \n", None),
        ("a", A),
        ("a b", And((A, B))),
        ("a AND b", And((A, B))),
        ("a OR b", Or((A, B))),
        ("a b OR c d", And((A, Or((B, C)), D))),
        ("a AND b OR c", Or((And((A, B)), C))),
        ("(a b) OR c", Or((And((A, B)), C))),
        ("a (b (c d))", And((A, B, C, D))),
        ("NOT a", Not(A)),
        ("a NOT b", And((A, Not(B)))),
        ("a AND NOT b", And((A, Not(B)))),
        ("a -b", And((A, Not(B)))),
        ("NOT NOT a", A),
        ("-(a b)", Not(And((A, B)))),
        ('-"a b"', Not(Phrase("a b"))),
        ("-=a", Not(Word("a", exact=True))),
        ("a - b", And((A, B))),
        ("--verbose", Word("--verbose")),
        ("and or not", And((Word("and"), Word("or"), Word("not")))),
        ('"AND"', Phrase("AND")),
        ("=AND", Word("AND", exact=True)),
        ('"a b"', Phrase("a b")),
        ("„a b“ «c d»", And((Phrase("a b"), Phrase("c d")))),
        ('a"b c"d', And((A, Phrase("b c"), D))),
        ("print(a)", And((Word("print"), A))),
        ("print()", Word("print()")),
        ("-fPIC", Word("-fPIC")),
        ("!important", Word("!important")),
        ("a !b", And((A, Not(B)))),
        ("a && b || c", Or((And((A, B)), C))),
        ("a! b", And((Word("a!"), B))),
        ("a-(b)-c", And((Word("a-"), B, C))),
        ("A AND B", And((Word("A"), Word("and"), Word("B")))),
        ("2024 AND 2025", And((Word("2024"), Word("2025")))),
        ("tran*", Word("tran", prefix=True)),
        ("=tran*", Word("tran", prefix=True, exact=True)),
        ("C++ & C#", And((Word("C++"), Word("C#")))),
        ('צה"ל a', And((Word('צה"ל'), A))),
        ('"צה"ל ודו”ח" a', And((Phrase('צה"ל ודו”ח'), A))),
        ("日本語 title:中文", And((Word("日本語"), Word("中文", "title")))),
    ],
)
def test_words_and_operators(text: str, tree: object) -> None:
    """Words, phrases and operators give the tree written beside them, without a complaint."""
    assert root(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("title:a", Word("a", "title")),
        ("TITLE:a", Word("a", "title")),
        ("subject:a", Word("a", "subject")),
        ("name:a", Word("a", "name")),
        ("path:/usr/a", Word("/usr/a", "path")),
        ("body:a", Word("a", "body")),
        ("from:a author:a sender:a", And((Word("a", "from"),) * 3)),
        ('title:"a b"', Phrase("a b", "title")),
        ("title:(a b)", And((Word("a", "title"), Word("b", "title")))),
        ("title:(a body:b)", And((Word("a", "title"), Word("b", "body")))),
        ("-title:a", Not(Word("a", "title"))),
        ("title:=a", Word("a", "title", exact=True)),
        ('title:="a b"', Phrase("a b", "title", exact=True)),
        ("title:tran*", Word("tran", "title", prefix=True)),
        ("title:OR", Word("OR", "title")),
        ("ext:pdf", PDF),
        ("ext:.PDF", PDF),
        ("*.pdf", PDF),
        ("name:*.tar.gz", Filter("ext", "", "tar.gz")),
        ("ext:pdf,docx", Or((PDF, Filter("ext", "", "docx")))),
        ("ext:(pdf docx)", Or((PDF, Filter("ext", "", "docx")))),
        ("type:mail", MAIL),
        ("kind:E-Mail", MAIL),
        ("type:slides", Filter("type", "", "presentation")),
        ("type:code", Filter("type", "", "source")),
        ("dir:projects/", Filter("dir", "", "projects")),
        ('in:"My Files"', Filter("dir", "", "My Files")),
        ("folder:/", Filter("dir", "", "/")),
        ("lang:DE-at lang:German", And((Filter("lang", "", "de"),) * 2)),
        ("size:>1mb", Filter("size", ">", (2**20 + 1, None))),
        ("-ext:pdf", Not(PDF)),
    ],
)
def test_fields_and_filters(text: str, tree: object) -> None:
    """A known name before a colon ties a word to a field or makes a filter."""
    assert root(text) == tree


@pytest.mark.parametrize("text", ["http://x", "file:///x", "10:30", "C++::foo", "path::join", "foo:bar", "C:\\x"])
def test_a_colon_elsewhere_is_part_of_the_word(text: str) -> None:
    """Addresses, times and qualified names are plain words, and nothing is said about them."""
    assert root(text) == Word(text)


def test_positions_are_those_of_the_text() -> None:
    """A word's position and length cut it out of the query, without field, sign, star and quotes."""
    text = 'x title:=Foo* -"a b" ext:pdf'
    query = parse(text, now=NOW)
    assert isinstance(query.root, And)
    x, foo, negated, ext = query.root.children
    assert isinstance(foo, Word)
    assert isinstance(negated, Not)
    assert isinstance(negated.child, Phrase)
    cut = [text[node.position : node.position + node.length] for node in (x, foo, negated.child, negated, ext)]
    assert cut == ["x", "Foo", "a b", '-"a b"', "ext:pdf"[4:]]


@pytest.mark.parametrize(
    ("text", "tree", "position", "length", "words"),
    [
        ('a "b c', And((A, Phrase("b c"))), 2, 1, "quote is not closed"),
        ("a (b", And((A, B)), 2, 1, "bracket is not closed"),
        ("a) b", And((A, B)), 1, 1, "this bracket closes nothing"),
        ("a OR", A, 2, 2, "OR stands between"),
        ("AND a", A, 0, 3, "AND stands between"),
        ("a OR OR b", Or((A, B)), 2, 2, "OR stands between"),
        ("a NOT", A, 2, 3, "NOT stands before"),
        ("title: a", A, 0, 6, "title: needs a word"),
        ("a modified:", A, 2, 9, "modified: needs a date"),
        ('a ext:""', A, 6, 2, "needs an ending"),
        ("a modified:soon", A, 11, 4, "no date 'soon'"),
        ("a modified:2024-02-30", A, 11, 10, "no date '2024-02-30'"),
        ("a size:>big", A, 7, 4, "no size 'big'"),
        ("a type:mial", A, 7, 4, "did you mean mail?"),
        ("a type:present", A, 7, 7, "did you mean presentation?"),
        ("a type:zzz", A, 7, 3, "there are text, markdown"),
        ("a lang:uk", A, 7, 2, "no text is known to be in 'uk', only in ar, cs"),
        ("titel:a", Word("titel:a"), 0, 6, "did you mean title:?"),
        ("form:a", Word("form:a"), 0, 5, "did you mean from:?"),
        ("a*b", Word("a*b"), 1, 1, "only at the end of a word"),
        ("&", None, 0, 1, "no word to search for"),
        ("ʼ", None, 0, 1, "no word to search for"),
        ("ﾞ", None, 0, 1, "no word to search for"),
    ],
)
def test_malformed(text: str, tree: object, position: int, length: int, words: str) -> None:
    """What is malformed is passed over, and one problem points at it."""
    query = parse(text, now=NOW)
    assert query.root == tree
    assert [(problem.position, problem.length) for problem in query.problems] == [(position, length)]
    assert words in query.problems[0].message


@pytest.mark.parametrize("text", ["AND", "OR NOT", "()", "-", "(((", '"', "NOT", "title:", "* & |"])
def test_operators_alone_ask_nothing(text: str) -> None:
    """Without a word there is no tree."""
    assert parse(text, now=NOW).root is None


@pytest.mark.parametrize("text", ["AND", "OR OR", '""', "train OR", '"train ticket'])
def test_what_could_not_be_read_is_not_said_to_be_read(text: str) -> None:
    """An operator that a problem tells of has no second line that says what it did."""
    assert parse(text).problems
    assert parse(text).operators == ()


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a b", And((A, Word("b", prefix=True)))),
        ("a b ", And((A, B))),
        ('"a"', Phrase("a")),
        ('a "b c', And((A, Phrase("b c")))),
        ("(a)", A),
        ("(a b", And((A, Word("b", prefix=True)))),
        ("title:a", Word("a", "title", prefix=True)),
        ("a -b", And((A, Not(B)))),
        ("a OR", A),
        ("a NOT ", A),
        ("a title:", A),
        ("a ext:pdf", And((A, PDF))),
        ("-", None),
    ],
)
def test_as_you_type(text: str, tree: object) -> None:
    """The word at the very end is a prefix unless it is excluded, and what may be unfinished is no mistake."""
    assert root(text, as_you_type=True) == tree


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("", True),
        ('a "b c" title:d', True),
        ("a ext:pdf,docx -type:mail", True),
        ("ext:pdf OR type:mail", True),
        ("a AND b", False),
        ("a OR b", False),
        ("a (b OR c)", False),
        ("a -b", False),
        ("NOT a", False),
    ],
)
def test_plain(text: str, plain: bool) -> None:
    """A query is plain when only blanks join its words; conditions may be of any shape."""
    assert parse(text, now=NOW).plain is plain


def test_is_filter() -> None:
    """Filters and what is built of them alone are conditions; anything with a word is not."""
    assert is_filter(PDF)
    assert is_filter(Not(Or((PDF, MAIL))))
    assert not is_filter(And((PDF, A)))
    assert not is_filter(Phrase("a"))


def test_positive_words() -> None:
    """Words under a NOT are left out, the others come in the order of the query."""
    query = parse('a -b (title:c OR "d e") NOT (f OR g) ext:pdf', now=NOW)
    assert positive_words(query) == (A, Word("c", "title"), Phrase("d e"))
    assert positive_words(parse("", now=NOW)) == ()


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a  b", "a b"),
        ("a AND b OR c", "(a AND b) OR c"),
        ("a -b", "a AND NOT b"),
        ("title:(a =b*)", "title:a title:=b*"),
        ("“a b”  type:email size:1kb..2kb", '"a b" type:"mail" size:1024b..2048b'),
        ("since:@10 before:@20", "modified:@10.. modified:..@20"),
    ],
)
def test_render(text: str, canonical: str) -> None:
    """The canonical text of a query is as written here."""
    assert render(parse(text, now=NOW)) == canonical
    assert render(Query("", None)) == ""


def test_too_many_words() -> None:
    """A hundred words are searched for; the rest is passed over and said once."""
    query = parse("a " * 1000, now=NOW)
    assert query.root == And((A,) * 100)
    assert [problem.position for problem in query.problems] == [2 * 100]


def test_too_deep() -> None:
    """Brackets beyond twenty are passed over; the words within stay."""
    deep = 1000
    query = parse("(" * deep + "a" + ")" * deep, now=NOW)
    assert query.root == A
    assert [(problem.position, problem.message) for problem in query.problems] == [
        (20, "brackets deeper than 20 are ignored")
    ]


def test_too_long() -> None:
    """Ten thousand characters are read."""
    query = parse("a" * 10_000 + " b", now=NOW)
    assert query.root == Word("a" * 10_000)
    assert [(problem.position, problem.length) for problem in query.problems] == [(10_000, 2)]


def test_words_with_a_star_beyond_fifty_are_passed_over() -> None:
    """Each costs as much as many words; the rest of the query holds, and it is said once."""
    query = parse(" ".join(f"w{i}*" for i in range(60)) + " heron", now=NOW)
    assert isinstance(query.root, And)
    assert len(query.root.children) == 50 + 1
    assert [problem.message for problem in query.problems] == ["only the first 50 words with a star are searched for"]


@pytest.mark.parametrize(
    "word",
    ["is:spam", "flag:seen", "has:image", "older_than:2d", "intitle:x", "site:x.org", "sort:date",
     "/foo.*bar/", r"/\d+/i", "~word", "word~", "word~2", "wom?n", "NEAR", "NEAR/5", "w/5"],
)  # fmt: skip
def test_words_of_other_programs_are_not_searched_for(word: str) -> None:
    """One line names the word; the rest of the query holds, and the word is no part of it."""
    query = parse(f"heron {word} stork")
    assert query.root == And((Word("heron"), Word("stork")))
    assert [problem.message.startswith(f"{word}: ") for problem in query.problems] == [True]


@pytest.mark.parametrize(
    "word",
    ["http://x.org/a?b=c", "C:\\path", "12:30", "std::vector", "key:value", "host:port", "data:image/png", "is:foo",
     "/etc/", "/usr/lib/x", "~/x", "PROGRA~1", "x~y", "notes.txt~", "near", "exit:0", "int:x", "sizes:x", "top:x",
     "/regex/", "foo->bar", "--near"],
)  # fmt: skip
def test_text_raises_no_false_alarm(word: str) -> None:
    """Addresses, paths, times, names and lines of files are words."""
    assert foreign_word(word) is None
    query = parse(word)
    assert (query.root, query.problems) == (Word(word), ())


def test_a_phrase_with_a_distance_asks_for_its_words() -> None:
    """All of them, each where it stands in the query."""
    query = parse('title:"new house"~5 x')
    assert query.root == And((Word("new", "title"), Word("house", "title"), Word("x")))
    assert isinstance(query.root, And)
    assert [node.position for node in query.root.children] == [7, 11, 20]
    assert [(problem.position, problem.length) for problem in query.problems] == [(17, 2)]
    assert not is_distance("~x")


def test_what_is_being_typed_may_become_anything() -> None:
    """Nothing is said of the last word before it is finished."""
    assert parse("heron is:spam", as_you_type=True).problems == ()
    assert len(parse("heron is:spam ", as_you_type=True).problems) == 1
