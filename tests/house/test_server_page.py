"""docs/server.md: what it shows is executed, what it names exists."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from federation_server.cli import COMMANDS, main, program
from federation_server.refusals import REASONS
from federation_server.running.monitoring import Counters
from federation_server.settings import SCHEME, read
from tests.contrib.program import Program
from tests.contrib.program import program as installed
from tests.federation_server.client import Client, opened

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def test_the_settings_it_shows_can_be_pasted_at_the_end_of_the_file(tmp_path: Path) -> None:
    """Below what `init` wrote, in the middle of it, and alone, they are valid and do what they say."""
    (shown,) = blocks("toml")
    whole = SCHEME.default_file()
    half = whole.index("\n# Encryption") + 1
    for number, text in enumerate((whole + shown, whole[:half] + shown + whole[half:], shown)):
        file = tmp_path / f"{number}.toml"
        file.write_text(text, encoding="utf-8")
        found = read(file, {})
        assert (found.server.address, found.tls.mode) == ("0.0.0.0", "self-signed")
        assert found.server.public == "https://ranker.example.org:8421"


def test_a_group_starts_as_the_page_says(tmp_path: Path) -> None:
    """`serve` makes a group and an invite by which a device joins; with the pasted settings it serves all the same."""
    lines = [line.partition("#")[0].split() for line in blocks("")[0].splitlines() if line.startswith("foltr-server")]
    serve, invite = lines
    made: Program = installed(tmp_path / "server", {})
    with made.serving(serve, ["foltr-server", "health"]):
        first = made.first_invite()
        assert opened(Client(first.address).join(first)).kind == "enrolled"
        assert made.run(invite).returncode == 0
    with open(made.folder / "server.toml", "a", encoding="utf-8") as file:
        file.write(blocks("toml")[0])
    with made.serving(serve, ["foltr-server", "health"]):
        assert "https://ranker.example.org:8421" in made.said()


def commands(group: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(group, click.Group):
        for name in group.list_commands(click.Context(group)):
            found = group.get_command(click.Context(group), name)
            assert found is not None
            yield (*path, name)
            yield from commands(found, (*path, name))


def test_every_command_is_there_and_every_command_is_named() -> None:
    """The table names each command of the program, and no other."""
    known = set(commands(program))
    named = set()
    for text in quoted("\n".join(row.partition("|")[2].partition("|")[0] for row in section("Commands").splitlines())):
        words = tuple(word for word in text.split() if word.islower() and not word.startswith("-"))
        if words and words[0] in COMMANDS:
            assert words in known, text
            named |= {words[: n + 1] for n in range(len(words))}
    assert {path[0] for path in known} <= {path[0] for path in named}
    assert {path for path in known if path[0] in ("rounds", "invite", "keys", "members", "model")} <= named


def test_every_setting_and_variable_it_names_exists() -> None:
    """`table.key`, `[table]` and FOLTR_SERVER variables are the program's."""
    tables = "|".join(SCHEME.sections)
    found = {name for text in quoted(TEXT) for name in re.findall(rf"^\[?((?:{tables})\.\w+)", text)}
    assert len(found) > 15
    assert found <= set(SCHEME.keys) | {"server.toml"}
    for table, key in re.findall(r"FOLTR_SERVER(?:_([A-Z]+))?__([A-Z_]+)", TEXT):
        assert f"{table.lower() or 'server'}.{key.lower()}" in SCHEME.keys


def test_every_refusal_and_metric_it_names_exists() -> None:
    """Codes are those of the program, metrics are served under these names."""
    table = section("Monitoring").partition("| refusal")[2]
    codes = {code for row in table.splitlines()[2:] for code in quoted(row.partition("|")[2].partition("|")[0])}
    assert len(codes) > 10
    assert codes <= set(REASONS)
    served = {f"{metric.name}_total" if metric.type == "counter" else metric.name
              for metric in Counters().registry.collect()}  # fmt: skip
    assert set(re.findall(r"`(foltr_\w+)`", TEXT)) <= served


def test_its_files_are_there() -> None:
    """Each path of the repository that it names."""
    paths = set(re.findall(r"(?:contrib|docs|foltr)/[\w./-]+\.(?:md|py|yaml|service)|contrib/docker/Dockerfile", TEXT))
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_bounds_it_gives_are_those_of_the_program() -> None:
    """Ten seconds, thirty seconds, 900 connections."""
    from federation_server.running.limits import HEAD_SECONDS, LARGEST_CROWD
    from federation_server.running.web_server import BODY_SECONDS

    assert (HEAD_SECONDS, BODY_SECONDS, LARGEST_CROWD) == (10.0, 30.0, 900)
    assert "ten seconds for its headers and thirty for a body" in TEXT
    assert "all together are 900" in TEXT


def test_a_table_beside_full_keys_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What TOML forbids is told with the file's name, not as a traceback."""
    text = 'server.port = 9000\n[server]\naddress = "::1"\n'
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(text)
    (tmp_path / "server.toml").write_text(text, encoding="utf-8")
    assert main(["--folder", str(tmp_path), "config", "check"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(str(tmp_path / "server.toml"))
