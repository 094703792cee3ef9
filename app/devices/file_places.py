"""Where a file lies, said so that it is the same on each of a person's computers: below the home, or below its root."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

HOME = "~"


class Places:
    """Names files below the home of this user, or below the indexed root that they lie in."""

    def __init__(self, roots: Sequence[str], home: str | None = None) -> None:
        homes = dict.fromkeys([home or str(Path.home()), os.path.realpath(home or Path.home())])
        outer = sorted(roots, key=len, reverse=True)
        named = [*((one, HOME) for one in homes), *((root, os.path.basename(root)) for root in outer)]
        self._above = [(folder.rstrip(os.sep), name) for folder, name in named if name]

    def of(self, path: str) -> str:
        """ "~/tax/2024.pdf" or "notes/2024.pdf"; what is nowhere of these stays as it is."""
        plain = os.path.normpath(path)
        for folder, name in self._above:
            if plain == folder or plain.startswith(folder + os.sep):
                return name + plain[len(folder) :]
        return plain
