"""`open`, `model`, `stats`, `history`, `doctor` and `config` from the outside."""

from __future__ import annotations

import json
import sys
from datetime import date
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.app.conftest import Device


def names(device: Device, query: str) -> list[str]:
    return device.run("search", query, "--no-explore", "--format", "{name}").stdout.splitlines()


def model(device: Device) -> dict[str, object]:
    shown: dict[str, object] = json.loads(device.run("model", "show", "--json").stdout)
    return shown


def pick(device: Device, query: str, name: str) -> None:
    rank = names(device, query).index(name) + 1
    done = device.run("open", str(rank), "--print")
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip("\n").endswith(name)


def test_open_gives_the_result_of_that_rank_to_a_program(device: Device) -> None:
    """`open N` starts the configured program with the path of result N, and gives an error when it fails."""
    device.index()
    rank = names(device, "fish").index("kingfisher.md") + 1
    script = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    log = device.home / "opened"
    editor = f"{sys.executable} -c '{script}' {log} {{path}}"
    done = device.run("open", str(rank), "--with", "editor", env={"FOLTR_OPEN__EDITOR": editor})
    assert done.returncode == 0, done.stderr
    assert log.read_text(encoding="utf-8") == str(device.notes / "birds" / "kingfisher.md")
    failing = device.run("open", str(rank), "--with", "editor", env={"FOLTR_OPEN__EDITOR": "false"})
    assert failing.returncode == 2
    assert "exit code 1" in failing.stderr


def test_a_pager_gets_the_text_of_what_it_could_not_show(device: Device) -> None:
    """HTML goes to the pager as extracted text, in a file that is gone afterwards."""
    device.index()
    done = device.run("open", str(device.notes / "tax" / "invoice.html"), "--with", "pager", env={"PAGER": "cat"})
    assert done.returncode == 0, done.stderr
    assert "Boat rental: 120 euros" in done.stdout
    assert "<body>" not in done.stdout
    assert list(device.data_dir.glob("*.txt")) == []


def test_open_refuses_what_it_cannot_open(device: Device) -> None:
    """No last search, a rank beyond it, and a file that is gone are each one message."""
    device.index()
    assert "there is no last search" in device.run("open", "1").stderr
    device.run("search", "boat")
    assert "results 1 to 1, not 7" in device.run("open", "7").stderr
    (device.notes / "tax" / "invoice.html").unlink()
    gone = device.run("open", "1")
    assert gone.returncode == 2
    assert "it is gone" in gone.stderr


def test_picks_raise_what_was_opened_and_count_as_lessons(device: Device) -> None:
    """A result that is opened again and again comes first; each page is one lesson and each opening one statistic."""
    device.index()
    wanted = names(device, "heron")[-1]
    for _ in range(4):
        pick(device, "heron", wanted)
    assert names(device, "heron")[0] == wanted
    learned = model(device)
    assert (learned["n_pages"], learned["n_picks"]) == (4, 4)
    stats = json.loads(device.run("stats", "--json").stdout)
    assert stats["overall"]["n"] == 4
    assert 0 < stats["overall"]["mrr_bm25"] < stats["overall"]["mrr_learned"] <= 1
    shown = device.run("stats")
    assert shown.returncode == 0
    assert "mean reciprocal rank" in shown.stdout


def test_opening_by_path_counts_when_it_was_a_result(device: Device) -> None:
    """A path that was on the last page is a pick as its rank would have been; another path just opens."""
    device.index()
    names(device, "heron")
    assert device.run("open", str(device.notes / "birds" / "list.txt"), "--print").returncode == 0
    assert device.run("open", str(device.notes / "code" / "fish_counter.py"), "--print").returncode == 0
    names(device, "something else")
    assert model(device)["n_picks"] == 1


def test_learning_can_be_switched_off(device: Device) -> None:
    """With learning off, opening teaches nothing and remembers nothing."""
    device.config_file.write_text("[learning]\nenabled = false\n", encoding="utf-8")
    device.index()
    before = names(device, "heron")
    for _ in range(3):
        pick(device, "heron", before[-1])
    assert names(device, "heron") == before
    assert (model(device)["n_picks"], model(device)["n_documents_remembered"]) == (0, 0)


def test_a_model_can_be_exported_reset_and_imported(device: Device) -> None:
    """What was learned survives a reset in a file, and the day's version is kept."""
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
    assert "wanted a day as" in device.run("model", "reset", "--to", "some day").stderr


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


def test_history_is_kept_only_when_it_is_switched_on(device: Device) -> None:
    """Off by default: nothing is listed; on: newest first; clear forgets."""
    device.index()
    device.run("search", "heron")
    assert device.run("history").returncode == 1
    on = {"FOLTR_HISTORY__ENABLED": "true"}
    device.run("search", "boat", "rental", env=on)
    device.run("search", "fish", env=on)
    listed = [line.partition("\t")[2] for line in device.run("history", env=on).stdout.splitlines()]
    assert listed == ["fish", "boat rental"]
    assert device.run("history", "clear").returncode == 0
    assert device.run("history", env=on).stdout == ""


def test_no_query_is_kept_in_clear(device: Device) -> None:
    """After searching and opening, no file of the data folder holds the query's words (of none of the documents)."""
    device.index()
    device.run("search", "kingfisher", "zeppelinfahrt")
    device.run("open", "1", "--print")
    device.run("search", "heron")
    holding = [path.name for path in device.data_dir.rglob("*") if path.is_file() and b"zeppelin" in path.read_bytes()]
    assert holding == []


def test_doctor_is_content_with_a_sound_device_and_finds_what_is_broken(device: Device) -> None:
    """One line per check; exit code 2 for a damaged index, a bad setting or a damaged state, each named."""
    assert device.run("doctor").returncode == 0
    device.index()
    sound = device.run("doctor")
    assert sound.returncode == 0, sound.stdout
    assert "broken" not in sound.stdout
    assert "6 documents in 6 files" in sound.stdout
    for toc in (device.data_dir / "index").glob("*.toc"):
        toc.write_bytes(b"damaged")
    device.config_file.write_text("[search]\nlimit = 0\n", encoding="utf-8")
    damaged = device.run("doctor")
    assert damaged.returncode == 2
    broken = [line.split()[1] for line in damaged.stdout.splitlines() if line.startswith("broken")]
    assert broken == ["settings:", "index:"]


def test_a_damaged_index_is_rebuilt_and_searching_it_says_so(device: Device) -> None:
    """A search over a damaged index is no traceback, and the next `index` makes it anew with a message."""
    device.index()
    for toc in (device.data_dir / "index").glob("*.toc"):
        toc.write_bytes(b"damaged")
    searched = device.run("search", "heron")
    assert searched.returncode == 2
    assert "`foltr-search index` makes it anew" in searched.stderr
    assert len(searched.stderr.splitlines()) == 1
    rebuilt = device.run("index")
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert len(names(device, "heron")) == 3


def test_config_edit_makes_the_file_and_checks_it(device: Device) -> None:
    """`config edit` begins with the default file, and tells of what cannot be used afterwards."""
    device.config_file.parent.rmdir()
    done = device.run("config", "edit", env={"FOLTR_OPEN__EDITOR": "true"})
    assert done.returncode == 0, done.stderr
    assert device.config_file.read_text(encoding="utf-8") == device.run("config", "default").stdout
    device.config_file.write_text("[index]\nworkers = 'x'\n", encoding="utf-8")
    again = device.run("config", "edit", env={"FOLTR_OPEN__EDITOR": "true"})
    assert again.returncode == 2
    assert "index.workers wants a whole number" in again.stderr


def test_config_check_lists_every_problem(device: Device) -> None:
    """Each problem is a line on stderr; a sound configuration is silent."""
    assert device.run("config", "check").returncode == 0
    device.config_file.write_text("[index]\nworkers = -1\nx = 1\n", encoding="utf-8")
    done = device.run("config", "check")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 2
