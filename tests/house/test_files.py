"""What lies in the repository: names that mean something, nothing of one machine, a README that is what runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.test_rooms import HOUSES

ROOT = Path(__file__).resolve().parents[2]

NAMELESS = {"utils", "util", "helpers", "helper", "common", "base", "misc"}


def tracked() -> list[Path]:
    """The files that git knows, or without git all files outside of hidden and cache folders."""
    if shutil.which("git") and (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]
    parts = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [ROOT / part for part in parts if not any(p.startswith(".") or p == "__pycache__" for p in part.parts)]


def test_the_top_of_the_repository_holds_what_belongs_there() -> None:
    """The houses and the project's own files: nothing that a run of the program leaves, like a folder named `~`."""
    folders = {*HOUSES, ".ci", "benchmarks", "contrib", "docs", "examples", "publications", "release", "tests"}
    pages = {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"}
    built = {".gitignore", "foltr_search.py", "hatch_build.py", "pyproject.toml"}
    tops = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert tops - {top for top in tops if top.startswith(".")} <= folders | pages | built
    assert [path for path in tracked() if path.suffix in {".sqlite", ".toc"} or path.name == "key"] == []


def test_no_module_is_named_for_nothing() -> None:
    """No module is called utils, helpers, common or base: a file's name says what it holds."""
    assert [path for path in tracked() if path.suffix == ".py" and path.stem in NAMELESS] == []


def test_no_file_names_a_place_on_one_machine() -> None:
    """No tracked text holds a path of the machine that it was written on."""
    places = re.compile("/work/" + "(main|scratch|shared)|" + "/ro" + "ot/|/tmp/" + "bash_jobs")
    found = []
    for path in tracked():
        content = path.read_bytes()
        if b"\0" not in content and places.search(content.decode("utf-8", "replace")):
            found.append(path.relative_to(ROOT))
    assert found == []


def shell_lines(markdown: str) -> list[str]:
    """The lines of the shell blocks of a Markdown text, in order."""
    blocks = re.findall(r"^```(?:sh|bash|console|shell)\n(.*?)^```", markdown, flags=re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def readme_lines() -> list[str]:
    return shell_lines((ROOT / "README.md").read_text(encoding="utf-8"))


def test_the_readme_opens_with_the_two_commands_that_matter(readme_lines: list[str]) -> None:
    """The first makes an environment, installs and starts; the second installs the test extra and runs the tests."""
    start, test = readme_lines[:2]
    assert start.startswith("python3 -m venv ")
    assert start.endswith("/foltr-search")
    assert test.startswith("python3 -m venv ")
    assert test.endswith("-m pytest")


def test_ci_runs_the_readme_command_word_for_word(readme_lines: list[str]) -> None:
    """.ci/run calls the README's second command literally."""
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    command = re.search(r'^TESTS="(.*)"$', ci, flags=re.MULTILINE)
    assert command is not None
    assert command[1] == readme_lines[1]


def test_the_server_is_not_the_device() -> None:
    """Both console scripts of the distribution exist."""
    from app.cli import main as device
    from federation_server.cli import main as server

    assert callable(device)
    assert callable(server)
