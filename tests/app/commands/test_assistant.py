"""`foltr-search assistant`: configurations of assistants, and what they asked."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from app.assistants.configurations import ASSISTANTS, ConfigurationError
from app.assistants.granted import Granted
from app.paths import Paths
from app.settings import MeaningSettings, Settings
from tests import copied

if TYPE_CHECKING:
    from pathlib import Path

    from tests.app.conftest import Device


@pytest.mark.parametrize("name", list(ASSISTANTS))
def test_an_entry_is_written_exchanged_and_removed(name: str, tmp_path: Path) -> None:
    """In a missing file, and in one with other entries, which stay as they were."""
    one = ASSISTANTS[name]
    is_toml = one.place.endswith(".toml")
    other = (
        f"model = 1\n\n[{one.key}.other]\ncommand = 'x'\n" if is_toml else json.dumps({one.key: {"other": {"a": 1}}})
    )
    for before in ("", other):
        path = one.path(tmp_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before)
        for command in (["/bin/foltr-search", "mcp", "--", "/a b"], ["/bin/foltr-search", "mcp", "--", '/é"c']):
            one.write(tmp_path, one.with_entry(tmp_path, command))
            assert one.command(tmp_path) == command
        read = tomllib.loads(path.read_text()) if is_toml else json.loads(path.read_text())
        assert set(read[one.key]) == ({"other", "foltr-search"} if before else {"foltr-search"})
        one.write(tmp_path, one.without_entry(tmp_path))
        assert one.command(tmp_path) == []
        after = tomllib.loads(path.read_text()) if is_toml else json.loads(path.read_text())
        assert after == (
            {one.key: {}} if not (before or is_toml) else tomllib.loads(before) if is_toml else json.loads(before)
        )


def test_a_file_that_is_no_plain_json_stays_as_it_is(tmp_path: Path) -> None:
    """The error says what to write by hand; a link leads to the file itself, and its mode stays."""
    one = ASSISTANTS["zed"]
    path = one.path(tmp_path)
    path.parent.mkdir(parents=True)
    for text in ("{ // theme\n}", "[1]", '{"context_servers": 3}', "{"):
        path.write_text(text)
        with pytest.raises(ConfigurationError, match="wanted"):
            one.with_entry(tmp_path, ["x"])
        assert path.read_text() == text
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}")
    kept.chmod(0o644)
    path.unlink()
    path.symlink_to(kept)
    one.write(tmp_path, one.with_entry(tmp_path, ["x"]))
    assert path.is_symlink()
    assert "foltr-search" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o644


def test_the_change_is_shown_and_asked_for_first(device: Device) -> None:
    """Without a yes nothing is written; after it the list shows the assistant with its folders."""
    home = {"HOME": str(device.home)}
    refused = device.run("assistant", "install", "cursor", str(device.notes), env=home)
    place = device.home / ".cursor" / "mcp.json"
    assert refused.returncode != 0
    assert f'+        "{device.notes}"' in refused.stderr
    assert not place.exists()
    assert device.run("assistant", env=home).returncode == 1
    assert device.run("assistant", "install", "cursor", str(device.notes), "--learn", "--yes", env=home).returncode == 0
    listed = device.run("assistant", "list", env=home).stdout
    assert listed == f"cursor\t0 requests\tlearns\t{device.notes}\n"
    started = json.loads(place.read_text())["mcpServers"]["foltr-search"]
    begun = subprocess.run(
        [started["command"], *started["args"]], env=device.environment(), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "may read" in begun.stderr or "needs the extra" in begun.stderr
    assert device.run("assistant", "remove", "cursor", "--yes", env=home).returncode == 0
    assert json.loads(place.read_text()) == {"mcpServers": {}}
    unknown = device.run("assistant", "install", "nobody", str(device.notes))
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "wanted one of claude-code" in unknown.stderr


@pytest.mark.parametrize(
    "listed",
    [
        '[mcp_servers.foltr-search]\ncommand = "old"\n\n[mcp_servers.foltr-search.env]\nA = "1"\n',
        '[mcp_servers."foltr-search"]\ncommand = "old"\n',
    ],
)
def test_an_entry_written_otherwise_is_exchanged_whole(tmp_path: Path, listed: str) -> None:
    """With its sub-tables and in any quoting; an inline entry is left to its owner, so that the file stays TOML."""
    one = ASSISTANTS["codex"]
    one.write(tmp_path, 'mcp_servers.foltr-search = {command = "old"}\n')
    with pytest.raises(ConfigurationError, match="by hand"):
        one.with_entry(tmp_path, ["/bin/foltr-search", "mcp"])
    one.write(tmp_path, '[mcp_servers.foltr-search]\ncommand = "old"\nargs = [\n["a"],\n]\n')
    with pytest.raises(ConfigurationError, match="by hand"):
        one.without_entry(tmp_path)
    one.write(tmp_path, listed)
    text = one.with_entry(tmp_path, ["/bin/foltr-search", "mcp"])
    assert tomllib.loads(text) == {"mcp_servers": {"foltr-search": {"command": "/bin/foltr-search", "args": ["mcp"]}}}
    assert tomllib.loads(one.without_entry(tmp_path)) == {}


def test_a_folder_that_no_configuration_can_name_is_refused(device: Device) -> None:
    """A name with a control character or undecodable bytes would break JSON and TOML."""
    for name in (b"a\xff", b"a\x7f"):
        os.mkdir(os.path.join(os.fsencode(device.home), name))
        for assistant in ("codex", "cursor"):
            folder = os.fsdecode(os.path.join(os.fsencode(device.home), name))
            done = device.run("assistant", "install", assistant, folder, "--yes", env={"HOME": str(device.home)})
            assert done.returncode == 2
            assert "wanted a folder whose name is text" in done.stderr
            assert not ASSISTANTS[assistant].path(device.home).exists()


def test_who_is_removed_is_said_to_search_until_its_restart(device: Device) -> None:
    """A server that already runs does not notice the removal."""
    home = {"HOME": str(device.home)}
    added = device.run("assistant", "install", "cursor", str(device.notes), "--yes", env=home)
    assert "restart the assistant to use it" in added.stderr
    gone = device.run("assistant", "remove", "cursor", "--yes", env=home)
    assert "restart the assistant: until then it can still search" in gone.stderr


@pytest.mark.parametrize("name", ["cursor", "of-my-own"])
def test_the_log_says_what_was_asked_and_given(device: Device, name: str) -> None:
    """A removed file is only counted; `reset` and `purge` delete all. Programs configured by hand are logged, too."""
    (device.notes / "numbat.txt").write_text("A numbat.\n")
    device.index()
    paths = structs.replace(Paths(device.config_file.parent, device.data_dir), assistant=name)
    settings = Settings(meaning=MeaningSettings(enabled=False))
    with closing(Granted(settings, paths, [str(device.notes)])) as granted:
        (result,) = granted.search("numbat")["results"]
        granted.fetch([result["id"]])
    told = device.run("assistant", "log", name).stdout.splitlines()
    assert [line.split("  ")[1:] for line in told if not line.startswith(" ")] == [["fetch"], ["search", "numbat"]]
    assert [line.strip() for line in told if line.startswith(" ")] == [str(device.notes / "numbat.txt")] * 2
    (device.notes / "numbat.txt").unlink()
    device.index()
    assert b"numbat.txt" not in b"".join(p.read_bytes() for p in device.data_dir.rglob("*.sqlite*"))
    records = [json.loads(line) for line in device.run("assistant", "log", name, "--json").stdout.splitlines()]
    assert [(one["tool"], one["query"], one["given"], one["gone"]) for one in records] == [
        ("fetch", "", [], 1), ("search", "numbat", [], 1),
    ]  # fmt: skip
    forged = "numbat\n2026-01-01 00:00  fetch"
    with closing(Granted(settings, paths, [str(device.notes)])) as granted:
        granted.search(forged)
    assert "2026-01-01 00:00  fetch" not in device.run("assistant", "log", name).stdout.splitlines()
    assert device.run("assistant", "reset", name, "--yes").returncode == 0
    assert device.run("assistant", "log", name).returncode == 1
    assert "wanted" in device.run("assistant", "log", "../x").stderr
    assert device.run("purge", "--yes").returncode == 0
    assert not device.data_dir.exists()


def test_a_user_without_a_home_is_told_what_to_set(device: Device) -> None:
    """Without HOME and without a name, as in a container: one line, from each command that needs the home."""
    nameless = f"import pwd; pwd.getpwuid = {{}}.__getitem__; {copied.COMMAND}"
    for words in (["list"], ["install", "cursor", str(device.notes), "--yes"], ["remove", "cursor", "--yes"]):
        variables = device.environment(HOME="")
        done = copied.run(["assistant", *words], variables=variables, cwd=device.home, code=nameless)
        assert (done.returncode, done.stderr) == (2, "foltr-search: there is no home folder; set HOME\n")
