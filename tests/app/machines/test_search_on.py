"""`search --on` and `open` as a user runs them: rows of several machines, and which of them can be used here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.machines.machines_of_one import make_machine, ssh_to

if TYPE_CHECKING:
    from tests.app.conftest import Device


@pytest.fixture
def asking(indexed: Device, tmp_path: Path) -> dict[str, str]:
    """The variables by which the device reaches `desk`, with a fish and a name that is hostile."""
    make_machine(tmp_path / "desk", {"carp.txt": "The carp is a fish of ponds.", "fish\x1b[2J.txt": "fish fish"})
    return {"FOLTR_DEVICES__SSH": ssh_to(tmp_path), "FOLTR_DEVICES__ASK_SECONDS": "60"}


def test_rows_name_their_machine(indexed: Device, asking: dict[str, str], tmp_path: Path) -> None:
    """In lines and in JSON; outputs for other programs, which need local paths, leave them out."""
    lines = indexed.run("search", "--on", "desk", "fish", env=asking)
    assert lines.returncode == 0, lines.stderr
    assert f"desk:{tmp_path}/desk/notes/carp.txt\t" in lines.stdout
    printed = indexed.run("search", "--on", "desk", "--json", "fish", env=asking).stdout
    records = {record["name"]: record for record in map(json.loads, printed.splitlines())}
    assert (records["carp.txt"]["machine"], records["kingfisher.md"]["machine"]) == ("desk", "")
    assert "carp" in records["carp.txt"]["snippet"]["text"]
    for option in ("--paths0", "--vimgrep"):
        assert "desk" not in indexed.run("search", "--on", "desk", option, "fish", env=asking).stdout
    assert "\x1b[2J" not in indexed.run("search", "--on", "desk", "--explain", "fish", env=asking).stdout


def test_without_being_asked_for_no_machine_is(indexed: Device, asking: dict[str, str]) -> None:
    """Only `--on` or the setting contacts others."""
    assert "desk:" not in indexed.run("search", "fish", env=asking).stdout
    always = asking | {"FOLTR_DEVICES__ASK": "desk"}
    assert "desk:" in indexed.run("search", "fish", env=always).stdout


def test_a_machine_that_is_not_there_is_one_line(indexed: Device, asking: dict[str, str]) -> None:
    """The local page comes, with its own exit code."""
    done = indexed.run("search", "--on", "desk,nas", "fish", env=asking)
    assert done.returncode == 0
    assert done.stderr == "foltr-search: nas: ssh: Could not resolve hostname\n"


@pytest.mark.parametrize("name", ["-oProxyCommand=touch x", "a b", "desk;id", "$(id)", "desk:22"])
def test_names_that_ssh_may_misread_are_refused(indexed: Device, asking: dict[str, str], name: str) -> None:
    """This happens before anything is started."""
    done = indexed.run("search", f"--on={name}", "fish", env=asking)
    assert done.returncode == 2
    assert "wants names of machines" in done.stderr


def test_a_result_of_another_machine_is_opened_as_a_copy(
    device: Device, asking: dict[str, str], tmp_path: Path
) -> None:
    """In the folder of opened mails; its place is printed in scp's form, and it counts as opened there."""
    device.index()
    assert device.run("search", "--on", "desk", "carp ponds", env=asking).stdout.startswith("desk:")
    log = device.home / "opened"
    script = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    editor = {"FOLTR_OPEN__EDITOR": f"{sys.executable} -c '{script}' {log} {{path}}"}
    done = device.run("open", "1", "--with", "editor", env=asking | editor)
    assert done.returncode == 0, done.stderr
    copy = Path(log.read_text(encoding="utf-8"))
    assert copy.parent == device.data_dir / "mail"
    assert copy.read_text(encoding="utf-8") == "The carp is a fish of ponds."
    assert "this is a copy from desk: changes to it are not sent back" in done.stderr
    printed = device.run("open", "1", "--print", env=asking)
    assert printed.stdout == f"desk:{tmp_path}/desk/notes/carp.txt\n"
    folder = device.run("open", "1", "--with", "folder", env=asking)
    assert (folder.returncode, folder.stdout) == (2, "")
    assert "the folder of result 1 is on desk" in folder.stderr
    again = device.run("search", "--on", "desk", "--json", "--explain", "carp ponds", env=asking)
    contributions = json.loads(again.stdout.splitlines()[0])["explanation"]["contributions"]
    assert "same_query" in [own["feature"] for own in contributions if own["value"] > 0]
