"""A snippet shows the place where most of the words stand together."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.search import snippets
from app.search.results import Snippet
from app.search.snippets import CHUNK, fold_letters, snippet, without_marks

FILL = "lorem ipsum dolor sit amet consetetur " * 20


def shown(made: Snippet) -> list[str]:
    return [made.text[start:end] for start, end in made.spans]


def test_a_short_text_is_shown_whole() -> None:
    """Nothing is cut from a text that fits, and white space is folded."""
    assert snippet("  One\n\ttwo   three.\n", ["two"]) == Snippet("One two three.", ((4, 7),), 2, 0, 2)


def test_the_place_with_most_words_wins() -> None:
    """Two different words together beat one word alone or one word twice, wherever they stand."""
    text = f"apple {FILL} apple apple {FILL} the apple on the\ntree {FILL}"
    made = snippet(text, ["apple", "tree"], width=80)
    assert shown(made) == ["apple", "tree"]
    assert "the apple on the tree" in made.text
    assert made.text.startswith("…")
    assert made.text.endswith("…")


def test_forms_of_one_word_count_once() -> None:
    """House and houses are one word, so a place with another word wins."""
    text = f"house houses housing {FILL} house garden"
    assert shown(snippet(text, ["house", "houses", "housing", "garden"], width=60)) == ["house", "garden"]


def test_a_phrase_beats_its_words() -> None:
    """Where the words are next to each other is better than where they are only near."""
    text = f"new and old houses {FILL} the new houses {FILL}"
    assert shown(snippet(text, ["new", "houses", "new houses"], width=60)) == ["new houses"]


def test_of_places_with_the_same_words_the_one_that_says_them_most_is_shown() -> None:
    """Once first, then three times together: the passage is about it there."""
    made = snippet(f"one tree {FILL} tree and tree by tree {FILL}", ["tree"], width=60)
    assert shown(made) == ["tree", "tree", "tree"]


def test_line_and_page() -> None:
    """Line and page are those of the first match shown, counted from 1."""
    text = "one\ntwo\n" + "three needle\n"
    assert (snippet(text, ["needle"], pages=(0, 4, 8)).line, snippet(text, ["needle"], pages=(0, 4, 8)).page) == (3, 3)
    assert snippet(text, ["two"], pages=(0, 4, 8)).page == 2
    assert snippet(text, ["one"], pages=(0, 4, 8)).page == 1
    assert snippet(text, ["one"]).page == 0


@pytest.mark.parametrize("words", [[], ["absent"], ["*"], [""]])
def test_without_a_match_the_beginning_is_shown(words: list[str]) -> None:
    """A document found by its name shows how it begins, with nothing to highlight."""
    made = snippet("\n\n  " + FILL, words, width=40)
    assert made.text == "lorem ipsum dolor sit amet consetetur…"
    assert (made.spans, made.line, made.page) == ((), 0, 0)
    assert snippet("", words) == Snippet("", (), 0, 0)


def test_a_first_line_that_is_the_title_is_not_said_again() -> None:
    """Without a match the text begins behind it, be it a heading or not; a text of nothing else is shown."""
    assert snippet("# Tomato  soup\n\nRoast them.", [], title="Tomato soup").text == "Roast them."
    assert snippet("Tomato soup\nRoast them.", [], title="Soup").text == "Tomato soup Roast them."
    assert snippet("# Tomato soup\n", [], title="Tomato soup").text == "# Tomato soup"
    assert snippet("Tomato soup\nRoast them.", ["soup"], title="Tomato soup").text == "Tomato soup Roast them."


def test_words_of_the_text_are_shown_before_those_of_its_title() -> None:
    """The title is read above the snippet already, whatever words it holds more; other first lines are no title."""
    text = "# Tomato soup\nRoast them. The soup simmers.\n"
    made = snippet(text, ["tomato", "soup"], title="Tomato soup")
    assert (made.text, shown(made), made.line) == ("Roast them. The soup simmers.", ["soup"], 2)
    assert snippet(text, ["tomato", "soup"], title="Soup").line == 1


def test_marks_of_lines_are_blanks_and_every_word_keeps_its_place() -> None:
    """Signs of headings, rules, fences and the first bar of a row go, stars of lists are points; others stay."""
    table = "| what | how |\n|:-----|----:|\n| basil | a lot - or none |\n"
    note = f"## Soup\n\n{table}\n```sh\nls | wc\n```\nEnd\n===\n#tag\n  * 2 * 3\n*4*\n"
    plain = without_marks(note)
    assert len(plain) == len(note)
    assert " ".join(plain.split()) == "Soup what | how | basil | a lot - or none | sh ls | wc End #tag • 2 * 3 *4*"
    assert plain.index("basil") == note.index("basil")


def test_a_long_text_is_read_until_a_place_has_all_words() -> None:
    """Such a place near the beginning is shown; one that has them all goes before one that has most, however far."""
    near = f"{FILL} a pear tree {FILL}"
    assert shown(snippet(near * 100 + "pear tree pear tree", ["pear", "tree"], width=60)) == ["pear", "tree"]
    far = f"{FILL} pear {FILL}" * 100 + "the pear on the tree"
    assert shown(snippet(far, ["pear", "tree"], width=60)) == ["pear", "tree"]


def test_a_match_far_down_is_found() -> None:
    """A long text is searched to its end when its beginning holds nothing."""
    text = "filler\n" * (3 * CHUNK // 7) + "the needle" + "\nfiller" * 1000
    made = snippet(text, ["needle"])
    assert shown(made) == ["needle"]
    assert made.line == 3 * CHUNK // 7 + 1


def test_control_characters_are_blanks() -> None:
    """What could disturb a terminal is not shown."""
    made = snippet("\x1b[31mred\x00 \u202eneedle\x07\ud800 end", ["needle"])
    assert made.text == "[31mred needle end"
    assert shown(made) == ["needle"]


def test_a_match_longer_than_the_line_is_cut() -> None:
    """A single endless word is shown as far as there is room."""
    made = snippet("x " + "a" * 1000, ["aaa*"], width=50)
    assert len(made.text) <= 50
    assert made.spans[0][1] <= len(made.text)


words = st.sampled_from(["apple", "tree", "Äpfel", "中文", "x", "getName", "a" * 30])
texts = st.lists(words | st.sampled_from([" ", "\n", "  ", "\t", ", ", ". ", "\0"]), max_size=200).map("".join)


@settings(deadline=None)
@given(texts, st.lists(st.sampled_from(["apple", "tree", "apfel", "中文", "na*", "apple tree"]), max_size=4),
       st.integers(20, 200))  # fmt: skip
def test_every_snippet_fits(text: str, sought: list[str], width: int) -> None:
    """A snippet is one line of at most `width` characters, and its spans ascend inside it."""
    made = snippet(text, sought, width=width)
    assert len(made.text) <= width
    assert "\n" not in made.text
    assert "  " not in made.text
    position = 0
    for start, end in made.spans:
        assert position <= start < end <= len(made.text)
        assert made.text[start:end].strip() == made.text[start:end]
        position = end
    assert bool(made.spans) == bool(made.line)


@pytest.mark.parametrize("sign", ["\N{FAMILY}\u200d\N{GIRL}\u200d\N{BOY}", "👍🏽", "e\u0301\u0323", "नी", "ที่"])
def test_no_letter_is_cut_from_its_marks(sign: str) -> None:
    """Whatever the width, a passage begins and ends with whole letters and emoji."""
    for width in range(20, 60):
        shown = snippet(f"{sign * 50} party {sign * 50}", ["party"], width=width).text
        assert shown.strip("… ").replace("party", "").replace(" ", "").replace(sign, "") == ""


def test_every_letter_that_is_spelled_with_several_is_known() -> None:
    """The ranges that are looked through hold all of those that the whole of Unicode's first planes has."""
    spelled: dict[str, str] = {}
    for letter in map(chr, range(0x80, 0x20000)):
        if len(form := snippets._index_form(letter)) > 1 and unicodedata.category(letter) in ("Ll", "Lu", "Lt", "Lo"):
            spelled[form] = spelled.get(form, "") + letter
    assert {form: signs for form, signs in snippets._ligatures().items() if form in spelled} == snippets._ligatures()
    missing = {form for form in spelled.keys() - snippets._ligatures().keys() if form.isascii()}
    assert not missing


def test_letters_fold_alike_whenever_they_come() -> None:
    """One after the other or all at once: what was folded before changes nothing; the length stays."""
    text = "".join(map(chr, [*range(0x80, 0x800), *range(0x1E00, 0x2000), 0x4E2D, 0x1D400, 0x1F600]))
    whole = fold_letters(text)
    assert whole == "".join(map(fold_letters, text))
    assert (len(whole), fold_letters("Ünïcødé"), fold_letters("中é", without_cjk=True)) == (len(text), "Unicode", "·e")


@pytest.mark.parametrize("end", ["", " é"])
def test_a_run_of_blanks_is_one(end: str) -> None:
    """Of white space and of what disturbs a terminal, in ASCII and elsewhere alike."""
    assert snippet(f"the\t\x00 \n\x7f  heron \x1b\r\n fishes{end}", ["heron"]).text == f"the heron fishes{end}"
