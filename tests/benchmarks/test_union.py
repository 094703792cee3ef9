"""All collections on one disk: what counts as found, and what as a stranger."""

from __future__ import annotations

import pytest

from app.settings import Settings
from benchmarks.collections import Collection, Document
from benchmarks.union import judge, ours

BIRDS = Collection("birds", (Document("1", "Herons", "They wade."), Document("2", "Storks", "They clap.")),
                   {"q": "herons"}, {"q": {"1": 1}})  # fmt: skip
SHIPS = Collection("ships", (Document("1", "Herons", "A class of ships called herons: herons."),), {"q": "ships"},
                   {"q": {"1": 1}})  # fmt: skip


def test_documents_of_other_collections_are_strangers() -> None:
    """The same number elsewhere is another document; two of three found are strange, the relevant one is second."""
    found = ["ships/1", "birds/1", "ships/2"]
    value, strangers = judge(lambda text: found, BIRDS)
    assert (value, strangers) == (pytest.approx(1 / 1.5849625), pytest.approx(2 / 3))
    assert judge(lambda text: [], BIRDS) == (0.0, 0.0)


def test_the_program_finds_both_collections_in_one_index() -> None:
    """Alone each holds its own documents, together the query for one finds the other's too."""
    with ours([BIRDS], Settings()) as ranking:
        assert list(ranking("herons")) == ["birds/1"]
    with ours([BIRDS, SHIPS], Settings()) as ranking:
        assert sorted(ranking("herons")) == ["birds/1", "ships/1"]
