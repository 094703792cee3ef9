"""Searches that stay open."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from app.paths import Paths
from app.resident import on_behalf
from app.resident.on_behalf import OpenSearches, search_for_command
from app.search.results import SearchRequest
from app.settings import SearchSettings, Settings


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "config", tmp_path / "data")


def test_one_is_kept_for_each_settings(paths: Paths) -> None:
    """Equal settings share a search, others get another; the least recently used are closed first, all at the end."""
    keeper = OpenSearches()
    settings = [Settings(search=SearchSettings(page_size=size)) for size in range(1, on_behalf.MAX_KEPT + 2)]
    searches = []
    for one in settings:
        searches.append(keeper.take(one, paths))
        keeper.give(searches[-1], one, paths)
    assert keeper.take(msgspec.structs.replace(settings[-1]), paths) is searches[-1]
    assert keeper.take(settings[0], paths) is not searches[0]
    assert searches[1].search(SearchRequest(text="heron")).hits == ()
    keeper.close()
    for gone in searches[:2]:
        with pytest.raises(Exception, match="closed"):
            gone.search(SearchRequest(text="heron"))


def test_files_that_were_made_anew_are_opened_anew(paths: Paths) -> None:
    """A state file that was moved away and made again is a new one."""
    keeper, settings = OpenSearches(), Settings()
    first = keeper.take(settings, paths)
    keeper.give(first, settings, paths)
    paths.state.rename(paths.data_dir / "away")
    second = keeper.take(settings, paths)
    assert second is not first
    assert second.store.path.exists()
    second.close()


def test_without_a_keeper_a_search_is_closed_after_its_command(paths: Paths) -> None:
    """It cannot be search_for_command again; one that failed never can."""
    with search_for_command(Settings(), paths) as search:
        assert search.search(SearchRequest(text="heron")).hits == ()
    with pytest.raises(Exception, match="closed"):
        search.search(SearchRequest(text="heron"))


def test_searches_are_kept_within_the_block_alone(paths: Paths) -> None:
    """A process that has ended to answer others keeps none: neither the former ones nor those to come."""
    for _ in range(2):
        with on_behalf.keep_searches():
            with search_for_command(Settings(), paths) as search:
                pass
            assert search.search(SearchRequest(text="heron")).hits == ()
        with pytest.raises(Exception, match="closed"):
            search.search(SearchRequest(text="heron"))
    test_without_a_keeper_a_search_is_closed_after_its_command(paths)
