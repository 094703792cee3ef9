from __future__ import annotations

from app.settings import HistorySettings
from app.store import SearchHistory, Store


def test_the_newest_comes_first_and_once(store: Store) -> None:
    """Repeating a query moves it to the front; blanks around it and empty queries do not count."""
    history = SearchHistory(store, HistorySettings(enabled=True))
    for time, query in enumerate(["one", "two", " one ", "  "]):
        history.add(query, now=float(time))
    assert history.list() == ((2.0, "one"), (1.0, "two"))


def test_the_list_is_capped_and_can_be_cleared(store: Store) -> None:
    """Beyond max_entries the oldest are deleted; clearing leaves no trace in the file."""
    history = SearchHistory(store, HistorySettings(enabled=True, max_entries=2))
    for i in range(5):
        history.add(f"needle {i}", now=float(i))
    assert [past.query for past in history.list()] == ["needle 4", "needle 3"]
    assert [past.query for past in history.list(limit=1)] == ["needle 4"]
    history.clear()
    assert history.list() == ()
    assert b"needle" not in b"".join(f.read_bytes() for f in store.path.parent.glob("state.sqlite*"))


def test_undecodable_input_is_kept_readable(store: Store) -> None:
    """A lone surrogate from the terminal does not break the list."""
    history = SearchHistory(store, HistorySettings(enabled=True))
    history.add("caf\udce9", now=0.0)
    assert history.list()[0].query == "caf?"
