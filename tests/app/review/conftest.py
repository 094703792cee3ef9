"""Reviews over a few real files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from app.review.review import Review
from app.search.search import Search
from app.settings import Paths, Settings
from tests.app.conftest import Device

Open = Callable[..., Review]


@pytest.fixture
def opened(device: Device) -> Iterator[Open]:
    """Opens the review of a query anew each time, as another process would."""
    searches = []

    def open_review(query: str = "fish", settings: Settings | None = None) -> Review:
        searches.append(Search(settings or Settings(), Paths(device.home / "config", device.data_dir)))
        return Review.of_query(searches[-1], query)

    device.index()
    yield open_review
    for search in searches:
        search.close()
