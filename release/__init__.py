"""A release from a tidy checkout: what is built, signed and tried, without being uploaded (docs/releasing.md)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click

CHECKOUT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path = CHECKOUT) -> str:
    """Run a program and give what it printed; ClickException with its last lines where it fails."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).splitlines()[-15:])
        raise click.ClickException(f"`{' '.join(map(str, command[:6]))}` gave {done.returncode}: {last}")
    return done.stdout
