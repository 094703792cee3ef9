"""What console/extras.py promises: a line that works here, and never a package that anybody may publish."""

from __future__ import annotations

import json
import re
import shlex
import sys
from importlib import metadata
from pathlib import Path

import pytest

from console.extras import how_to_add

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("Requires-Dist: gull>=1.2; extra == 'birds'", "Requires-Dist: tern[sea]==2; extra == 'birds'")
READ = (".py", ".md", ".html", ".service", ".1")
HELD = "Requires-Dist: numpy>=2; extra == 'numbers'"


class Environment:
    """A made-up environment that a tool has made, with the program in it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.packages = "site-packages"
        self.python = str(folder / "bin" / "python")
        patch.setattr(sys, "prefix", str(folder))
        patch.setattr(sys, "executable", self.python)

        def find(name: str) -> metadata.Distribution:
            return metadata.PathDistribution(self.own)

        patch.setattr("importlib.metadata.distribution", find)

    @property
    def own(self) -> Path:
        return self.folder / "lib" / self.packages / "foltr_search-0.2.0.dist-info"

    def install(self, record: dict[str, object] | None, receipt: str = "") -> None:
        self.own.mkdir(parents=True)
        lines = ("Metadata-Version: 2.4", "Name: foltr-search", "Version: 0.2.0", *PARTS, HELD)
        (self.own / "METADATA").write_text("\n".join(lines) + "\n")
        if record is not None:
            (self.own / "direct_url.json").write_text(json.dumps(record))
        if receipt:
            (self.folder / receipt).touch()


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    return Environment(tmp_path / "environment", monkeypatch)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "a checkout"
    folder.mkdir()
    return folder


def test_a_checkout_is_installed_once_more_with_the_extra(environment: Environment, checkout: Path) -> None:
    """By the environment's own pip; its record writes a blank as %20."""
    environment.install({"url": f"file://{str(checkout).replace(' ', '%20')}", "dir_info": {"editable": True}})
    assert shlex.split(how_to_add("birds")) == [
        environment.python, "-m", "pip", "install", "-e", f"{checkout}[birds]",
    ]  # fmt: skip


@pytest.mark.parametrize(("receipt", "tool"), [("pipx_metadata.json", "pipx"), ("uv-receipt.toml", "uv tool")])
def test_a_tool_gets_all_extras_that_are_there(
    environment: Environment, checkout: Path, receipt: str, tool: str
) -> None:
    """It makes the environment anew, and the extra `numbers` would be gone."""
    environment.install({"url": checkout.as_uri(), "dir_info": {}}, receipt)
    assert how_to_add("birds") == f"{tool} install --force '{checkout}[birds,numbers]'"


def test_without_a_place_the_parts_are_named_and_never_the_program(environment: Environment, checkout: Path) -> None:
    """From an index, or from a folder that is gone: its name in an index may be anybody's."""
    environment.install({"url": (checkout / "gone").as_uri(), "dir_info": {}})
    assert how_to_add("birds") == f"{environment.python} -m pip install 'gull>=1.2' 'tern[sea]==2'"
    (environment.own / "direct_url.json").unlink()
    (environment.folder / "pipx_metadata.json").touch()
    assert how_to_add("birds") == "pipx inject foltr-search 'gull>=1.2' 'tern[sea]==2'"


def test_a_repository_is_named_with_its_commit(environment: Environment) -> None:
    """A branch may have moved on."""
    environment.install({"url": "https://example.org/f.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}})
    assert shlex.split(how_to_add("birds"))[-1] == "foltr-search[birds] @ git+https://example.org/f.git@c0ffee"


def test_an_environment_without_pip_is_served_by_uv(
    environment: Environment, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `uv venv` makes them."""
    environment.install({"url": checkout.as_uri(), "dir_info": {}})
    monkeypatch.setattr("console.extras.find_spec", lambda name: None)
    assert how_to_add("birds") == f"uv pip install --python {environment.python} '{checkout}[birds]'"


def test_where_only_root_may_write_it_says_sudo(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """As below /opt, where the package of a distribution has put it."""
    environment.install(None)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert how_to_add("birds") == f"sudo {environment.python} -m pip install 'gull>=1.2' 'tern[sea]==2'"


def test_one_file_that_runs_cannot_be_added_to(environment: Environment) -> None:
    """What it unpacked belongs to it alone."""
    environment.packages = "unpacked"
    environment.install(None)
    assert how_to_add("birds") == "install a copy with [birds]; nothing can be added to this one"


def test_here_it_names_this_checkout() -> None:
    """Real, in the environment of the tests."""
    assert how_to_add("meaning").endswith(f"{ROOT}[meaning]'")


def test_nobody_is_sent_to_a_package_that_is_not_published() -> None:
    """No line of the program or its pages has an index look for the program's name."""
    tools = r"(?:pip|pipx|uv|uvx)(?: tool)? (?:install|run)"
    wrong = re.compile(rf"{tools} [^\n|;&`]*?['\"]?\bfoltr-search(?![\w/.]*/)(?! @)")
    folders = ("app", "console", "contrib", "docs", "federation_server", "indexer", "simulation")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in READ]
    pages = [*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    said = {path.name: found[0] for path in pages if (found := wrong.search(path.read_text(encoding="utf-8")))}
    assert said == {}
