"""The documentation that the program itself knows is what the program says."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import click
import pytest

from app.cli import COMMANDS, NAME, program
from app.resident.local_socket import socket_path
from app.resident.resident_client import COMMANDS as ANSWERED
from app.standard_folders import standard_folder
from indexer.documents import TYPES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CONTEXT = program.make_context(NAME, [], resilient_parsing=True)
STALE = "run `python docs/make_reference.py`"


@pytest.fixture(scope="module")
def make_reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_reference", DOCS / "make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(
    not version("click").startswith("8.5."), reason="usage lines are worded by click; the page is made with click 8.5"
)
def test_the_manual_page_is_that_of_the_commands(make_reference: ModuleType) -> None:
    """docs/man/foltr-search.1 is what `foltr-search man` prints, foltr-server.1 what `foltr-server man` does."""
    assert (DOCS / "man" / "foltr-search.1").read_text(encoding="utf-8") == make_reference.manual_page(), STALE
    assert (DOCS / "man" / "foltr-server.1").read_text(encoding="utf-8") == make_reference.server_page(), STALE


def test_the_settings_page_holds_the_default_file(make_reference: ModuleType) -> None:
    """docs/configuration.md holds what `foltr-search config default` prints."""
    text = (DOCS / "configuration.md").read_text(encoding="utf-8")
    assert text == make_reference.configuration(text), STALE


def test_the_page_of_keys_holds_the_table_of_actions(make_reference: ModuleType) -> None:
    """docs/keys.md names every action with its keys."""
    text = (DOCS / "keys.md").read_text(encoding="utf-8")
    assert text == make_reference.keys(text), STALE


@pytest.mark.parametrize("name", ["foltr-search.1", "foltr-server.1"])
def test_the_manual_page_is_well_formed(name: str) -> None:
    """A roff checker, where there is one, finds nothing; every request is one of the man macros."""
    file = DOCS / "man" / name
    used = set(re.findall(r"^\.([A-Za-z]+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert used <= {"TH", "SH", "SS", "PP", "TP", "B", "I", "RS", "RE", "br", "nf", "fi"}
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-z", str(file)], capture_output=True, text=True, check=False)
        assert done.stderr == ""


def test_the_service_unit_answers_and_watches_without_a_network() -> None:
    """The unit runs `serve`, which watches on mains power only, and leaves its socket where commands look for it."""
    unit = unit_file("foltr-search.service")
    for line in (
        "ExecStart=%h/.local/bin/foltr-search serve --pause-on-battery --quiet",
        "RestrictAddressFamilies=AF_UNIX",
        "UMask=0077",
    ):
        assert line in unit.splitlines()
    socket = unit_file("foltr-search.socket").splitlines()
    path = socket_path(standard_folder("data", {}).replace(os.path.expanduser("~"), "%h"))
    assert {f"ListenStream={path}", "DirectoryMode=0700", "SocketMode=0600"} <= set(socket)


def unit_file(name: str) -> str:
    return (ROOT / "contrib" / "systemd" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["json-output.md", "query-language.md"])
def test_the_pages_name_every_type(name: str) -> None:
    """A row on types lists them all, in their order."""
    listed = re.findall(r"\btext, markdown,[\w, ]+", (DOCS / name).read_text(encoding="utf-8"))
    assert [one.strip().split(", ") for one in listed] == [list(TYPES)]


@pytest.mark.parametrize("extra", ["desktop", "all"])
def test_the_table_of_extras_is_that_of_the_package(extra: str) -> None:
    """The row `desktop` lists its extras, the row `all` those that it leaves out."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    brought = {one for need in extras[extra] for one in re.findall(r"[\w-]+", need.partition("[")[2].partition("]")[0])}
    page = (DOCS / "installing.md").read_text(encoding="utf-8")
    row = next(row for row in page.splitlines() if row.startswith(f"| `{extra}`"))
    said = set(re.findall("`(\\w+)`", row)) - {extra}
    users = set(extras) - {"test", "all", "desktop", "meaning"}  # `languages` brings `meaning`
    assert said == (brought if extra == "desktop" else users - brought)


def shown_options() -> list[tuple[str, str]]:
    """Each command that a page of the documentation shows with an option, as (page, command)."""
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    shown = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
        prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        for piece in [*"".join(blocks).splitlines(), *re.findall("`([^`]+)`", prose)]:
            words = piece.partition(" # ")[0].removeprefix("foltr-search ").split()
            if words and words[0] in COMMANDS and any(word.startswith("--") for word in words):
                shown.append((page.name, " ".join(words)))
    return shown


def test_every_option_that_a_page_shows_exists() -> None:
    """`serve --no-watch` names an option that `serve` has; words after `--`, a quote or | are not options."""
    shown = shown_options()
    assert len(shown) > 50
    wrong = []
    for page, line in shown:
        command = program.get_command(CONTEXT, line.split()[0])
        for word in re.split(r" -- | \| | && | > |['\"]", line)[0].split()[1:]:
            inner = command.get_command(CONTEXT, word) if isinstance(command, click.Group) else None
            known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} if command else set()
            if word.startswith("--") and word.partition("=")[0].rstrip(",;:|") not in known | {"--set", "--help"}:
                wrong.append((page, line, word))
            command = inner or command
    assert wrong == []


def test_the_help_of_serve_names_what_it_answers() -> None:
    """The resident process answers these commands, and completion; all others work alone."""
    text = inspect.getdoc(program.get_command(CONTEXT, "serve").callback) or ""  # type: ignore[union-attr]
    assert set(re.findall("`(\\w+)`", text)) - {"watch"} == ANSWERED


def test_the_manual_page_says_what_may_leave_the_device(make_reference: ModuleType) -> None:
    """Its section on privacy names each way that something may take."""
    section = make_reference.manual_page().partition(".SH PRIVACY\n")[2]
    assert "no command" not in section
    for way in ("join", "sync", "devices", r"search \-\-on"):
        assert way in section
