"""The same question gives the same page: in another session, process, index of the same files, and on the screen."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from app.following.indexing import update_index
from app.paths import Paths
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import IndexSettings, Settings

Stages = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[3]
INDEXING = Settings(index=IndexSettings(workers=1))
TOPICS = ("invoice", "minutes", "lease", "recipe", "itinerary", "draft")
PLACES = ("garden", "harbour", "office", "station", "school")
WORDS = ("amount", "paid", "signed", "table", "water", "train", "roof", "energy", "letter", "copy")
N_FILES, N_QUERIES, SHOWN = 150, 50, 30


def write(folder: Path) -> None:
    """Like files: many with the same words and the same time, some with the same text."""
    lot = random.Random(4)
    for i in range(N_FILES):
        topic, place = lot.choice(TOPICS), lot.choice(PLACES)
        words = sorted(lot.sample(WORDS, 3))
        path = folder / topic / f"{topic}-{i:03d}.{lot.choice(('txt', 'md'))}"
        path.parent.mkdir(parents=True, exist_ok=True)
        line = f"{topic} for the {place}: {' and '.join(words)}.\n"
        path.write_text(f"{topic} {place}\n\n" + line * lot.choice((1, 2)))
        moment = time.time() - 86_400 * lot.choice((1, 40, 400)) - 3600
        os.utime(path, (moment, moment))


def queries() -> list[str]:
    lot = random.Random(5)
    drawn = [lot.sample((*TOPICS, *PLACES, *WORDS), lot.choice((1, 1, 2, 3))) for _ in range(N_QUERIES)]
    return [" ".join(words) for words in drawn]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    """An index of the files, and a state in which some of them were opened and learned from."""
    folder = tmp_path_factory.mktemp("same-page")
    write(folder / "files")
    found = Paths(folder / "config", folder / "data")
    update_index(INDEXING, found, roots=[str(folder / "files")], optimize=True)  # one segment, however slow it was
    search, lot = Search(Settings(), found), random.Random(6)
    for query in queries()[:8]:
        page = search.search(SearchRequest(query))
        search.opened(page, page.hits[lot.randrange(min(5, len(page.hits)))])
        search.leave(page)
    search.close()
    return found


def pages(paths: Paths, asked: Sequence[str]) -> list[list[str]]:
    """The first results of each query, in this process."""
    search = Search(Settings(), paths)
    found = [[hit.path for hit in search.search(SearchRequest(query)).hits[:SHOWN]] for query in asked]
    search.close()
    return found


_COMMAND_LINE = f"""
import contextlib, io, json, sys
from app.cli import main
for query in json.loads(sys.argv[1]):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["search", "--limit", "{SHOWN}", "--format", "{{path}}", *query.split()]) == 0
    print(json.dumps(printed.getvalue().split()))
"""


def printed(paths: Paths, asked: Sequence[str]) -> list[list[str]]:
    """What `foltr-search search` prints for each query, in a process of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    folders = {"FOLTR_CONFIG_DIR": str(paths.config_dir), "FOLTR_DATA_DIR": str(paths.data_dir)}
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND_LINE, json.dumps(asked)], env={**kept, **folders, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_processes_and_sessions_agree(paths: Paths) -> None:
    """Kendall distance 0 over fifty queries: here, on the command line, and there again in another session."""
    asked = queries()
    here = pages(paths, asked)
    assert sum(len(page) > 5 for page in here) > N_QUERIES / 2
    assert printed(paths, asked) == here
    search = Search(Settings(), paths)
    search.store.set_value("session", b"another")
    search.close()
    assert printed(paths, asked) == here


def _settled(screen: Any) -> bool:
    return not screen.session.page.request.as_you_type


async def test_the_screen_agrees(stage: Stages, paths: Paths) -> None:
    """What is shown once typing rests is what the command line prints, place by place."""
    asked = queries()[:12]
    expected = pages(paths, asked)
    one = stage(open_engine=lambda: Search(Settings(), paths))
    shown = []
    async with one.app.run_test(size=(100, 30)) as pilot:
        screen = one.app.search_screen
        for query in asked:
            screen.box.set_text(query)
            await one.until(pilot, lambda query=query: one.asked == query and _settled(screen))
            shown.append([hit.path for hit in screen.session.page.hits[:SHOWN]])
    screen.session.close()
    assert shown == expected


def test_an_index_made_otherwise_of_the_same_files_agrees(
    paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one segment or in many, written in another order: scores, equal ones too, stand as they stood."""
    monkeypatch.setattr("indexer.storage.index.IndexWriter._worth_merging", lambda *_: [])  # many, however slow it is
    files, other = paths.data_dir.parent / "files", Paths(tmp_path / "config", tmp_path / "data")
    for later in (["*-0[012]?.*"], ["*-00[0-4].*"], []):
        first = Settings(index=IndexSettings(workers=1, exclude=later))
        update_index(first, other, roots=[str(files)])
    for name in ("state.sqlite", "key"):
        shutil.copyfile(paths.data_dir / name, other.data_dir / name)
    one, many = Search(Settings(), paths), Search(Settings(), other)
    assert len(one._reader.reading.snapshot.commit_name[1]) == 1 < len(many._reader.reading.snapshot.commit_name[1])
    for query, order in product(queries()[:40], ("learned", "bm25", "modified")):
        request = SearchRequest(query, order=order)
        assert [hit.path for hit in one.search(request).hits] == [hit.path for hit in many.search(request).hits], query
    one.close()
    many.close()


def test_equal_documents_stand_newest_first(tmp_path: Path) -> None:
    """Where nothing tells two files apart but their time, the newer is first; where nothing does, their names are."""
    for name, age in (("b", 1), ("a", 30), ("d", 90), ("c", 90)):
        path = tmp_path / "files" / f"{name}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"heron number {name}\n")
        os.utime(path, (time.time() - 86_400 * age,) * 2)
    found = Paths(tmp_path / "config", tmp_path / "data")
    update_index(INDEXING, found, roots=[str(tmp_path / "files")])
    assert [Path(path).name for path in pages(found, ["heron"])[0]] == ["b.txt", "a.txt", "c.txt", "d.txt"]
