"""`model` as a user runs it: export, reset, import, forget."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

import pytest

from tests.app.commands.picking import model, names, pick

if TYPE_CHECKING:
    from tests.app.conftest import Device


def test_a_model_can_be_exported_reset_and_imported(device: Device) -> None:
    """What was learned survives a reset in a file, and that day's version is kept."""
    device.index()
    for _ in range(2):
        pick(device, "heron", names(device, "heron")[-1])
    names(device, "anything")
    file = device.home / "model.json"
    learned = model(device)["learned"]
    assert device.run("model", "export", str(file)).returncode == 0
    assert file.stat().st_mode & 0o077 == 0
    assert device.run("model", "reset").returncode == 0
    assert model(device)["n_pages"] == 0
    assert device.run("model", "import", str(file)).returncode == 0
    assert (model(device)["n_pages"], model(device)["learned"]) == (2, learned)
    assert model(device)["days"] == [date.today().isoformat()]
    assert device.run("model", "reset", "--to", "yesterday").returncode == 0
    assert model(device)["n_pages"] == 0
    assert "wanted a day, as" in device.run("model", "reset", "--to", "some day").stderr


def test_a_net_shows_the_features_that_it_likes_and_no_others(device: Device) -> None:
    """None before anything was learned; then non-zero numbers, the strongest first."""
    device.index()
    net = {"FOLTR_LEARNING__RANKER": "neural"}
    assert "title" not in device.run("model", env=net).stdout
    for _ in range(3):
        device.run("search", "heron", env=net)
        device.run("open", "3", "--print", env=net)
    device.run("search", "anything", env=net)
    shown = [float(line.split()[0]) for line in device.run("model", env=net).stdout.splitlines() if line[:1] == " "]
    assert shown == sorted(shown, key=abs, reverse=True)
    assert min(map(abs, shown)) > 0


@pytest.mark.parametrize(("content", "said"), [("{}", "no model"), ("no JSON", "no model")])
def test_a_file_that_is_no_model_is_refused(device: Device, content: str, said: str) -> None:
    """Importing anything else is one line and changes nothing."""
    file = device.home / "other.json"
    file.write_text(content, encoding="utf-8")
    done = device.run("model", "import", str(file))
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_forget_leaves_nothing_of_what_was_learned(device: Device) -> None:
    """`model forget` clears pages, picks, statistics and versions; without --yes and a terminal it does nothing."""
    device.index()
    for _ in range(3):
        pick(device, "heron", names(device, "heron")[-1])
    names(device, "anything")
    assert device.run("model", "forget").returncode != 0
    assert model(device)["n_pages"] == 3
    assert device.run("model", "forget", "--yes").returncode == 0
    forgotten = model(device)
    assert (forgotten["n_pages"], forgotten["n_documents_remembered"], forgotten["days"]) == (0, 0, [])
    assert device.run("stats").returncode == 1


def test_forget_also_leaves_nothing_of_a_ranker_that_was_used_before(device: Device) -> None:
    """What the net learned is gone, though the linear ranker is in use by now."""
    device.index()
    net = {"FOLTR_LEARNING__RANKER": "neural"}
    rank = names(device, "heron").index(names(device, "heron")[-1]) + 1
    for line in (("search", "heron"), ("open", str(rank), "--print"), ("search", "anything")):
        device.run(*line, env=net)
    learned = [json.loads(device.run("model", "show", "--json", env=net).stdout)["n_pages"]]
    assert device.run("model", "forget", "--yes").returncode == 0
    learned.append(json.loads(device.run("model", "show", "--json", env=net).stdout)["n_pages"])
    assert learned == [1, 0]


def test_what_was_opened_before_the_days_that_are_asked_about_is_not_denied(device: Device) -> None:
    """`stats --days` speaks of these days alone."""
    assert "no opened results to count in the last 3 days; " in device.run("stats", "--days", "3").stderr
    assert "no opened results to count yet; " in device.run("stats").stderr
