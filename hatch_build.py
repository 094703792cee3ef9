"""Puts the commit that a package is made of into it, so that a study says it where no checkout is."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KEPT = Path("simulation") / "commit.txt"
"""in a package of the sources it is there already"""


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]
    """Used by hatchling for every package but those that point into the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        kept = Path(self.root) / KEPT
        found = commit(Path(self.root)) or (kept.read_text(encoding="ascii").strip() if kept.exists() else "")
        if version == "editable" or not found:
            return
        place = Path(self.directory) / "commit.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{found}\n", encoding="ascii")
        inside = "foltr-search" / KEPT if self.target_name == "wheel" else KEPT
        build_data["force_include"][str(place)] = inside.as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """What was written beside the package to go into it is taken away."""
        (Path(self.directory) / "commit.txt").unlink(missing_ok=True)


def commit(root: Path) -> str:
    """HEAD of the checkout at `root`; "" where there is none."""
    if not (root / ".git").exists():
        return ""
    done = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()
