from __future__ import annotations

import hashlib
import math
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from app.learning import pick_keys
from app.learning import picks as picks_module
from app.learning.pick_keys import load_key
from app.learning.picks import MAX_DOCUMENTS, MAX_PICKS, Document, Picks
from app.store import Store
from indexer.retrieval.feature_values import Usage
from indexer.retrieval.features import USAGE_NAMES

DAY = 86400.0
NOW = 1_800_000_000.0
A: Document = ("/home/anna/notes/budget.md", "", "markdown")
B: Document = ("/home/anna/notes/plan.md", "", "markdown")
C: Document = ("/home/anna/work/report.pdf", "", "pdf")


@pytest.fixture
def picks(store: Store, tmp_path: Path) -> Picks:
    return Picks(store, load_key(tmp_path / "key", store))


def pick(picks: Picks, document: Document, terms: list[str], *, times: int = 1, now: float = NOW) -> None:
    for _ in range(times):
        picks.record(terms, document[0], document[1], type=document[2], now=now)


def matrix(usage: Usage) -> np.ndarray:
    """All six numbers as columns, `[n_docs, 6]`."""
    return np.column_stack([getattr(usage, name) for name in USAGE_NAMES])


def look(picks: Picks, terms: list[str], *documents: Document, now: float = NOW) -> Usage:
    return picks.usage(terms, documents or (A, B, C), now=now)


def test_nothing_is_known_at_first(picks: Picks) -> None:
    """A new memory gives zeros for every document."""
    assert not matrix(look(picks, ["budget"])).any()


@pytest.mark.parametrize(("n", "value"), [(1, 1 / 17), (2, 16 / 32), (3, 81 / 97), (5, 625 / 641)])
def test_one_pick_counts_little_and_three_count_much(picks: Picks, n: int, value: float) -> None:
    """same_query is n^4 / (n^4 + 16): .06, .5, .84, .98."""
    pick(picks, A, ["budget"], times=n)
    assert look(picks, ["budget"]).same_query.tolist() == pytest.approx([value, 0, 0])


def test_the_order_of_words_does_not_matter(picks: Picks) -> None:
    """A query is a set of terms."""
    pick(picks, A, ["budget", "2024", "budget"])
    assert look(picks, ["2024", "budget"]).same_query[0] == 1 / 17


def test_similar_queries_count_by_their_common_words(picks: Picks) -> None:
    """3 picks for {a, b} seen from {a, b, c}: Jaccard 2/3, so 4/9 of the strength of 3 picks."""
    pick(picks, A, ["a", "b"], times=3)
    usage = look(picks, ["a", "b", "c"])
    assert usage.similar_query[0] == pytest.approx((2 / 3) ** 2 * 81 / 97)
    assert usage.same_query[0] == 0
    assert look(picks, ["a", "b"]).similar_query[0] == 0
    assert not look(picks, ["c", "d"]).similar_query.any()


def test_an_unfinished_word_is_looked_up_by_what_it_may_become(picks: Picks) -> None:
    """While "bud" is typed, picks for "budget" are found through its completions; the best ending counts."""
    pick(picks, A, ["2024", "budget"], times=3)
    typed = picks.usage(["2024", "bud"], [A], now=NOW, completions=["budget", "buddy"])
    assert typed.same_query[0] == pytest.approx(81 / 97)
    assert picks.usage(["2024", "bud"], [A], now=NOW).same_query[0] == 0


def test_opening_counts_over_all_queries(picks: Picks) -> None:
    """opened is n^4 / (n^4 + 81) over all queries, also those without words."""
    pick(picks, A, ["budget"])
    pick(picks, A, ["money"])
    pick(picks, A, [])
    assert look(picks, ["other"]).opened.tolist() == pytest.approx([81 / 162, 0, 0])
    assert not look(picks, []).same_query.any()


def test_recency_halves_in_two_weeks(picks: Picks) -> None:
    """After 14 days half of opened_recently is left, and one pick gives half of what many give."""
    pick(picks, A, ["budget"])
    assert look(picks, ["x"]).opened_recently[0] == pytest.approx(1 / 2)
    left = 2.0 ** (-14 / 60)
    later = look(picks, ["x"], now=NOW + 14 * DAY).opened_recently[0]
    assert later == pytest.approx(0.5 * left**4 / (left**4 + 1))


def test_picks_fade_with_time(picks: Picks) -> None:
    """After 60 days two picks count as one; after years nothing matters."""
    pick(picks, A, ["budget"], times=2)
    assert look(picks, ["budget"], now=NOW + 60 * DAY).same_query[0] == pytest.approx(1 / 17)
    assert matrix(look(picks, ["budget"], now=NOW + 2000 * DAY)).max() < 1e-6


def test_a_clock_set_back_changes_nothing(picks: Picks) -> None:
    """A pick from the future counts as one of now."""
    pick(picks, A, ["budget"])
    usage = look(picks, ["budget"], now=NOW - 400 * DAY)
    assert (usage.same_query[0], usage.opened_recently[0]) == (1 / 17, 1 / 2)


def test_a_document_drifts_back_when_another_is_picked(picks: Picks) -> None:
    """Each pick of B for A's query leaves 3/4 of A's; after three B stands above A although A had five."""
    pick(picks, A, ["budget"], times=5)
    pick(picks, B, ["budget"])
    n = 5 * 0.75
    assert look(picks, ["budget"]).same_query[0] == pytest.approx(n**4 / (n**4 + 16))
    pick(picks, B, ["budget"], times=2)
    usage = look(picks, ["budget"])
    assert usage.same_query[1] > usage.same_query[0] > 0


def test_picks_for_another_query_are_no_competition(picks: Picks) -> None:
    """Opening B for another query leaves A's picks alone."""
    pick(picks, A, ["budget"], times=3)
    pick(picks, B, ["plan"], times=5)
    assert look(picks, ["budget"]).same_query[0] == pytest.approx(81 / 97)


def test_folders_and_types_share_in_the_picks(picks: Picks) -> None:
    """4 picks in notes/, none elsewhere: 4 / (4 + 8) for both documents there, a quarter of it beside."""
    pick(picks, A, ["budget"], times=4)
    usage = look(picks, ["other"])
    assert usage.folder_share.tolist() == pytest.approx([4 / 12, 4 / 12, 0.25 * 4 / 12])
    assert usage.type_share.tolist() == pytest.approx([4 / 12, 4 / 12, 0])
    deeper: Document = ("/home/anna/notes/old/x.md", "", "text")
    assert look(picks, ["other"], deeper).folder_share[0] == pytest.approx(0.25 * 4 / 12)


def test_everything_stays_between_zero_and_one(picks: Picks) -> None:
    """Hundreds of picks saturate below 1."""
    pick(picks, A, ["budget"], times=300)
    pick(picks, A, ["budget", "plan"], times=50)
    values = matrix(look(picks, ["budget"]))
    assert (values >= 0).all()
    assert (values <= 1).all()
    assert values[0].min() > 0.1


def test_parts_of_one_file_are_different_documents(picks: Picks) -> None:
    """Opening message 3 of a mailbox says nothing about message 4, except that they share a folder."""
    pick(picks, ("/mail/inbox", "message 3", "mail"), ["anna"], times=3)
    usage = look(picks, ["anna"], ("/mail/inbox", "message 3", "mail"), ("/mail/inbox", "message 4", "mail"))
    assert usage.same_query[1] == usage.opened[1] == 0
    assert usage.folder_share[0] == usage.folder_share[1] > 0


def test_picks_follow_a_moved_file(picks: Picks) -> None:
    """After a rename the new path has the picks, the old one none, and the new folder the share."""
    pick(picks, A, ["budget"], times=3)
    new: Document = ("/home/anna/archive/budget-2024.md", "", "markdown")
    assert picks.rename(A[0], new[0]) == 1
    usage = look(picks, ["budget"], A, new)
    assert usage.same_query.tolist() == pytest.approx([0, 81 / 97])
    assert usage.folder_share[1] == pytest.approx(3 / 11)


def test_picks_follow_a_moved_folder(picks: Picks) -> None:
    """Moving a folder takes everything below it along, and not its neighbour whose name begins alike."""
    neighbour: Document = ("/home/anna/notes-old/x.md", "", "markdown")
    for document in (A, B, C, neighbour):
        pick(picks, document, ["budget"])
    assert picks.rename("/home/anna/notes", "/srv/share/anna") == 2
    moved = look(picks, ["budget"], ("/srv/share/anna/budget.md", "", "markdown"), A, C, neighbour)
    assert moved.opened.tolist() == pytest.approx([1 / 82, 0, 1 / 82, 1 / 82])


def test_names_that_are_not_utf8(picks: Picks) -> None:
    """A path with undecodable bytes and a term with a lone surrogate are remembered like others."""
    odd: Document = ("/home/anna/caf\udce9/\udcff.txt", "", "text")
    pick(picks, odd, ["x\ud800"], times=3)
    assert look(picks, ["x\ud800"], odd).same_query[0] == pytest.approx(81 / 97)


def test_nothing_is_readable_in_the_file(store: Store, picks: Picks) -> None:
    """Neither the state file nor its log holds a term, a path, its plain hash or the key; only keyed hashes."""
    for document in (A, B, C):
        pick(picks, document, ["secretterm", "budget"])
    key = load_key(store.path.parent / "key", store)
    content = b"".join(p.read_bytes() for p in store.path.parent.glob("state.sqlite*"))
    for text in (b"secretterm", b"budget", b"anna", b"notes", b"report"):
        assert text not in content
        assert hashlib.sha256(text).digest()[:8] not in content
    assert key not in content


def test_a_query_can_be_recorded_by_its_key(picks: Picks) -> None:
    """What `query_key` gives stands for the terms, so that a page can be kept without its text."""
    picks.record(picks.query_key(["b", "a"]), A[0], "", type="markdown", now=NOW)
    assert look(picks, ["a", "b"]).same_query[0] == 1 / 17


def test_picks_survive_and_are_seen_by_another_process(store: Store, picks: Picks) -> None:
    """A second memory over the same file sees what the first recorded, at once, in both directions."""
    with Store(store.path) as other_store:
        other = Picks(other_store, load_key(store.path.parent / "key", store))
        pick(picks, A, ["budget"])
        assert look(other, ["budget"]).same_query[0] == 1 / 17
        pick(other, A, ["budget"])
        assert look(picks, ["budget"]).same_query[0] == 4 / 8
        other.hold((), ())
        for memory in (other, picks):
            assert not matrix(look(memory, ["budget"])).any()


def test_an_undone_transaction_leaves_no_trace_in_memory(store: Store, picks: Picks) -> None:
    """When the transaction around a pick fails, the pick is gone from the file and from memory."""

    def fail_after_a_pick() -> None:
        with store.transaction():
            pick(picks, A, ["budget"])
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail_after_a_pick()
    assert not matrix(look(picks, ["budget"])).any()


def test_switched_off_it_stores_and_knows_nothing(store: Store, picks: Picks) -> None:
    """Off: zeros, whatever is stored; nothing new is stored; clear still works."""
    pick(picks, A, ["budget"])
    off = Picks(store, load_key(store.path.parent / "key", store), enabled=False)
    pick(off, B, ["budget"])
    assert not matrix(look(off, ["budget"])).any()
    assert off.rename(A[0], B[0]) == 0
    assert off.count() == 1
    off.clear()
    assert off.count() == 0
    assert not matrix(look(picks, ["budget"])).any()


def test_picks_of_a_lost_key_are_erased(store: Store, picks: Picks) -> None:
    """With a new key old picks can never match: they are removed rather than kept as dead weight."""
    pick(picks, A, ["budget"])
    renewed = Picks(store, bytes(32))
    assert renewed.count() == 0


def fill(store: Store, picks: Picks, n: int) -> list[Document]:
    """n picks of n / 5 documents for random queries, written at once."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(400)]
    documents: list[Document] = [(f"/home/anna/f{i % 40}/d{i}.md", "", "markdown") for i in range(n // 5)]
    with store.transaction(durable=False) as db:
        for i in range(n):
            path, part, type_ = documents[i % len(documents)]
            hashed = picks._hasher.path(path)
            name = picks._hasher.document(hashed, picks._hasher.part(part))
            query = pick_keys.pack(picks.query_key([*rng.choice(words, 3), str(i)]))
            db.execute(
                "INSERT OR REPLACE INTO picked_documents VALUES (?, ?, ?, ?, 1, ?)",
                (name, hashed, picks._hasher.part(part), picks._hasher.type(type_), NOW + i),
            )
            db.execute("INSERT OR REPLACE INTO picks VALUES (?, ?, 1, ?)", (name, query, NOW + i))
        store.set_value("picks revision", b"filled")
    return documents


def test_many_picks_are_looked_up_as_by_a_plain_loop(store: Store, picks: Picks) -> None:
    """100 candidates against 1,000 picks of 200 documents: the answer equals a plain loop over all picks."""
    documents = fill(store, picks, 1_000)[:100]
    terms = ["word1", "word2", "word3"]
    usage = look(picks, terms, *documents)
    key, n = picks.query_key(terms), dict.fromkeys(range(100), 0.0)
    names = [picks._hasher.document(picks._hasher.path(p), picks._hasher.part(part)) for p, part, _ in documents]
    for document, query in store.rows("SELECT document, query FROM picks"):
        if document in names:
            other = pick_keys.unpack(query)
            n[names.index(document)] += (len(key & other) / len(key | other)) ** 2
    expected = np.array(list(n.values())) * (1 / 17)
    np.testing.assert_allclose(usage.similar_query, np.minimum(expected, 1.0), atol=1e-12)
    assert usage.similar_query.any()


def test_a_pick_of_which_nothing_is_left_is_removed(store: Store, picks: Picks) -> None:
    """One pick after 16 of others is .75^16 = .01002 and stays in the file; the next one takes it below .01."""
    pick(picks, A, ["budget"])
    pick(picks, B, ["budget"], times=16)
    assert len(store.rows("SELECT * FROM picks")) == 2
    pick(picks, B, ["budget"])
    assert len(store.rows("SELECT * FROM picks")) == 1
    assert picks.count() == 2


def test_a_rival_counts_for_its_own_query_alone(picks: Picks) -> None:
    """A was picked for two queries: B takes a quarter of it for the one it is opened for, nothing for the other."""
    pick(picks, A, ["budget"], times=2)
    pick(picks, A, ["money"], times=2)
    pick(picks, B, ["budget"])
    n = 2 * 0.75
    assert look(picks, ["budget"]).same_query.tolist() == pytest.approx([n**4 / (n**4 + 16), 1 / 17, 0])
    assert look(picks, ["money"]).same_query.tolist() == pytest.approx([1 / 2, 0, 0])


def test_picks_of_different_times_add_up_as_they_have_faded(picks: Picks) -> None:
    """Two picks, 60 days later one more: (2 / 2 + 1) of now, for the query, the document, its folder and its type."""
    pick(picks, A, ["budget"], times=2)
    pick(picks, A, ["budget"], now=NOW + 60 * DAY)
    usage = look(picks, ["budget"], now=NOW + 60 * DAY)
    n = 2 / 2 + 1
    assert usage.same_query[0] == pytest.approx(n**4 / (n**4 + 2**4))
    assert usage.opened[0] == pytest.approx(n**4 / (n**4 + 3**4))
    assert (usage.folder_share[0], usage.type_share[0]) == (pytest.approx(n / (n + 8)), pytest.approx(n / (n + 8)))


def test_shares_add_up_documents_of_different_times(picks: Picks) -> None:
    """Two picks of A 60 days ago and one of B now: 2 / 2 + 1 in their folder, in whichever order they are read."""
    pick(picks, A, ["budget"], times=2)
    pick(picks, B, ["plan"], now=NOW + 60 * DAY)
    pick(picks, C, ["report"], now=NOW - 60 * DAY)
    usage = look(picks, ["other"], now=NOW + 60 * DAY)
    notes, work = 2 / 2 + 1, 1 / 4
    share = notes + 0.25 * work, work + 0.25 * notes
    assert usage.folder_share.tolist() == pytest.approx([s / (notes + work + 8) for s in (share[0], *share)])
    assert usage.type_share.tolist() == pytest.approx([s / (notes + work + 8) for s in (notes, notes, work)])


def test_the_folder_above_and_the_folders_beside_count_a_quarter(picks: Picks) -> None:
    """Four picks in /a/b: a quarter of them in /a/b/c below and in /a/x beside, none in /a above or /y/x elsewhere."""
    pick(picks, ("/a/b/one.md", "", "markdown"), ["w"], times=4)
    others: list[Document] = [
        (f"{folder}/x", "", "text") for folder in ("/a/b", "/a/b/c", "/a/x", "/a", "/y/x", "/a/b/c/d")
    ]
    shares = look(picks, ["other"], *others).folder_share * (4 + 8)
    assert shares.tolist() == pytest.approx([4, 0.25 * 4, 0.25 * 4, 0, 0, 0])


def test_a_similar_query_counts_by_strength_not_by_number(picks: Picks) -> None:
    """Picks for {a, b} and {a, c} seen from {a}: each query's strength times (1 / 2)^2, together at most 1."""
    pick(picks, A, ["a", "b"], times=2)
    pick(picks, A, ["a", "c"], times=3)
    usage = look(picks, ["a"])
    assert usage.similar_query[0] == pytest.approx((1 / 2) ** 2 * (16 / 32) + (1 / 2) ** 2 * (81 / 97))
    for other in "defghijkl":
        pick(picks, A, ["a", other], times=4)
    assert look(picks, ["a"]).similar_query[0] == 1.0


def test_similar_queries_add_up_to_the_same_whatever_their_order(picks: Picks) -> None:
    """To the last bit, though queries are kept in the order of their hashes, which each process draws anew."""
    shares = list[float]()
    for n_others, times in enumerate([1, 2, 1, 3, 1, 2, 4, 1, 2, 3] * 2, start=3):
        pick(picks, A, ["a", *(f"{n_others}x{i}" for i in range(n_others))], times=times)
        shares.append((1 / (n_others + 1)) ** 2 * float(times**4 / (times**4 + 16)))
    assert look(picks, ["a"]).similar_query[0] == math.fsum(shares) < 1


def test_the_ending_that_is_remembered_best_counts(picks: Picks) -> None:
    """Of two completions the stronger one counts, for the same and for similar queries; words before stay as asked."""
    pick(picks, A, ["tax", "budget"], times=1)
    pick(picks, A, ["tax", "buddy"], times=3)
    for completions in (["budget", "buddy"], ["buddy", "budget"]):
        usage = picks.usage(["tax", "bud"], [A], now=NOW, completions=completions)
        assert usage.same_query[0] == pytest.approx(81 / 97)
        assert usage.similar_query[0] == pytest.approx(max((1 / 3) ** 2 * (1 / 17 + 81 / 97), (1 / 3) ** 2 * 81 / 97))
    assert not picks.usage(["bud"], [A], now=NOW, completions=["budget"]).same_query.any()
    assert not matrix(picks.usage([], [A], now=NOW, completions=["budget"]))[:, 2:4].any()


def test_twenty_completions_are_looked_up(picks: Picks) -> None:
    """The twentieth ending is found, the one after it is not: a letter alone may become thousands of words."""
    pick(picks, A, ["budget"], times=3)
    many = [f"b{n}" for n in range(19)]
    assert picks.usage(["b"], [A], now=NOW, completions=[*many, "budget"]).same_query[0] == pytest.approx(81 / 97)
    assert picks.usage(["b"], [A], now=NOW, completions=[*many, "b19", "budget"]).same_query[0] == 0


def test_renaming_onto_a_picked_file_adds_what_is_left_of_both(picks: Picks) -> None:
    """Of A four picks for two queries 60 days ago, of B one now: the file has 4 / 2 + 1, each query what is left."""
    pick(picks, A, ["budget"], times=2)
    pick(picks, A, ["money"], times=2)
    pick(picks, B, ["plan"], now=NOW + 60 * DAY)
    pick(picks, C, ["report"])
    assert picks.rename(A[0], B[0]) == 1
    assert picks.rename("/nowhere", "/elsewhere") == 0
    later, n = NOW + 60 * DAY, (2 + 2) / 2 + 1
    assert picks.count() == 2
    assert look(picks, ["other"], now=later).opened.tolist() == pytest.approx(
        [0, n**4 / (n**4 + 81), 0.5**4 / (0.5**4 + 81)]
    )
    for terms in (["budget"], ["money"], ["plan"]):
        assert look(picks, terms, now=later).same_query.tolist() == pytest.approx([0, 1 / 17, 0])


def test_picks_of_one_query_meet_under_one_name(picks: Picks) -> None:
    """Two picks of A for a query, one of B for it 60 days later: as B it has 3/4 of 2, halved, and 1."""
    pick(picks, A, ["budget"], times=2)
    pick(picks, B, ["budget"], now=NOW + 60 * DAY)
    picks.rename(A[0], B[0])
    n = 2 * 0.75 / 2 + 1
    assert look(picks, ["budget"], now=NOW + 60 * DAY).same_query[1] == pytest.approx(n**4 / (n**4 + 16))


def test_renaming_to_the_same_name_changes_nothing(picks: Picks) -> None:
    """No document is concerned, none is lost."""
    pick(picks, A, ["budget"], times=2)
    assert picks.rename(A[0], "/home/anna/notes/../notes/budget.md") == 0
    assert look(picks, ["budget"]).same_query[0] == pytest.approx(1 / 2)


def test_beyond_the_cap_of_picks_the_oldest_tenth_goes(
    store: Store, picks: Picks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With room for 20 picks 20 stay; one more leaves the 18 newest, and every document."""
    monkeypatch.setattr(picks_module, "MAX_PICKS", 20)
    for n in range(20):
        pick(picks, A, [f"w{n}"], now=NOW + n)
    assert len(store.rows("SELECT * FROM picks")) == 20
    pick(picks, B, ["last"], now=NOW + 20)
    assert [t for (t,) in store.rows("SELECT last FROM picks ORDER BY last")] == [NOW + n for n in range(3, 21)]
    assert picks.count() == 2
    assert look(picks, ["w2"], now=NOW + 20).same_query[0] == 0
    assert look(picks, ["w3"], now=NOW + 20).same_query[0] > 0.05


def test_beyond_the_cap_of_documents_the_oldest_go_with_their_picks(
    store: Store, picks: Picks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With room for 10 documents 10 stay; one more leaves the 9 newest, and no pick of a document that went."""
    monkeypatch.setattr(picks_module, "MAX_DOCUMENTS", 10)
    for n in range(10):
        pick(picks, (f"/{n}", "", "text"), ["a", str(n)], now=NOW + n)
    assert picks.count() == len(store.rows("SELECT * FROM picks")) == 10
    pick(picks, A, ["b"], now=NOW + 10)
    left = [NOW + n for n in range(2, 11)]
    for table in ("picks", "picked_documents"):
        assert [t for (t,) in store.rows(f"SELECT last FROM {table} ORDER BY last")] == left


def test_the_shipped_caps_hold_years_of_picks() -> None:
    """Ten picks a day, and five new documents, for five years; not so many that reading them again takes long."""
    assert 10 * 365 * 5 <= MAX_PICKS <= 100_000
    assert 5 * 365 * 5 <= MAX_DOCUMENTS <= MAX_PICKS


def test_what_was_opened_last_comes_first_by_trying_the_paths_there_are(tmp_path: Path) -> None:
    """The names kept are hashes: the latest first, of a mailbox the very messages; one that is gone is not named."""
    with Store(tmp_path / "state.sqlite") as store:
        picks = Picks(store, b"k" * 32)
        opened = [("/a", ""), ("/mbox", "message 1"), ("/gone", ""), ("/mbox", "message 3"), ("/b", "")]
        for moment, (path, part) in enumerate(opened):
            picks.record(["wind"], path, part, type="text", now=1e9 + moment)

        def parts_of(path: str) -> dict[str, str]:
            parts = [f"message {i}" for i in range(5)] if path == "/mbox" else [""]
            return {part: path + part for part in parts}

        there = ["/c", "/a", "/mbox", "/b"]
        assert picks.lately(there, parts_of, limit=9) == ["/b", "/mboxmessage 3", "/mboxmessage 1", "/a"]
        assert picks.lately([*there, "/gone"], parts_of, limit=3) == ["/b", "/mboxmessage 3", "/gone"]


def test_documents_are_marked_by_type_and_the_three_folders_above(store: Store, picks: Picks) -> None:
    """The nearest folder first, by names that tell nothing; switched off, by the type alone."""
    near, far = picks.marks([("/home/anna/notes/2026/may/a.md", "", "markdown"), ("/a.pdf", "page 2", "pdf")])
    assert near[0] == "markdown"
    assert len(near) == 4
    above = picks.marks([("/home/anna/notes/2026/b.html", "", "html")])[0]
    assert near[2:] == above[1:3]
    assert not any(word in mark for mark in near for word in ("may", "2026", "notes", "anna"))
    assert len(far) == 2
    assert Picks(store, b"k" * 32, enabled=False).marks([A]) == [("markdown",)]


def test_an_opening_costs_what_it_changes(picks: Picks, store: Store) -> None:
    """One opening beside 3,000 others takes fewer of SQLite's steps than there are others."""
    with store.transaction():
        for n in range(3000):
            pick(picks, (f"/home/anna/{n}.md", "", "markdown"), ["plan", str(n)])
    n_steps = [0]

    def count() -> None:
        n_steps[0] += 1

    with store.transaction() as db:
        db.set_progress_handler(count, 1)
        pick(picks, A, ["budget"])
        db.set_progress_handler(None, 0)
    assert 0 < n_steps[0] < 3000


def test_openings_are_known_as_if_all_were_read_again(store: Store, tmp_path: Path) -> None:
    """By one that opens, by another that opens in between, and after an opening that was undone."""
    key = load_key(tmp_path / "key", store)
    draw = np.random.default_rng(7)
    documents = [(f"/home/anna/{n % 3}/{n}.md", "", ("markdown", "pdf")[n % 2]) for n in range(9)]
    memories = [Picks(store, key), Picks(store, key)]
    for n in range(120):
        one = memories[int(draw.random() < 0.2)]
        terms = [f"w{term}" for term in draw.integers(4, size=draw.integers(3))]
        document, now = documents[draw.integers(9)], NOW + n * DAY
        if draw.random() < 0.1:
            with suppress(ZeroDivisionError), store.transaction():
                pick(one, document, terms, now=now)
                _ = 1 / 0
        else:
            pick(one, document, terms, now=now)
        seen, fresh = (picks.usage(["w0", "w1"], documents, now=now) for picks in (one, Picks(store, key)))
        assert matrix(seen) == pytest.approx(matrix(fresh))
