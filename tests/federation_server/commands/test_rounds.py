"""`foltr-server rounds`: the list, one round in full, and closing the open one."""

from __future__ import annotations

import io
import json
import math
import sys
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, update

from federation_server.cli import main
from federation_server.database import writing
from federation_server.rounds.intake import Expectations
from federation_server.serve import Installation
from federation_server.tables import rounds
from tests.federation_server.client import PATIENCE, Client, ServerProcess, make_server, member, reason, running
from tests.waiting import until

Output = pytest.CaptureFixture[str]
NOISED = 'shared = []\nprivacy = { mechanism = "gaussian", clip = 1.0, noise_multiplier = 2.0 }'


@pytest.fixture
def made(tmp_path: Path) -> Installation:
    """A group of nobody, whose rounds wait for everybody and need two."""
    found = make_server(tmp_path / "server", quorum=0)
    found.engine.dispose()
    return found


def run(made: Installation, *arguments: str) -> int:
    return main(["--folder", str(made.folder), "rounds", *arguments])


def test_a_running_server_goes_on_after_a_round_was_closed(tmp_path: Path, capsys: Output) -> None:
    """Below the floor the command says what is missing; with enough it closes, and devices find the next round."""
    made = make_server(tmp_path / "server", quorum=0, floor=2)
    process = ServerProcess(made).start().wait_until_ready()
    try:
        ada, bob, _ = (member(made) for _ in range(3))
        told = ada.announcement()
        assert ada.update(0.25).ok
        assert run(made, "close") == 1
        assert (
            "stays open: 1 of 3 active members answered, 2 more close it at once; without 1" in capsys.readouterr().out
        )
        assert bob.update(0.75).ok
        assert run(made, "close") == 0
        assert capsys.readouterr().out == "round 1.1 closed with 2 updates by mean\n"
        assert bob.announcement().round == 2
        assert reason(ada.update(0.5, told)) == "stale-round"
        assert [client.update(0.5).status_code for client in (ada, bob)] == [200, 200]
    finally:
        process.stop()
        made.engine.dispose()


def test_the_key_of_a_round_that_another_process_closed_leaves_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a server keeps of a round for checking updates is dropped at its next tick, without a request."""
    made = make_server(tmp_path / "server", quorum=0, floor=1)
    dropped = threading.Event()
    original = Expectations.keep_only

    def keep_only(self: Expectations, here: object) -> None:
        before = self._known
        original(self, here)  # type: ignore[arg-type]
        if before is not None and self._known is None:
            dropped.set()

    with running(made):
        ada, _ = member(made), member(made)
        assert ada.update(0.25).ok
        monkeypatch.setattr(Expectations, "keep_only", keep_only)
        assert run(made, "close") == 0
        assert dropped.wait(PATIENCE)


def test_one_round_in_full_and_as_json(tmp_path: Path, capsys: Output) -> None:
    """Noise and chance stand beside movement and agreement; the open round tells who is awaited; no name anywhere."""
    made = make_server(tmp_path / "server", quorum=0, privacy=NOISED)
    with running(made):
        ada, bob = member(made), member(made)
        for client in (ada, bob):
            assert client.update(0.25).ok
        assert run(made, "close") in (0, 1)  # it may have closed by itself
        assert ada.update(0.25).ok
        capsys.readouterr()
        assert run(made, "show", "1.1") == 0
        text = capsys.readouterr().out
        assert run(made, "show", "1.1", "--json") == 0
        closed = json.loads(capsys.readouterr().out)
        assert run(made, "show") == 0
        newest = capsys.readouterr().out
    n_params = made_n_params(made)
    assert closed["noise"] == pytest.approx(2.0 * math.sqrt(n_params / 2))
    assert f"{closed['noise']:.2f} times as long as the longest signal" in text
    assert "by chance alone 0.71" in text
    assert "1 of 2 active members answered, 1 more close it at once" in newest
    assert not any(client.device in text + newest + json.dumps(closed) for client in (ada, bob))


def test_going_back_is_told_and_asked(tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends with it is named, and nothing happens without a yes; a ranker that is not there is not asked about."""
    made = make_server(tmp_path / "server", quorum=2)

    def go_back(version: str, answer: str) -> int:
        monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
        return main(["--folder", str(made.folder), "model", "rollback", version])

    with running(made):
        assert member(made).update(0.25).ok
        assert go_back("1.0", "n\n") == 130
        said = capsys.readouterr()
        assert said.out == ""
        assert "Round 1.1 ends, and the privacy budget of its 1 update stays spent." in said.err
        assert go_back("9.9", "y\n") == 2
        assert capsys.readouterr().err == ("foltr-server: there is no model 9.9; `foltr-server model` lists them\n")
        assert go_back("1.0", "y\n") == 0
        assert capsys.readouterr().out == "lineage 2 begins from 1.0\n"


@pytest.fixture
def kept_as(tmp_path: Path) -> Callable[..., Installation]:
    """A server with one closed round, of which these values are kept."""

    def make(**values: object) -> Installation:
        made = make_server(tmp_path / "server", quorum=1)
        with running(made):
            assert member(made).update(0.25).ok
        with writing(made.engine) as connection:
            connection.execute(update(rounds).where(rounds.c.round == 1).values(**values))
        return made

    return make


def test_a_round_without_agreement_is_listed_and_shown(kept_as: Callable[..., Installation], capsys: Output) -> None:
    """Of sums nobody knows whether single updates agreed: the list and the round leave that out."""
    made = kept_as(agreement=None)
    assert run(made) == 0
    assert run(made, "show", "1.1") == 0
    said = capsys.readouterr().out
    assert "moved 0.2500" in said
    assert "agreement" not in said


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"rule": "void", "guard": "lost: 4 are needed"}, "1 update; lost: 4 are needed"),
        ({"rule": None, "update_norm": None, "guard": "lost"}, "1 update; lost"),
    ],
)
def test_a_lost_round_is_listed_as_lost(
    kept_as: Callable[..., Installation], capsys: Output, values: dict[str, object], line: str
) -> None:
    """Neither by a rule nor as a movement: with why; after a restore nobody knows how it was joined."""
    assert run(kept_as(**values)) == 0
    (listed,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("1.1 ")]
    assert listed.endswith(line)


def made_n_params(made: Installation) -> int:
    from federation_server.database import reading
    from federation_server.group import group

    with reading(made.engine) as connection:
        return group.method_of(group.terms(connection)).n_sent


def test_a_round_that_never_was_is_an_error(made: Installation, capsys: Output) -> None:
    """The list is named; what is no LINEAGE.ROUND is told what is one."""
    assert run(made, "show", "7.1") == 2
    assert "there is no round 7.1" in capsys.readouterr().err
    assert run(made, "show", "x") == 2
    assert "wanted LINEAGE.ROUND" in capsys.readouterr().err
    assert run(made, "close") == 1
    assert capsys.readouterr().out == "no round is open: the group is waiting for its first start\n"


def test_everybody_hears_who_is_awaited(made: Installation, capsys: Output) -> None:
    """The announcement says how many updates close the round, the doctor and the list how many are missing."""
    with running(made):
        clients = [member(made) for _ in range(3)]
        assert clients[0].update(0.5).ok
        wait_for_wanted(clients[1], 3)
        assert run(made) == 0
        assert main(["--folder", str(made.folder), "doctor"]) in (0, 1)
        said = capsys.readouterr().out
    assert said.count("1 of 3 active members answered, 2 more close it at once; otherwise it closes on ") == 2


def wait_for_wanted(client: Client, n: int) -> None:
    """The server counts its members once a second."""
    waiting = threading.Event()
    for _ in range(int(PATIENCE * 10)):
        if client.announcement().wanted == n:
            return
        waiting.wait(0.1)
    raise AssertionError(f"never wanted {n}")


def test_a_group_that_rests_says_until_when(tmp_path: Path, capsys: Output) -> None:
    """After the one round of its period: the list, the doctor and the attempt to close name the day, in a year."""
    made = make_server(tmp_path / "server", quorum=1, in_period=1)
    with running(made):
        ada = member(made)
        assert ada.update(0.5).ok
        until(lambda: ada.announcement().phase == "rest")  # it is closed after the answer
        assert run(made) == 0
        listed = capsys.readouterr().out
        assert run(made, "close") == 1
        told = capsys.readouterr().out
        for said, start in ((listed, "resting until "), (told, "no round is open: the group is resting until ")):
            day = datetime.fromisoformat(said.removeprefix(start)[:16])
            assert abs(day - datetime.now() - timedelta(days=365)) < timedelta(days=1)
        main(["--folder", str(made.folder), "doctor"])
        assert "ok   round: resting until " in capsys.readouterr().out


def test_a_round_whose_words_were_erased_says_so(capsys: Output, tmp_path: Path) -> None:
    """What closing a round had said goes with a forgotten member; the list and the doctor name that, and no blank."""
    made = make_server(tmp_path / "server", quorum=1)
    with running(made):
        ada = member(made)
        assert ada.update(0.25).ok
        until(lambda: ada.announcement().round == 2)  # it is closed after the answer
        with writing(made.engine) as connection:
            forget_what_was_said(connection)
        assert run(made) == 0
        assert "1 update by mean; a member who took part was forgotten" in capsys.readouterr().out
        main(["--folder", str(made.folder), "doctor"])
        shown = capsys.readouterr().out
        assert "guard: not judged: a member who took part was forgotten, and what this said of" in shown
        assert "updates is erased (round 1.1)" in shown


def forget_what_was_said(connection: Connection) -> None:
    """As forgetting a member does to the rounds that it was in."""
    said = {"guard": None, "verdict": None, "update_norm": None, "agreement": None}
    connection.execute(update(rounds).where(rounds.c.state == "closed").values(**said))
