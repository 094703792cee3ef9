"""The walls of the house: what a light command never loads. (What may import what, lint-imports says.)"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

WITHOUT_EXTRAS = """
import importlib, importlib.metadata as metadata, pkgutil, re, sys, tomllib

def plain(name):
    return re.sub("[-_.]+", "-", re.match("[A-Za-z0-9_.-]+", name)[0]).lower()

with open("pyproject.toml", "rb") as file:
    waiting = [plain(one) for one in tomllib.load(file)["project"]["dependencies"]]
brought = set()
while waiting:
    if (name := waiting.pop()) not in brought:
        brought.add(name)
        try:
            waiting += [plain(one) for one in metadata.requires(name) or () if "extra ==" not in one]
        except metadata.PackageNotFoundError:
            pass  # of another system or Python
ours = ("console", "foltr", "indexer", "app")
for name, packages in metadata.packages_distributions().items():
    if name not in ours and not brought & {plain(one) for one in packages}:
        sys.modules[name] = None
for package in ours:
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if not module.name.endswith(("__main__", "assistants.mcp_stdio")):
            importlib.import_module(module.name)
"""

HEAVY = ("numpy", "textual", "rich", "whoosh", "watchfiles", "pypdfium2", "openpyxl", "selectolax")


def loaded_after(code: str, *, exit_code: int = 0) -> set[str]:
    """The modules that a fresh interpreter has loaded after running `code`."""
    report = "import sys; print(*sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == exit_code, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def test_the_device_needs_no_extra() -> None:
    """With what `pip install .` brings and nothing else every module of the device can be imported.

    But for the one that adds to a class of the extra `mcp`, which the command of that name asks for first.
    """
    loaded_after(WITHOUT_EXTRAS)


def test_the_learning_core_and_the_server_load_neither_screen_nor_index() -> None:
    """Importing the learning core or the server never loads textual, whoosh or an extractor."""
    loaded = loaded_after("import foltr, foltr.online.pdgd, federation_server.cli")
    assert not loaded & {"textual", "rich", "whoosh", "pypdfium2", "indexer", "app"}


def test_light_commands_load_nothing_heavy() -> None:
    """Help, version, completion and settings answer without numpy, the index or the screen."""
    lines = ("--help", "search --help", "completion bash", "man", "config path", "config default")
    loaded = loaded_after(f"from app.cli import main\nfor line in {lines}:\n    assert main(line.split()) == 0, line")
    assert not loaded & {*HEAVY, "importlib.metadata", "tomllib"}
    assert not loaded_after("from app.cli import main\nassert main(['--version']) == 0") & set(HEAVY)


def test_what_every_answer_loads_is_next_to_nothing(tmp_path: Path) -> None:
    """Asking the resident process loads no click, no msgspec, no json, no typing."""
    before = loaded_after("pass")
    after = loaded_after(
        f"import os; os.environ['FOLTR_DATA_DIR'] = {str(tmp_path)!r}\n"
        "import app.__main__; from app.resident.resident_client import answered\n"
        "assert answered(['search', 'heron']) is None"
    )
    assert {name.partition(".")[0] for name in after - before} <= {"app", "_socket", "__future__"}


def test_commands_without_the_screen_never_load_textual(tmp_path: Path) -> None:
    """A search, its index and its status do without the screen's library."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("heron", encoding="ascii")
    code = f"""
import os
os.environ["FOLTR_CONFIG_DIR"] = os.environ["FOLTR_DATA_DIR"] = {str(tmp_path / "device")!r}
from app.cli import main
if __name__ == "__main__":
    assert main(["index", "--quiet", {str(tmp_path / "notes")!r}]) == 0
    assert main(["search", "heron"]) == 0
    assert main(["status"]) == 0
"""
    assert not loaded_after(code) & {"textual", "rich"}


def test_the_screen_is_drawn_before_the_ranker_is_loaded() -> None:
    """The first frame needs neither numpy nor the index; both come while it is shown."""
    loaded = loaded_after("import app.tui.search_app, app.tui.search_app")
    assert "textual" in loaded
    assert not loaded & (set(HEAVY) - {"textual", "rich"})


def test_a_search_loads_nothing_that_it_does_not_ask(tmp_path: Path) -> None:
    """Whoosh, extractors, worker processes and the network stay out: each takes as long to load as many queries."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("heron", encoding="ascii")
    device = (
        f"import os; os.environ['FOLTR_CONFIG_DIR'] = os.environ['FOLTR_DATA_DIR'] = {str(tmp_path / 'device')!r}\n"
        "os.environ['FOLTR_MEANING__ENABLED'] = 'false'\n"  # where meaning is asked, the encoder is loaded
    )
    indexing = f"{device}from app.cli import main\nif __name__ == '__main__':\n"
    loaded_after(f"{indexing}    assert main(['index', '-q', {str(tmp_path / 'notes')!r}]) == 0")
    commands = ("search heron", "status", "search nothing --json")
    asking = f"from app.cli import main\nfor line in {commands}:\n    assert main(line.split()) in (0, 1), line"
    loaded = loaded_after(device + asking)
    assert "numpy" in loaded
    unasked = {
        "difflib", "multiprocessing", "platformdirs", "requests", "nacl", "numpy.ma", "socket", "ssl", "statistics",
        "zipfile",
    }  # fmt: skip
    assert not loaded & ((set(HEAVY) - {"numpy"}) | unasked)
