"""From what version 0.1 left behind to this version: the index is made anew, what was learned stays."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.conftest import Device

FIXTURE = Path(__file__).resolve().parents[1] / "data" / "upgrade" / "foltr-search-0.1.tar.gz"
PLACE = Path("/tmp/foltr-search-0.1")
"""where the notes lay: index and picks name files by their path"""


@pytest.fixture
def before() -> Iterator[Device]:
    """The folders as version 0.1 left them."""
    try:
        PLACE.mkdir()
    except OSError as error:
        pytest.skip(f"{PLACE} cannot be made: {error.strerror}")
    try:
        with tarfile.open(FIXTURE) as archive:
            archive.extractall(PLACE, filter="data")
        yield Device(PLACE)
    finally:
        shutil.rmtree(PLACE)


def test_an_index_of_before_is_made_anew_and_what_was_learned_is_kept(before: Device) -> None:
    """A search says in one line what to do; `index` does it; pages, picks and versions of the model are there after."""
    refused = before.run("search", "fish")
    assert refused.returncode == 2
    assert "`foltr-search index` makes it anew, and what was learned stays" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    done = before.run("index")
    assert done.returncode == 0, done.stderr
    assert "files: 4 new" in done.stderr
    found = [json.loads(line) for line in before.run("search", "fish banks", "--json", "--explain").stdout.splitlines()]
    same_query = {
        one["name"]: part["value"]
        for one in found
        for part in one["explanation"]["contributions"]
        if part["feature"] == "same_query"
    }
    assert same_query["list.txt"] > 0
    assert "kingfisher.md" not in same_query  # parts that are nothing are not told
    model = json.loads(before.run("model", "show", "--json").stdout)
    assert (model["n_pages"], model["n_picks"], model["n_documents_remembered"], model["n_params"]) == (4, 4, 1, 57)
    assert before.run("doctor").returncode == 0
    assert before.run("config", "check").returncode == 0
    # What its picks say stays; habits begin anew, for nobody had noted which query spoke for which folder and type.
    assert model["learned"] == {}
    assert "habits yet: none" in before.run("model").stdout
    exported = PLACE / "model.json"
    assert before.run("model", "export", str(exported)).returncode == 0
    assert before.run("model", "import", str(exported)).returncode == 0
