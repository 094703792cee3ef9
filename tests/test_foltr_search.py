"""The wheel beside other projects: its packages meet nobody's of the same name. It is really built and unpacked."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HOSTILE = "raise SystemExit('this app is another project\\'s')\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with the wheel in it, as pip unpacks it."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", folder, ROOT],
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(site: Path, hostile: Path, code: str) -> str:
    """The output of Python with another `app` and `indexer` before the wheel's."""
    for name in ("app", "indexer"):
        (hostile / f"{name}.py").write_text(HOSTILE, encoding="ascii")
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False, cwd=hostile,
        env={**os.environ, "PYTHONPATH": f"{hostile}{os.pathsep}{site}", "HOME": str(hostile)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def called(function: str, *arguments: str) -> str:
    """What the installed script does."""
    return f"import sys, foltr_search; sys.argv = {['program', *arguments]!r}; sys.exit(foltr_search.{function}())"


def test_the_wheel_lays_nothing_over_other_projects(installed: Path) -> None:
    """Its names at the top carry the program's own."""
    names = {path.name.partition("-0.")[0] for path in installed.iterdir()}
    assert names == {"foltr-search", "foltr-search.pth", "foltr_search", "foltr_search.py"}


def test_the_wheel_knows_the_commit_it_was_made_of(installed: Path) -> None:
    """A study says it where no checkout is."""
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    assert (installed / "foltr-search" / "simulation" / "commit.txt").read_text() == head


def test_the_program_runs_beside_another_app(installed: Path, tmp_path: Path) -> None:
    """The device with its worker processes, the server and the laboratory load the packages of the wheel."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# The bittern\n", encoding="ascii")
    run(installed, tmp_path, called("search", "index", "-q", str(notes)))
    assert run(installed, tmp_path, called("search", "search", "bittern", "--format", "{name}")) == "a.md\n"
    assert "kharitonov-2019/table-3" in run(installed, tmp_path, called("search", "--simulate", "--list"))
    assert "Usage: foltr-server" in run(installed, tmp_path, called("server", "--help"))
    code = "import foltr_search, app, foltr, indexer; print(app.__file__, foltr.__file__, indexer.__file__)"
    assert run(installed, tmp_path, code).count(str(installed)) == 3


def test_the_core_is_found_by_its_name(installed: Path, tmp_path: Path) -> None:
    """The .pth file puts the packages after all else, for `import foltr` and for the workers of a cluster."""
    place = f"import site, sys; sys.path.remove({str(ROOT)!r}) if {str(ROOT)!r} in sys.path else None"
    code = f"{place}; site.addsitedir({str(installed)!r}); import foltr; print(foltr.__file__)"
    assert run(tmp_path, tmp_path, code).startswith(str(installed))
