"""What a shell is offered of this device: folders that are indexed, days, words of a query, saved searches.

Each is asked at a press of Tab: it reads one small file or table, and what cannot be read offers nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def remembered_folders(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The folders that `index FOLDER` remembered, for `--forget`."""
    from pathlib import Path

    from app.settings import Paths, SettingsError, remembered_roots

    try:
        roots = remembered_roots(Paths.from_environment())
    except SettingsError:
        return []
    if incomplete.startswith("~"):
        home = str(Path.home())
        roots = tuple("~" + root.removeprefix(home) for root in roots if root.startswith(home))
    return _items(root for root in roots if root.startswith(incomplete))


def kept_days(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The days of which a version of the model is kept, newest first, for `model reset --to`."""
    from app.learning.models import days
    from app.settings import Paths, Settings
    from app.store import Store
    from foltr.errors import FoltrError

    paths = Paths.from_environment()
    found: list[str] = []
    try:
        if paths.state.exists():
            ranker = Settings.load(paths).learning.ranker
            with Store(paths.state, writable=False) as store:
                found = [str(day) for day in reversed(days(store, ranker, today=date.today()))]
    except (FoltrError, sqlite3.Error, OSError):
        found = []
    return _items(day for day in ("yesterday", *found) if day.startswith(incomplete))


def saved_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of saved searches, with or without their @ as they are typed."""
    from app.search.saved import SavedError, SavedSearches
    from app.settings import Paths

    sign = "@" if incomplete.startswith("@") else ""
    try:
        names = list(SavedSearches(Paths.from_environment().saved).all())
    except SavedError:
        return []
    return _items(sign + name for name in names if name.startswith(incomplete.removeprefix("@")))


def query_words(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The fields of a query, behind `type:` the types, behind @ the saved searches."""
    if incomplete.startswith("@"):
        return saved_names(ctx, parameter, incomplete)
    from indexer.documents import TYPES
    from indexer.query.parse import FILTER_NAMES, TEXT_NAMES

    field, colon, value = incomplete.partition(":")
    if colon:
        known = TYPES if field in ("type", "kind") else ()
        return _items(f"{field}:{name}" for name in known if name.startswith(value))
    names = dict.fromkeys((*TEXT_NAMES.values(), *FILTER_NAMES))
    return _items(f"{name}:" for name in names if name.startswith(incomplete)) if incomplete else []


def _items(values: Iterable[str]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(value) for value in values]
