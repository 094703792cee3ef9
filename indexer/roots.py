"""The folders that are indexed, and which of them a path lies in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path


def normal_roots(roots: Iterable[str]) -> tuple[str, ...]:
    """`roots` as absolute paths without `..`, each once, in the given order; symbolic links stay as they are."""
    return tuple(dict.fromkeys(os.path.abspath(Path(root).expanduser()) for root in roots))


def is_below(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it."""
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def root_of(path: str, roots: Sequence[str]) -> str | None:
    """The innermost root that holds `path`; None outside all of them."""
    return max((root for root in roots if is_below(path, root)), key=len, default=None)
