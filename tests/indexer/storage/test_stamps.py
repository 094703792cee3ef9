"""Stamps: one pass over the catalogue answers for every path, in any order, and knows what was not asked for."""

from __future__ import annotations

import os
import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.documents import FileEntry
from indexer.storage.catalogue import Batch, Catalogue, CatalogueWriter, StoredFile
from indexer.storage.stamps import Stamps

NAMES = st.lists(st.text("ab/.\udcff", min_size=1, max_size=4), max_size=30, unique=True)


def filled(path: Path, names: list[str]) -> Catalogue:
    catalogue = Catalogue.open(path)
    files = [StoredFile(i + 1, FileEntry(name, i, 0, 0, 0), "indexed", "", "", "1") for i, name in enumerate(names)]
    CatalogueWriter(catalogue).commit(Batch(files=files), generation=1)
    return catalogue


@settings(max_examples=40, deadline=None)
@given(known=NAMES, asked=NAMES)
def test_any_path_in_any_order(tmp_path_factory: object, known: list[str], asked: list[str]) -> None:
    """Each path that is known is found with its size, others are not, and what was not asked for is left."""
    folder = Path(str(tmp_path_factory.mktemp("stamps")))  # type: ignore[attr-defined]
    catalogue = filled(folder / "c.sqlite", known)
    stamps = Stamps(catalogue, "1")
    for name in asked:
        found = stamps.find(name)
        assert (found is not None) == (name in known)
        assert found is None or (found[0], found[2]) == (os.fsencode(name), known.index(name))
    assert set(stamps.others()) == set(known) - set(asked)
    catalogue.close()


def test_a_far_jump_is_looked_up(tmp_path: Path) -> None:
    """Between the first and the last of 5,000 files, and back."""
    names = [f"/{i:05d}" for i in range(5_000)]
    catalogue = filled(tmp_path / "c.sqlite", names)
    stamps = Stamps(catalogue, "1")
    wanted = random.Random(1).sample(names, 50)
    assert [(found := stamps.find(name)) and found[2] for name in wanted] == [int(name[1:]) for name in wanted]
    assert set(stamps.others()) == set(names) - set(wanted)
    catalogue.close()
