"""Whether a checkout is one that may be released as a version: committed, and of one mind about what it is called."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

from release import run


def refuse_untidy(checkout: Path, version: str) -> None:
    """ClickException that names everything in the way."""
    if wrong := list(untidy(checkout, version)):
        raise click.ClickException(f"{version} cannot be released from {checkout}:\n  " + "\n  ".join(wrong))


def untidy(checkout: Path, version: str) -> Iterator[str]:
    """One line for each thing that is in the way."""
    changed = run("git", "status", "--porcelain", cwd=checkout).splitlines()
    if changed:
        yield f"not committed: {', '.join(line[3:] for line in changed[:5])}{' ...' if len(changed) > 5 else ''}"
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if project["version"] != version:
        yield f"pyproject.toml: wanted version {version}, got {project['version']}"
    heading = rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, (checkout / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE):
        yield f"CHANGELOG.md: wanted the heading `## {version} - YEAR-MONTH-DAY`"
    if f"\nversion: {version}\n" not in (checkout / "CITATION.cff").read_text(encoding="utf-8"):
        yield f"CITATION.cff: wanted `version: {version}`"


def address(checkout: Path) -> str:
    """Where the project lives, as pyproject.toml says; "" as long as it lives nowhere."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project.get("urls", {}).get("Source", ""))
