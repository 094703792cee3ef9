from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from app.search import shown_page
from app.search.shown_page import ShownPage
from app.store import Store
from foltr.errors import ShapeError


def page() -> ShownPage:
    return ShownPage(
        doc_ids=(7, 3, 2**40),
        features=np.array([[0.0, 1.0], [0.5, 0.25], [1.0, 0.0]]),
        scores=np.array([3.0, 2.0, 0.1]),
        n_shown=2,
        learned_ranks=(1, 2, 3),
        bm25_ranks=(2, 1, 3),
        query=frozenset([b"12345678", b"abcdefgh"]),
        manifest_hash="m",
        time=5.5,
        opened=(1,),
        owners=(0, 1, 0),
        marks=(("pdf", "folder 3f"), ("html",), ("pdf",)),
    )


def test_the_last_page_comes_back(store: Store) -> None:
    """All parts of the page are read as they were saved, in another process too."""
    shown_page.save_shown(store, page())
    with Store(store.path) as other:
        read = shown_page.load_shown(other)
    assert read is not None
    assert read.features.tolist() == page().features.tolist()
    assert read.scores.tolist() == page().scores.tolist()
    blank = np.zeros(3)
    same = replace(read, features=blank, scores=blank), replace(page(), features=blank, scores=blank)
    assert repr(same[0]) == repr(same[1])


def test_there_is_one_last_page(store: Store) -> None:
    """A new page takes the place of the old; forgetting leaves none."""
    assert shown_page.load_shown(store) is None
    shown_page.save_shown(store, page())
    shown_page.save_shown(store, replace(page(), doc_ids=(1, 2, 3)))
    read = shown_page.load_shown(store)
    assert read is not None
    assert read.doc_ids == (1, 2, 3)
    shown_page.forget_shown(store)
    assert shown_page.load_shown(store) is None


@pytest.mark.parametrize("stored", [b"", b"rubbish", b"\x80"])
def test_an_unreadable_page_is_no_page(store: Store, stored: bytes) -> None:
    """What another version wrote is as good as nothing: the user searches again."""
    store.set_value("last page", stored)
    assert shown_page.load_shown(store) is None


def test_a_page_whose_parts_do_not_fit_is_refused() -> None:
    """Every list needs one entry per document."""
    with pytest.raises(ShapeError, match="bm25_ranks of a page of 3"):
        replace(page(), bm25_ranks=(1,))
