"""`foltr-search devices` as a user types it, on two computers whose homes have different names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.devices.device_keys import to_code
from tests.app.conftest import Device, make_device
from tests.federation_server.client import make_server, running
from tests.waiting import until


@pytest.fixture
def computers(tmp_path: Path) -> tuple[Device, Device]:
    """Anna's laptop and her desk, with the same notes in her home, which is called otherwise on each."""
    found = []
    for name in ("anna", "am"):
        (tmp_path / name).mkdir()
        found.append(make_device(tmp_path / name))
        found[-1].index()
    return found[0], found[1]


def done(device: Device, *arguments: str) -> str:
    ran = device.run(*arguments)
    assert ran.returncode == 0, (arguments, ran.stderr)
    return ran.stdout + ran.stderr


def paths(device: Device) -> list[str]:
    """The files with fish, the best first."""
    return done(device, "search", "fish", "--paths0").split("\0")[:-1]


def found(device: Device) -> list[str]:
    """Their names."""
    return [Path(path).name for path in paths(device)]


def open_twice(device: Device, path: str) -> None:
    """As a result for fish."""
    for _ in range(2):
        done(device, "search", "fish")
        done(device, "open", path, "--print")
    done(device, "search", "boat")  # the page is left


def test_the_whole_way(computers: tuple[Device, Device], tmp_path: Path) -> None:
    """new, join, two picks on one computer that rank first on the other; list, remove, a changed code, leave."""
    laptop, desk = computers
    shared = str(tmp_path / "cloud")
    code = done(laptop, "devices", "new", "--folder", shared, "--name", "laptop").splitlines()[0]
    assert "joined: desk, laptop" in done(desk, "devices", "join", code, "--folder", shared, "--name", "desk")
    first = found(desk)
    open_twice(laptop, paths(laptop)[-1])
    done(laptop, "devices", "sync")
    assert "received" in done(desk, "devices", "sync")
    assert found(desk)[0] == first[-1]
    assert done(laptop, "devices").splitlines() == ["desk", "laptop\tthis one"]
    assert done(laptop, "devices", "pen") == done(desk, "devices", "pen") == "laptop\n"
    done(laptop, "devices", "pen", "desk")
    done(desk, "devices", "sync")
    assert done(laptop, "devices", "pen") == done(desk, "devices", "pen") == "desk\n"
    assert "another of your computers answers" in laptop.run("devices", "pen", "desk").stderr
    done(laptop, "devices", "pen", "--take")
    assert "removed desk" in done(laptop, "devices", "remove", "desk")
    assert done(laptop, "devices", "new").splitlines()[0] != code
    done(laptop, "devices", "leave")
    for alone in (("devices",), ("devices", "list")):
        shown = laptop.run(*alone)
        assert "this computer shares with no other" in shown.stderr
        assert shown.returncode == 1


def test_the_whole_way_by_a_server(computers: tuple[Device, Device], tmp_path: Path) -> None:
    """new, join with the address it shows, two picks that rank first on the other; to a folder and back."""
    laptop, desk = computers
    assert "`foltr-search join LINK` first" in laptop.run("devices", "new", "--server").stderr
    with running(make_server(tmp_path / "server", quorum=1000)) as group:
        done(laptop, "join", group.link(), "--yes")
        shown = done(laptop, "devices", "new", "--server", "--name", "laptop").splitlines()
        address = shown[-1].partition("join --server ")[2]
        assert "`foltr-search join LINK` first" in desk.run("devices", "join", shown[0], "--server").stderr
        joined = done(desk, "devices", "join", shown[0], "--server", address, "--name", "desk")
        assert "joined: desk, laptop" in joined
        first = found(desk)
        open_twice(laptop, paths(laptop)[-1])
        done(laptop, "devices", "sync")
        done(desk, "devices", "sync")
        assert found(desk)[0] == first[-1]
        (tmp_path / "cloud").mkdir()
        for where in (("--folder", str(tmp_path / "cloud")), ("--server",)):
            for device in (laptop, desk):
                assert "received" in done(device, "devices", "sync", *where)
        both = desk.run("devices", "sync", "--server", "--folder", str(tmp_path / "cloud"))
        assert "wanted either --folder or --server" in both.stderr
        again = desk.run("devices", "new", "--folder", str(tmp_path / "other"))
        assert "your computers exchange in http://127.0.0.1" in again.stderr
    away = {"FOLTR_FEDERATION__RETRIES": "0"}
    assert "nobody answers there" in desk.run("devices", "sync", env=away).stderr
    assert desk.run("federation", env=away).stderr.count("nobody answers there") == 1
    for device in (laptop, desk):  # who answers the group, and who does not
        synced = device.run("sync", env=away)
        assert synced.returncode == 3
        assert synced.stderr.count("nobody answers there") == 1


def test_files_of_others_at_the_server_are_not_replaced_unasked(
    computers: tuple[Device, Device], tmp_path: Path
) -> None:
    """`new --server` on another computer says what exists and would be lost; `--replace` replaces it."""
    laptop, _ = computers
    with running(make_server(tmp_path / "server", quorum=1000)) as group:
        done(laptop, "join", group.link(), "--yes")
        code = done(laptop, "devices", "new", "--server").splitlines()[0]
        (laptop.data_dir / "devices.key").unlink()
        asked = laptop.run("devices", "new", "--server")
        assert asked.returncode == 2
        assert "keeps a place for your computers under another code" in asked.stderr
        assert "`foltr-search devices new --server --replace` empties it" in asked.stderr
        assert "this computer shares with no other" in laptop.run("devices").stderr
        assert "--replace needs --server" in laptop.run("devices", "new", "--folder", "x", "--replace").stderr
        assert done(laptop, "devices", "new", "--server", "--replace").splitlines()[0] != code
        assert "a computer that is not joined to others" in laptop.run("devices", "new", "--server", "--replace").stderr


def test_no_error_shows_a_code(device: Device) -> None:
    """Wherever it was typed by mistake, with or without its dashes."""
    code = to_code(bytes(range(16)))
    for before in (
        ("devices",), ("devices", "new"), ("devices", "remove"), ("devices", "join", "x"), ("join",),
        ("devices", "join", code, "--folder"), ("devices", "join", "--server"), ("devices", "sync", "--server"),
    ):  # fmt: skip
        ran = device.run(*before, code)
        assert ran.returncode == 2, (before, ran)
        assert code not in ran.stderr, (before, ran.stderr)
    for typed in (code.lower(), code.replace("-", ""), code.replace("-", "").lower(), code.replace("-", " ")):
        assert typed not in device.run("devices", typed).stderr


def test_a_computer_that_joined_is_asked_for_no_code(computers: tuple[Device, Device], tmp_path: Path) -> None:
    """It is told that it has joined already; and a folder that is not there yet is reported before any question."""
    laptop, desk = computers
    early = desk.run("devices", "join", "--folder", str(tmp_path / "cloud"))
    assert early.returncode == 2
    assert "there is no folder" in early.stderr
    done(laptop, "devices", "new", "--folder", str(tmp_path / "cloud"), "--name", "laptop")
    again = laptop.run("devices", "join", "--folder", str(tmp_path / "cloud"))
    assert again.returncode == 2
    assert again.stderr == (
        "foltr-search: this is one of several devices already, as 'laptop'; `devices leave` ends it\n"
    )


def test_who_follows_changes_meets_the_others(computers: tuple[Device, Device], tmp_path: Path) -> None:
    """`watch` by itself receives what another computer sent."""
    laptop, desk = computers
    shared = str(tmp_path / "cloud")
    code = done(laptop, "devices", "new", "--folder", shared, "--name", "laptop").splitlines()[0]
    join = (sys.executable, "-m", "app", "devices", "join", "--folder", shared)
    # The code is asked for, so that no list of processes has it.
    joined = subprocess.run(join, env=desk.environment(), input=f"{code}\n", text=True, capture_output=True, check=True)
    assert code not in joined.stdout
    last = found(desk)[-1]
    open_twice(laptop, paths(laptop)[-1])
    done(laptop, "devices", "sync")
    with subprocess.Popen([sys.executable, "-m", "app", "watch", "-q"], env=desk.environment()) as watch:
        until(lambda: found(desk)[0] == last)
        watch.terminate()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sync",), "this computer shares with no other"),
        (("new",), "wanted --folder"),
        (("join", "ABCD", "--folder", "."), "wanted the code of eight groups"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(device: Device, arguments: tuple[str, ...], message: str) -> None:
    """The exit code is 2."""
    ran = device.run("devices", *arguments)
    assert ran.returncode == 2
    assert message in ran.stderr


def test_a_wrong_name_lists_the_right_ones(computers: tuple[Device, Device], tmp_path: Path) -> None:
    """And sharing does not begin in a folder that others already use."""
    laptop, desk = computers
    done(laptop, "devices", "new", "--folder", str(tmp_path / "cloud"), "--name", "laptop")
    assert "no other device is called 'desk'; there are none" in laptop.run("devices", "remove", "desk").stderr
    assert "join them by their code" in desk.run("devices", "new", "--folder", str(tmp_path / "cloud")).stderr


def test_another_folder_is_not_taken_silently(computers: tuple[Device, Device], tmp_path: Path) -> None:
    """`new` shows the code again, and the folder where the computers exchange; a missing folder is reported, too."""
    laptop, _ = computers
    shared = tmp_path / "cloud"
    code = done(laptop, "devices", "new", "--folder", str(shared)).splitlines()[0]
    other = laptop.run("devices", "new", "--folder", str(tmp_path / "other"))
    assert other.returncode == 2
    assert f"your computers exchange in {shared}" in other.stderr
    assert done(laptop, "devices", "new", "--folder", str(shared)).splitlines()[0] == code
    shared.rename(tmp_path / "pulled out")
    away = laptop.run("devices", "new")
    assert away.stdout.split() == [code]
    assert "cannot be read" in away.stderr
