"""`open` as a user runs it: what is opened, with which program, and that it counts."""

from __future__ import annotations

import itertools
import json
import sys
import unicodedata
import zipfile
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from app.resident.local_socket import AVAILABLE
from tests.app.commands.picking import model, names, pick
from tests.app.resident.conftest import serving

if TYPE_CHECKING:
    from tests.app.conftest import Device

TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"


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


def test_the_editor_goes_to_the_passage_that_was_printed(device: Device) -> None:
    """Not to the first match of any word; a result that was not printed with its passage opens at its beginning."""
    lines = ["The heron is a bird.", *["Nothing here."] * 40, "A heron on the roof of the mill: the mill is old."]
    (device.notes / "mill.txt").write_text("\n".join(lines), encoding="utf-8")
    device.index()
    log = device.home / "opened"
    script = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    editor = {"FOLTR_OPEN__EDITOR": f"{sys.executable} -c '{script}' {log} {{line}} {{path}}"}
    rank = names(device, "mill heron").index("mill.txt") + 1
    device.run("search", "mill heron")
    assert device.run("open", str(rank), "--with", "editor", env=editor).returncode == 0
    assert log.read_text(encoding="utf-8") == "42"


def test_a_pager_gets_the_text_of_what_it_could_not_show(device: Device) -> None:
    """HTML goes to the pager as extracted text, in a file that is gone afterwards."""
    device.index()
    done = device.run("open", str(device.notes / "tax" / "invoice.html"), "--with", "pager", env={"PAGER": "cat"})
    assert done.returncode == 0, done.stderr
    assert "Boat rental: 120 euros" in done.stdout
    assert "<body>" not in done.stdout
    assert list(device.data_dir.glob("*.txt")) == []


def test_what_no_display_can_show_is_read_in_the_pager(device: Device) -> None:
    """Over SSH a document's text is shown, as on the screen; a file without text gives the reason."""
    env = {"PAGER": "cat", "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}
    (device.notes / "picture.bin").write_bytes(bytes(100))
    with zipfile.ZipFile(device.notes / "talk.odt", "w") as talk:
        talk.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        talk.writestr("content.xml", f'<a:doc xmlns:a="{TEXT}"><a:body><a:p>The bittern booms.</a:p></a:body></a:doc>')
    device.index()
    done = device.run("open", str(device.notes / "talk.odt"), env=env)
    assert (done.returncode, done.stdout.strip()) == (0, "The bittern booms."), done.stderr
    assert list(device.data_dir.glob("*.txt")) == []
    refused = device.run("open", str(device.notes / "picture.bin"), env=env)
    assert refused.returncode == 2
    assert "no graphical display" in refused.stderr


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
    assert "Too early to say: 4 openings, about 30 are needed." in shown.stdout


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


@pytest.mark.parametrize("is_resident", [False, True])
def test_what_could_not_be_opened_is_not_learned(device: Device, is_resident: bool) -> None:
    """A missing or failing program teaches nothing, whichever process answers; one that starts counts once."""
    device.index()
    with serving(device) if is_resident and AVAILABLE else nullcontext():
        device.run("search", "heron")
        for how, program in itertools.product(("opener", "editor"), ("no-such-program", "false")):
            with_ = ("--with", "editor") if how == "editor" else ()
            failed = device.run("open", "1", *with_, env={f"FOLTR_OPEN__{how.upper()}": program, "DISPLAY": ":9"})
            assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)
        device.run("search", "fish")
        assert "no opened results to count yet" in device.run("stats").stderr
        assert device.run("open", "1", "--with", "editor", env={"FOLTR_OPEN__EDITOR": "true"}).returncode == 0
        device.run("search", "heron")
        assert "1 result opened" in device.run("stats").stdout


def test_a_file_that_never_was_is_not_called_gone(device: Device) -> None:
    """The message says that it is neither here nor in the index, even if only the path is asked for."""
    device.index()
    for options in ((), ("--print",)):
        done = device.run("open", "no/such.txt", *options)
        said = "no/such.txt: there is no such file, here or in the index\n"
        assert (done.returncode, done.stdout, done.stderr.endswith(said)) == (2, "", True)


@pytest.mark.parametrize("digits", ["9" * 10, "9" * 5000])
def test_a_rank_of_any_length_is_one_message(device: Device, digits: str) -> None:
    """Python refuses numbers of more than 4,300 digits."""
    device.index()
    device.run("search", "boat")
    done = device.run("open", digits)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"has results 1 to 1, not {digits[:20]};" in done.stderr


@pytest.mark.parametrize(("disk", "typed"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_accents_may_be_typed_otherwise_than_on_the_disk(device: Device, disk: str, typed: str) -> None:
    """`index`, `open` and `index --forget` find folder and file, each spelt differently."""
    folder = device.home / unicodedata.normalize(disk, "Übung")
    folder.mkdir()
    name = unicodedata.normalize(typed, "Café.txt")
    (folder / name).write_text("A bittern.", encoding="utf-8")
    other = device.home / unicodedata.normalize(typed, "Übung")
    assert device.run("index", str(other)).returncode == 0
    done = device.run("open", "--print", str(other / unicodedata.normalize(disk, name)))
    assert done.stdout == f"{folder / name}\n", done.stderr
    assert device.run("index", "--forget", str(other)).returncode == 0
