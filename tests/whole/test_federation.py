"""Groups end to end: three people with different folders, one server, and a fourth who has never clicked; and five
friends whose updates nobody opens.

Real processes: `foltr-server serve`, `foltr-search index`, `join`, `sync`. Only the clicks are made by calling
app.search, as a screen would.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
import requests

from app.paths import Paths
from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from app.settings import Settings
from federation_server.setup import Start
from foltr.federated.wire import ModelRecord, decode, decode_vector
from foltr.ranking.metrics import ndcg_at_k
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from tests import copied
from tests.ports import free_port

ROUNDS = 3
WEAK = {"body_bm25": 3.0}
"""what the group begins with: a ranker that sees how often a word is repeated, and not that it is the title"""
TOPICS = ("amber", "basalt", "cobalt", "dolomite", "emerald", "feldspar", "garnet", "halite", "iolite", "jasper")


def environment(home: Path) -> dict[str, str]:
    return os.environ | {
        "HOME": str(home),
        "FOLTR_CONFIG_DIR": str(home / "config"),
        "FOLTR_DATA_DIR": str(home / "data"),
        "FOLTR_SERVER_FOLDER": str(home / "server"),
        "FOLTR_FEDERATION__ALLOW_UNPROTECTED": "true",
        "FOLTR_LEARNING__EXPLORATION": "0",
        "FOLTR_MEANING__ENABLED": "false",  # reading these notes for it takes most of a minute
    }


def call(home: Path, module: str, *arguments: str) -> str:
    """Run one command to its end; what it says is in the assertion when it fails."""
    code = f"import sys; from {module} import main; sys.exit(main())"
    done = copied.run(arguments, variables=environment(home), cwd=Path.cwd(), code=code)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout + done.stderr


def device(home: Path, *arguments: str) -> str:
    return call(home, "app.cli", *arguments)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Path]:
    """A running group that begins with the weak ranker, without noise, so that three devices are enough."""
    begins = Start(1, MANIFEST_HASH, tuple(NAMES), tuple(WEAK.get(name, 0.0) for name in NAMES))
    yield from served(
        tmp_path / "server-home",
        "[rounds]\nquorum = 3\nfloor = 3\nin_period = 0\n"
        '[method]\nmode = "open"\nshared = []\nlongest_step = 0\nlongest_query = 0\nprivacy = {mechanism = "none"}\n',
        begins,
    )


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Path]:
    """A running group on the default terms: nobody opens an update."""
    yield from served(tmp_path / "sealed-home", "[rounds]\nin_period = 0\n")


def served(home: Path, settings: str, begins: Start | None = None) -> Iterator[Path]:
    """A server of its own in this folder, as long as it is needed."""
    folder, port = home / "server", free_port()
    folder.mkdir(parents=True)
    (folder / "server.toml").write_text(f"[server]\nport = {port}\n[operations]\nmetrics_port = 0\n{settings}")
    model: tuple[str, ...] = ()
    if begins is not None:
        (home / "start.json").write_bytes(msgspec.json.encode(begins))
        model = ("--model", str(home / "start.json"))
    call(home, "federation_server.cli", "init", *model)
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; from federation_server.cli import main; sys.exit(main())", "serve"],
        env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait_until_ready(f"http://127.0.0.1:{port}/readyz")
        yield home
    finally:
        process.terminate()
        assert process.wait(180) == -signal.SIGTERM  # it stopped in order, then let the signal have its way


def _wait_until_ready(address: str) -> None:
    end = time.monotonic() + 180
    while time.monotonic() < end:
        try:
            if requests.get(address, timeout=180).ok:
                return
        except requests.ConnectionError:
            pass
        time.sleep(0.1)
    raise AssertionError("the server did not answer within three minutes")


def make_person(home: Path, topics: tuple[str, ...], seed: int) -> None:
    """A folder in which two documents of each topic carry it in their title, and four only repeat it."""
    rng = np.random.default_rng(seed)
    words = [f"word{number}" for number in range(300)]
    files = home / "files"
    files.mkdir(parents=True)
    for topic in topics:
        for number in range(6):
            filler = " ".join(rng.choice(words, 120))
            wanted = number < 2
            title = f"{topic} {rng.choice(words)}" if wanted else " ".join(rng.choice(words, 2))
            repeated = " ".join([topic] * (1 if wanted else 8))
            name = f"{'wanted' if wanted else 'other'}-{topic}-{number}.md"
            (files / f"{seed}{name}").write_text(f"# {title}\n\n{filler} {repeated} {filler}\n")
    device(home, "index", str(files))


def search(home: Path) -> Search:
    return Search(Settings(), Paths(home / "config", home / "data"))


def grades(page: ResultPage) -> list[int]:
    return [int("wanted" in Path(hit.path).name) for hit in page.hits]


def use(home: Path, topics: tuple[str, ...]) -> None:
    """Search each topic and open what is wanted."""
    engine = search(home)
    for topic in topics:
        page = engine.search(SearchRequest(topic))
        for hit, grade in zip(page.hits, grades(page), strict=True):
            if grade:
                engine.opened(page, hit)
        engine.leave(page)
    engine.close()


def quality(home: Path, topics: tuple[str, ...], theta: np.ndarray) -> float:
    """Mean nDCG@10 of the linear ranker theta over a person's topics."""
    engine = search(home)
    values = []
    for topic in topics:
        page = engine.search(SearchRequest(topic))
        order = np.argsort(-(page.features @ theta), kind="stable")
        values.append(ndcg_at_k(np.array(grades(page))[order], 10))
    engine.close()
    return float(np.mean(values))


def newest_theta(server: Path) -> tuple[int, np.ndarray]:
    """What the group has published last."""
    from federation_server.database import reading
    from federation_server.group import group
    from federation_server.serve import open_installation

    with reading(open_installation(server / "server" / "server.toml").engine) as connection:
        found = group.newest(connection)
    record = decode(msgspec.json.encode(found.record), ModelRecord)
    return record.round, decode_vector(record.theta, len(NAMES))


def invite(server: Path) -> str:
    return call(server, "federation_server.cli", "invite").split()[0]


def test_a_device_without_clicks_gains_from_the_others(server: Path, tmp_path: Path) -> None:
    """After three rounds the common ranker serves the fourth device better than the one that the group began with."""
    homes = [tmp_path / f"person{number}" for number in range(4)]
    shares = (TOPICS[:4], TOPICS[3:7], TOPICS[6:], TOPICS[::2])
    for seed, (home, topics) in enumerate(zip(homes, shares, strict=True)):
        make_person(home, topics, seed)
    for home in homes[:3]:
        assert "joined" in device(home, "join", invite(server), "--yes")
    for number in range(1, ROUNDS + 1):
        for home, topics in zip(homes[:3], shares, strict=False):
            for _ in range(3):
                use(home, topics)
            assert f"answered round {number}" in device(home, "sync", "--now")
    device(homes[3], "join", invite(server), "--yes")
    closed, theta = newest_theta(server)
    before = quality(homes[3], shares[3], np.array([WEAK.get(name, 0.0) for name in NAMES]))
    after = quality(homes[3], shares[3], theta)
    assert closed == ROUNDS
    assert before < 0.75
    assert after > before + 0.15
    assert f"round {ROUNDS}" in device(homes[3], "federation", "status")


def test_five_friends_bring_one_another_in_and_add_up_what_nobody_opens(sealed: Path, tmp_path: Path) -> None:
    """By commands alone: the founder invites, each syncs twice, a round is closed, status says who could open what."""
    homes = [tmp_path / f"friend{number}" for number in range(6)]
    device(homes[0], "join", invite(sealed), "--yes")
    for home in homes[1:5]:
        link = device(homes[0], "invite").split()[0]
        assert "joined" in device(home, "join", link, "--yes")
    told = [device(home, "sync", "--now") for home in homes[:5]]
    assert all("answered round 1, with noise alone" in said for said in told)
    assert "added up round 1 of 5 members, unread" in told[-1]
    for home in homes[:4]:
        assert "added up round 1 of 5 members, unread" in device(home, "sync", "--now")
    assert newest_theta(sealed)[0] == 1
    status = json.loads(device(homes[4], "federation", "status", "--json"))
    assert (status["sealed"]["members"], status["sealed"]["committee"], status["sealed"]["threshold"]) == (5, 5, 4)
    assert (status["sealed"]["spared"], status["sealed"]["readers"], status["sealed"]["brought_by_one"]) == (1, 3, 4)
    assert "with up to 1 of 5 members on the server's side; 3 could read single notes" in device(homes[4], "federation")
    assert "vouch" in device(homes[5], "join", invite(sealed), "--yes")
    pseudonym, _, compare = device(homes[1], "vouch").partition("  ")
    assert compare.strip() in device(homes[5], "sync", "--now")
    assert "is vouched for" in device(homes[1], "vouch", pseudonym[:8], "--yes")
    assert json.loads(device(homes[1], "federation", "status", "--json"))["sealed"]["members"] == 6
