"""Counts by type, folder and time, and the narrowing that they offer."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import numpy as np
import pytest

from app.search.facets import MAX_FOLDERS, TIMES, FolderNames, facets_of, narrowing
from app.search.page import end_of_day
from app.search.results import Facets, SearchRequest
from indexer.documents import TYPES
from indexer.schema import DOCUMENT, folder_key
from indexer.storage.snapshot import Snapshot

DAY = 86_400.0
NOW = end_of_day(time.time())
PATHS = ["/notes/a/x.txt", "/notes/a/b/y.pdf", "/notes/c/z.txt", "/notes/top.txt", "/mail/in.mbox"]
AGES = [0.5 * DAY, 3 * DAY, 20 * DAY, 200 * DAY, 2_000 * DAY]
KINDS = ["text", "pdf", "text", "text", "mail"]


@pytest.fixture
def snapshot() -> Snapshot:
    """Five documents, without an index: the facets read only the rows."""
    rows = np.zeros(len(PATHS), dtype=DOCUMENT)
    for i, (path, age, kind) in enumerate(zip(PATHS, AGES, KINDS, strict=True)):
        rows[i]["doc_id"], rows[i]["modified"], rows[i]["type"] = 10 + i, NOW - age, TYPES.index(kind)
        rows[i]["folder"] = folder_key(path.rpartition("/")[0])
    made = Snapshot([], generation=1)
    made.documents, made.alive = rows, np.ones(len(rows), dtype=bool)
    return made


ROOTS = ("/notes", "/mail")


def all_of(snapshot: Snapshot, mask: list[int], within: str = "", roots: tuple[str, ...] = ROOTS) -> Facets:
    return facets_of(snapshot, np.array(mask, dtype=bool), FolderNames(PATHS), within=within, roots=roots, now=NOW)


def test_types_and_times_are_counted_over_the_matches(snapshot: Snapshot) -> None:
    """Most frequent type first; each time reaches back from now, so that the later ones hold the earlier."""
    facets = all_of(snapshot, [1, 1, 1, 1, 0])
    assert [(f.value, f.n_documents) for f in facets.types] == [("text", 3), ("pdf", 1)]
    assert [(f.value, f.n_documents) for f in facets.times] == [("today", 1), ("week", 2), ("month", 3), ("year", 4)]


def test_folders_one_step_down(snapshot: Snapshot) -> None:
    """The roots, or below the only one that lies in no other; documents right at the place are in none of them."""
    assert {f.value for f in all_of(snapshot, [1] * 5).folders} == set(ROOTS)
    one = all_of(snapshot, [1] * 5, roots=ROOTS[:1])
    assert {f.value: f.n_documents for f in one.folders} == {"/notes/a": 2, "/notes/c": 1}
    nested = all_of(snapshot, [1] * 5, roots=("/notes/a", "/notes"))
    assert {f.value: f.n_documents for f in nested.folders} == {"/notes/a": 2, "/notes/c": 1}
    assert {f.value: f.n_documents for f in all_of(snapshot, [1] * 5, "/notes/a").folders} == {"/notes/a/b": 1}
    assert all_of(snapshot, [1] * 5, "/notes/a/b").folders == ()
    assert [f.label for f in all_of(snapshot, [1, 0, 0, 0, 0], roots=("/notes",)).folders] == ["a"]
    assert {f.value for f in all_of(snapshot, [1] * 5, roots=("/",)).folders} == {"/notes", "/mail"}


def test_only_the_fullest_folders_are_named() -> None:
    """As many as fit on a line."""
    names = FolderNames([f"/r/{i}/x" for i in range(20)])
    keys = np.array([folder_key(f"/r/{i}") for i in range(20) for _ in range(i + 1)])
    counts = names.counts(names.numbers(keys), "", ("/r",))
    assert counts == [(f"/r/{i}", i + 1) for i in range(19, 19 - MAX_FOLDERS, -1)]


def test_nothing_matches_nothing_is_offered(snapshot: Snapshot) -> None:
    """No facet has a count of zero."""
    facets = all_of(snapshot, [0] * 5)
    assert (facets.types, facets.folders, facets.times) == ((), (), ())


@pytest.mark.parametrize(
    ("request_", "ids"),
    [
        ({"type": "pdf"}, {11}),
        ({"type": "no such"}, set()),
        ({"time": "week"}, {10, 11}),
        ({"time": "no such"}, set()),
        ({"folder": "/notes/a"}, {10, 11}),
        ({"folder": "/notes/a", "type": "text"}, {10}),
        ({"folder": "/notes", "type": "text", "time": "month"}, {10, 12}),
    ],
)
def test_narrowing_takes_what_the_facets_give(snapshot: Snapshot, request_: dict[str, str], ids: set[int]) -> None:
    """All conditions hold together; an unknown value leaves nothing."""

    def below(folder: str) -> set[int]:
        return {10 + i for i, path in enumerate(PATHS) if path.startswith(f"{folder}/")} | {999}

    mask = narrowing(snapshot, SearchRequest("x", **request_), below, now=NOW)
    assert mask is not None
    assert set(snapshot.documents["doc_id"][mask].tolist()) == ids


def test_without_facets_there_is_no_narrowing(snapshot: Snapshot) -> None:
    """None says: everything."""
    assert narrowing(snapshot, SearchRequest("x"), lambda folder: set(), now=NOW) is None


def test_every_time_reaches_further_back() -> None:
    """The times are in ascending order, each with a label."""
    assert [days for _, _, days in TIMES] == sorted(days for _, _, days in TIMES)
    assert all(label for _, label, _ in TIMES)


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_times_are_days_of_the_calendar(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, day: str) -> None:
    """On a day on which clocks change "today" begins at midnight, and so does each of those before."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        begins = datetime.fromisoformat(day)
        week = begins - timedelta(6)
        moments = [(begins, 0), (begins, -1), (week, 0), (week, -1), (begins, 3600)]
        snapshot.documents["modified"] = [moment.timestamp() + more for moment, more in moments]
        tonight = end_of_day(begins.timestamp() + 43_200)
        found = {
            value: narrowing(snapshot, SearchRequest("x", time=value), lambda folder: set(), now=tonight)
            for value in ("today", "week")
        }
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [mask is not None and mask.tolist() for mask in found.values()] == [[1, 0, 0, 0, 1], [1, 1, 1, 0, 1]]
