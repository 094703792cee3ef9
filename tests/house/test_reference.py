"""The documentation that the program itself knows is what the program says."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
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
    """docs/man/foltr-search.1 is what `foltr-search man` prints."""
    assert (DOCS / "man" / "foltr-search.1").read_text(encoding="utf-8") == make_reference.manual_page(), STALE


def test_the_settings_page_holds_the_default_file(make_reference: ModuleType) -> None:
    """docs/configuration.md holds what `foltr-search config default` prints."""
    text = (DOCS / "configuration.md").read_text(encoding="utf-8")
    assert text == make_reference.configuration(text), STALE


def test_the_page_of_keys_holds_the_table_of_actions(make_reference: ModuleType) -> None:
    """docs/keys.md names every action with its keys."""
    text = (DOCS / "keys.md").read_text(encoding="utf-8")
    assert text == make_reference.keys(text), STALE


def test_the_manual_page_is_well_formed() -> None:
    """A roff checker, where there is one, finds nothing; every request is one of the man macros."""
    file = DOCS / "man" / "foltr-search.1"
    used = set(re.findall(r"^\.([A-Za-z]+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert used <= {"TH", "SH", "SS", "PP", "TP", "B", "I", "RS", "RE", "br", "nf", "fi"}
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-z", str(file)], capture_output=True, text=True, check=False)
        assert done.stderr == ""


def test_the_service_unit_gives_way_to_everything_else() -> None:
    """The unit runs `watch` in the idle I/O class with a low CPU weight, on mains power only, without a network."""
    unit = (ROOT / "contrib" / "systemd" / "foltr-search-watch.service").read_text(encoding="utf-8")
    for line in (
        "ExecStart=%h/.local/bin/foltr-search watch --pause-on-battery",
        "IOSchedulingClass=idle",
        "CPUWeight=10",
        "RestrictAddressFamilies=AF_UNIX",
        "UMask=0077",
    ):
        assert line in unit.splitlines()
