"""What an agent may see: only the named folders, whatever it asks."""

from __future__ import annotations

import json
import os
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from app.assistants.granted import (
    BYTES_PER_TOKEN,
    MAX_DOCUMENTS,
    MAX_QUERY,
    MAX_TOKENS,
    Granted,
    RefusedError,
    best_excerpt,
    from_offset,
)
from app.assistants.request_log import Requests
from app.following.indexing import update_index
from app.learning.pick_keys import load_key
from app.paths import Paths
from app.settings import IndexSettings, MeaningSettings, Settings

if TYPE_CHECKING:
    from typing import Any

SECRET = "quokka"
"""a word of documents outside"""


def n_tokens(answer: object) -> int:
    """Of an answer as it is sent; a text within one has no quotes of its own."""
    n_bytes = len(json.dumps(answer, ensure_ascii=False).encode()) - 2 * isinstance(answer, str)
    return -(-n_bytes // BYTES_PER_TOKEN)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index over a folder that is shown, one whose name begins like it, and links between them."""
    home = tmp_path_factory.mktemp("home").resolve()
    inside, beside = home / "work" / "b", home / "work" / "bc"
    for folder in (inside / "deep", beside):
        folder.mkdir(parents=True)
    (inside / "plan.txt").write_text("The plan of the pangolin project.\n")
    (inside / "deep" / "copy.txt").write_text("A copy about the pangolin that lies in two places.\n")
    (beside / "copy of it.txt").write_text("A copy about the pangolin that lies in two places.\n")
    (beside / "secret.txt").write_text(f"The {SECRET} and the pangolin are secret.\n")
    (inside / "leads out.txt").symlink_to(beside / "secret.txt")
    (inside / "out").symlink_to(beside)
    (inside / "long.txt").write_text("okapi\u202e\U000e0041 line\n" * 3000)
    (home / "link to b").symlink_to(inside)
    settings = Settings(
        index=IndexSettings(roots=[str(home)], workers=1, follow_symlinks=True), meaning=MeaningSettings(enabled=False)
    )
    update_index(settings, paths_of(home), holder="test")
    return home


def paths_of(home: Path) -> Paths:
    return Paths(config_dir=home.parent / "config", data_dir=home.parent / "data")


def granted_on(home: Path, *folders: str) -> Granted:
    settings = Settings(meaning=MeaningSettings(enabled=False), index=IndexSettings(roots=[str(home)]))
    return Granted(settings, paths_of(home), [str(home / folder) for folder in folders])


@pytest.fixture
def granted(home: Path) -> Iterator[Granted]:
    one = granted_on(home, "work/b")
    yield one
    one.close()


def found(granted: Granted, query: str) -> set[str]:
    return {Path(result["id"]).name for result in granted.search(query, 50)["results"]}


def test_only_documents_below_the_folder_are_found(granted: Granted, home: Path) -> None:
    """Not those of a folder with a longer name, not what a link leads to, and no copy elsewhere."""
    answer = granted.search("pangolin", 50)
    assert {result["id"] for result in answer["results"]} == {
        str(home / "work/b/plan.txt"), str(home / "work/b/deep/copy.txt"),
    }  # fmt: skip
    assert not any("same_text" in result for result in answer["results"])
    assert "/bc/" not in json.dumps(answer)


@pytest.mark.parametrize(
    "query",
    [
        SECRET, f"pangolin OR {SECRET}", f"NOT nothing OR dir:{{home}}/work/bc {SECRET}", "dir:{home}/work/bc",
        "dir:{home}/work/b/../bc", "(pangolin) OR (dir:bc)", f'name:secret OR "{SECRET} and"', f"{SECRET[:4]}*",
        f"path:bc {SECRET}", "type:text NOT pangolin", f"quoka OR {SECRET}s", f"@all {SECRET}", "-zzz",
    ],
)  # fmt: skip
def test_no_operator_reaches_further(granted: Granted, home: Path, query: str) -> None:
    """Nothing in an answer reveals the document outside: no path, no word, no correction, no number."""
    answer = granted.search(query.replace("{home}", str(home)), 50)
    shown = json.dumps([answer["results"], answer.get("not_understood"), answer.get("did_you_mean")])
    assert SECRET not in shown
    assert "secret.txt" not in shown
    assert "/bc/" not in shown
    assert {Path(result["id"]).name for result in answer["results"]} <= {"plan.txt", "copy.txt", "long.txt"}


def test_a_correction_is_of_words_inside(granted: Granted) -> None:
    """A word that occurs only outside is not offered, and a word spelt correctly only outside is a misspelling here."""
    assert set(granted.search("quoka")) == {"note", "results"}
    assert granted.search("pangolim")["did_you_mean"] == "pangolin"
    assert granted.search("project pangolim")["did_you_mean"] == "project pangolin"
    assert found(granted, "pangolim") == set()
    assert granted.search("secre plan")["results"]
    assert "did_you_mean" not in granted.search("pangolin")


def test_what_stands_outside_makes_no_difference(granted: Granted, home: Path) -> None:
    """A misspelling that occurs in a document outside is corrected like one that occurs nowhere."""
    (home / "work/bc/typo.txt").write_text("pangolan\n")
    settings = Settings(index=IndexSettings(roots=[str(home)], workers=1, follow_symlinks=True))
    update_index(settings, paths_of(home), holder="test")
    answers = [granted.search(word) for word in ("pangolan", "pangolen")]
    assert answers[0] == answers[1]
    assert answers[0]["did_you_mean"] == "pangolin"


def test_ids_of_documents_outside_are_as_unknown_as_any(granted: Granted, home: Path) -> None:
    """`fetch` gives the same line for them as for unknown ids; one such id refuses the whole request."""
    beside = granted_on(home, "work/bc")
    (outside,) = [result["id"] for result in beside.search(SECRET)["results"]]
    assert SECRET in beside.fetch([outside])["documents"][0]["text"]
    beside.close()
    messages = set()
    for id in (
        outside,
        "999999",
        "/no/such",
        "x",
        "",
        "#",
        "\0",
        "/" + "#" * 99,
        f"{home}/work/b/plan.txt#2",
        "file:///",
    ):
        with pytest.raises(RefusedError) as refused:
            granted.fetch([f"{home}/work/b/plan.txt", id])
        messages.add(str(refused.value))
    assert messages == {"no document with this id may be seen; `search` gives ids"}


def test_an_id_holds_after_the_index_was_made_anew(tmp_path: Path) -> None:
    """Ids of parts of a file and of files with undecodable names stay valid, too."""
    home = tmp_path.resolve() / "home"
    home.mkdir()
    Path(os.fsdecode(bytes(home) + b"/num\xffbat #1.txt")).write_text("numbat\n")
    with zipfile.ZipFile(home / "a#b.zip", "w") as archive:
        archive.writestr("in#side.txt", "numbat in the archive\n")
    settings = Settings(index=IndexSettings(roots=[str(home)], workers=1), meaning=MeaningSettings(enabled=False))
    update_index(settings, paths_of(home), holder="test")
    with closing(Granted(settings, paths_of(home), [str(home)])) as one:
        ids = [result["id"] for result in one.search("numbat")["results"]]
    assert f"{home}/a#b.zip#in#side.txt" in ids
    update_index(settings, paths_of(home), holder="test", rebuild=True)
    with closing(Granted(settings, paths_of(home), [str(home)])) as one:
        assert [document["id"] for document in one.fetch(ids)["documents"]] == ids


def test_a_text_comes_in_parts_without_hidden_signs(granted: Granted) -> None:
    """In whole lines, within the requested tokens; invisible directions and tags become blanks."""
    (result,) = granted.search("okapi")["results"]
    parts: list[str] = []
    line: int | None = 1
    while line is not None:
        answer: dict[str, Any] = granted.fetch([result["id"]], line, tokens=2_000)
        (document,) = answer["documents"]
        assert n_tokens(answer) <= 2_000
        assert document["lines"] == [line, line + document["text"].count("\n") - 1]
        parts.append(document["text"])
        line = document.get("next_line")
    assert "".join(parts).strip() == ("okapi   line\n" * 3000).strip()
    for arguments in ((0, 0), (10**9, 0), (1, 10**9), (1, 0, 20), (1, 0, MAX_TOKENS + 1)):
        with pytest.raises(RefusedError, match="wanted"):
            granted.fetch([result["id"]], *arguments)
    for ids in ([], [result["id"]] * (MAX_DOCUMENTS + 1)):
        with pytest.raises(RefusedError, match="for documents"):
            granted.fetch(ids)


def test_several_texts_share_the_tokens(tmp_path: Path) -> None:
    """What a short text leaves is used for the next; a line that is too long continues in its middle."""
    home = tmp_path.resolve() / "home"
    home.mkdir()
    (home / "plan.txt").write_text("The plan of the pangolin project.\n")
    (home / "one line.txt").write_text("quagga " * 1000)
    ids = [str(home / "plan.txt"), str(home / "one line.txt")]
    settings = Settings(index=IndexSettings(roots=[str(home)], workers=1), meaning=MeaningSettings(enabled=False))
    update_index(settings, paths_of(home), holder="test")
    with closing(Granted(settings, paths_of(home), [str(home)])) as one:
        answer, again = one.fetch(ids, tokens=1_000), one.fetch(ids[1:], tokens=20_000)
    short, long = answer["documents"]
    assert short["text"] == "The plan of the pangolin project.\n"
    assert 700 < n_tokens(long) < n_tokens(answer) <= 1_000
    assert (long["lines"], long["next_line"]) == ([1, 1], 1)
    assert again["documents"][0]["text"].rstrip() == ("quagga " * 1000).rstrip()
    assert again["documents"][0]["text"][long["next_offset"] - 7 :][:7] == long["text"][-7:]


def test_results_stay_within_the_tokens_and_go_on(granted: Granted) -> None:
    """Fewer tokens give shorter passages, then fewer results; the first always has a passage, none comes twice."""
    whole = granted.search("pangolin OR okapi", tokens=2_000)
    assert n_tokens(whole) <= 2_000
    assert "next_skip" not in whole
    seen: list[str] = []
    skip: int | None = 0
    while skip is not None:
        answer = granted.search("pangolin OR okapi", tokens=160, skip=skip)
        assert answer["results"]
        assert all(result["text"] for result in answer["results"])
        seen += [result["id"] for result in answer["results"]]
        skip = answer.get("next_skip")
    assert seen == [result["id"] for result in whole["results"]]
    assert len(granted.search("okapi", tokens=500)["results"][0]["text"]) > 3 * 300 // BYTES_PER_TOKEN
    assert granted.search("pangolin", skip=2)["results"] == []


def test_many_results_use_up_the_tokens(tmp_path: Path) -> None:
    """As many results are shown as there is room for."""
    home = tmp_path / "home"
    home.mkdir()
    for number in range(40):
        (home / f"{number}.txt").write_text(f"The quagga number {number}.\n" * 50)
    update_index(Settings(index=IndexSettings(roots=[str(home)], workers=1)), paths_of(home), holder="test")
    with closing(granted_on(home, ".")) as one:
        some, all_ = one.search("quagga", 50, tokens=2_000), one.search("quagga", 50, tokens=20_000)
    assert len(all_["results"]) == 40
    assert 2_000 - 150 < n_tokens(some) <= 2_000
    n_shown = len(some["results"])
    assert (n_shown > 10, some["next_skip"]) == (True, n_shown)
    assert [result["id"] for result in some["results"]] == [result["id"] for result in all_["results"]][:n_shown]


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Granted]:
    """Twenty files of a named assistant: long names, texts of quotes and line ends, one with copies."""
    home = tmp_path_factory.mktemp("crowded").resolve() / "home"
    home.mkdir()
    for number in range(20):
        (home / f"{number:02}{'-long' * (number % 7)}.txt").write_text(
            '"quagga"\n\n\\\t\x01\n' * 9 * number + "quagga" * 600
        )
        (home / f"copy{number}.txt").write_text("quagga\n")
    update_index(Settings(index=IndexSettings(roots=[str(home)], workers=1)), paths_of(home), holder="test")
    settings = Settings(meaning=MeaningSettings(enabled=False), index=IndexSettings(roots=[str(home)]))
    with closing(Granted(settings, structs.replace(paths_of(home), assistant="own"), [str(home)])) as one:
        yield one


@pytest.mark.parametrize("tokens", [100, 101, 150, 333, 1_000, 2_000, 20_000])
def test_a_fetch_keeps_to_its_tokens_and_says_what_it_leaves_out(crowded: Granted, tokens: int) -> None:
    """The first documents that fit are given, and how many wait; all can be fetched in the end."""
    requests = Requests(crowded._search.store, load_key(crowded._paths.key, crowded._search.store))
    ids = sorted(crowded.search("quagga", 50, tokens=20_000)["results"], key=lambda one: len(one["id"]))
    waiting, n_turns = [one["id"] for one in ids][:MAX_DOCUMENTS], 0
    while waiting:
        answer = crowded.fetch(waiting, tokens=tokens)
        assert n_tokens(answer) <= tokens
        assert [one["id"] for one in answer["documents"]] == waiting[: len(answer["documents"])]
        assert len(next(requests.newest(1)).given) == len(answer["documents"])
        n_left = len(waiting) - len(answer["documents"])
        assert answer.get("left_out", "").startswith(f"the last {n_left} of {len(waiting)} ids" if n_left else "")
        if not answer["documents"]:
            assert tokens < 200
            break
        assert all(one["text"] for one in answer["documents"])
        waiting, n_turns = waiting[len(answer["documents"]) :], n_turns + 1
    assert n_turns == 1 or tokens < 2_000


@pytest.mark.parametrize(
    "query", ["quagga", "quaga (type:z", "type:zzz " * 99 + "quagga", "y" * 990, 'modified:"' + "é" * 900]
)
@pytest.mark.parametrize("tokens", [100, 150, 333, 2_000])
def test_a_search_keeps_to_its_tokens_whatever_is_asked(crowded: Granted, query: str, tokens: int) -> None:
    """Remarks, names, copies and characters that JSON doubles are counted; if no result fits, the answer says so."""
    seen, skip = 0, 0
    while skip is not None:
        answer = crowded.search(query, 50, tokens, skip)
        assert n_tokens(answer) <= tokens
        assert answer["results"] or "more tokens" in answer.get("left_out", "") or not seen
        seen, skip = seen + len(answer["results"]), answer.get("next_skip") if answer["results"] else None
    assert seen == len(crowded.search(query, 50, 20_000)["results"]) or tokens < 200


def test_why_answers_below_the_folders_alone(granted: Granted, home: Path) -> None:
    """Elsewhere the answer is the same whether or not a file exists; rules of other folders are not shown."""
    assert granted.why(str(home / "work/b/plan.txt"))["status"] == "indexed"
    assert granted.why(str(home / "work/b/none.txt"))["status"] == "missing"
    messages = set()
    for path in ("work/bc/secret.txt", "work/bc/none.txt", "work/b/../bc/secret.txt", "work/b/out/secret.txt", "work"):
        with pytest.raises(RefusedError) as refused:
            granted.why(str(home / path))
        messages.add(str(refused.value))
    for path in ("plan.txt", "", "a\0b"):
        with pytest.raises(RefusedError):
            granted.why(path)
    assert messages == {"wanted an absolute path below the folders that may be seen"}
    (home / "work/b/.gitignore").write_text("*.log\n")
    (home / "work/b/x.log").write_text("x")
    answer = granted.why(str(home / "work/b/x.log"))
    assert (answer["status"], answer["lines"]) == ("skipped", ["it is skipped (ignored)"])


def test_folders_are_taken_with_their_links_resolved(home: Path) -> None:
    """A link to a folder is that folder; several folders are one view, and the files of each are counted."""
    one = granted_on(home, "link to b")
    both = granted_on(home, "work/b", "work/bc")
    try:
        assert one.folders == (str(home / "work/b"),)
        assert found(one, "pangolin") == {"plan.txt", "copy.txt"}
        assert len(found(both, SECRET)) == 1
        assert found(one, SECRET) == set()
        assert both.n_files > one.n_files == 3
    finally:
        one.close()
        both.close()


def test_a_file_that_becomes_a_link_outwards_is_gone(tmp_path: Path) -> None:
    """Its indexed text is no longer shown when its path now leads elsewhere."""
    home = tmp_path.resolve() / "home"
    (home / "in").mkdir(parents=True)
    (home / "in" / "a.txt").write_text("numbat\n")
    (home / "out.txt").write_text("numbat\n")
    settings = Settings(index=IndexSettings(roots=[str(home)], workers=1), meaning=MeaningSettings(enabled=False))
    update_index(settings, paths_of(home), holder="test")
    one = Granted(settings, paths_of(home), [str(home / "in")])
    try:
        (result,) = one.search("numbat")["results"]
        (home / "in" / "a.txt").unlink()
        (home / "in" / "a.txt").symlink_to(home / "out.txt")
        assert one.search("numbat")["results"] == []
        with pytest.raises(RefusedError):
            one.fetch([result["id"]])
    finally:
        one.close()


def test_requests_are_bounded_and_folders_must_be_there(granted: Granted, home: Path) -> None:
    """Each refusal says what was expected."""
    for query, limit in (("", 10), (" ", 10), ("x" * (MAX_QUERY + 1), 10), ("x", 0), ("x", 51)):
        with pytest.raises(RefusedError, match="wanted"):
            granted.search(query, limit)
    with pytest.raises(RefusedError, match="wanted a folder"):
        granted_on(home, "work/b/plan.txt")
    with pytest.raises(RefusedError, match="got none"):
        granted_on(home)


def test_nothing_of_it_is_remembered(granted: Granted, home: Path) -> None:
    """No pick, no page for `open`, no past query."""
    (result, *_) = granted.search("pangolin")["results"]
    granted.fetch([result["id"]])
    assert not {name for name, n in states(home).items() if n} - {"meta", "keyed", "sqlite_sequence"}


def states(home: Path) -> dict[str, int]:
    """The rows of the person's own state, by table."""
    with closing(sqlite3.connect(paths_of(home).state)) as state:
        tables = [name for (name,) in state.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: state.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}


def test_what_an_assistant_fetches_teaches_its_own_order_alone(tmp_path: Path) -> None:
    """Only with a name and --learn; results that were only shown teach nothing."""
    home = tmp_path.resolve() / "home"
    home.mkdir()
    for i in range(6):
        (home / f"{i}.txt").write_text("numbat facts\n" * (8 - i) + f"page {i}\n")
    settings = Settings(index=IndexSettings(roots=[str(home)], workers=1), meaning=MeaningSettings(enabled=False))
    update_index(settings, paths_of(home), holder="test")
    own, orders = structs.replace(paths_of(home), assistant="own"), []
    for learns, last in ((False, 5), (True, -1), (True, 5), (True, 5)):
        with closing(Granted(settings, own, [str(home)], learns=learns)) as one:
            ids = [result["id"] for result in one.search("numbat")["results"]]
            orders.append([Path(id).stem for id in ids])
            if last >= 0:
                one.fetch([f"{home}/{last}.txt"])
    with closing(Granted(settings, own, [str(home)], learns=True)) as one:
        orders.append([Path(result["id"]).stem for result in one.search("numbat")["results"]])
        newest = list(Requests(one._search.store, load_key(own.key, one._search.store)).newest(2))
    assert orders[0] == orders[1] == orders[2]
    assert orders[-1][0] == "5"
    assert (newest[0].tool, newest[0].query, len(newest[0].given)) == ("search", "numbat", 6)
    assert (newest[1].tool, len(newest[1].given)) == ("fetch", 1)
    with closing(granted_on(home, ".")) as anybody:
        assert [Path(result["id"]).stem for result in anybody.search("numbat")["results"]] == orders[0]
    assert not {name for name, n in states(home).items() if n} - {"meta", "keyed", "sqlite_sequence"}


TEXT = "".join(f"line {i} is about something else\n" for i in range(1, 41)).replace("line 20 is", "the heron is")


def test_an_excerpt_is_the_lines_around_the_best_place() -> None:
    """A quarter of the room is for the lines before: with room for 4 lines of 33 bytes, the one above."""
    found = best_excerpt(TEXT, ("heron",), tokens=(35 + 4 * 33) // BYTES_PER_TOKEN + 1)
    assert found.text.splitlines()[:2] == ["line 19 is about something else", "the heron is about something else"]
    assert (found.line, TEXT[: found.end].count("\n")) == (19, 23)


def test_without_a_match_it_is_the_beginning() -> None:
    """As much of it as there is room for."""
    assert best_excerpt("one\ntwo\n", ("heron",), tokens=2).text == "one\n"
    assert best_excerpt("", ("heron",), tokens=2).text == ""


def test_a_line_that_is_too_long_is_cut_between_letters() -> None:
    """The next passage begins exactly there, so nothing is lost."""
    text = "né" * 10
    first = from_offset(text, 0, tokens=3)
    assert first.text == "nénénén"[:6]
    assert from_offset(text, first.end, tokens=100).text == text[6:]


@given(st.text(alphabet="ab é漢\n", max_size=200), st.integers(1, 20))
def test_any_text_is_read_whole_in_passages_that_keep_to_their_tokens(text: str, tokens: int) -> None:
    """Joined they are the text; each keeps to its limit, except for one letter."""
    at, parts = 0, []
    while at < len(text):
        found = from_offset(text, at, tokens=tokens)
        assert found.end > at
        assert found.line == text.count("\n", 0, at) + 1
        assert n_tokens(found.text) <= tokens
        parts.append(found.text)
        at = found.end
    assert "".join(parts) == text
    assert n_tokens(best_excerpt(text, ("ab", "é"), tokens=tokens).text) <= tokens
