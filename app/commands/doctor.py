"""`foltr-search doctor`: one line for each thing that has to be right, for oneself and for a bug report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.commands.command import FAILED, Command, flags

if TYPE_CHECKING:
    from app.checkup import Finding

EXAMPLES = """
foltr-search doctor
foltr-search doctor > report.txt       lists folders and versions, no document or query
"""

_COLOURS = {"ok": "green", "note": "yellow", "broken": "red"}


@click.command(cls=Command, examples=EXAMPLES)
@click.pass_context
def command(ctx: click.Context) -> int:
    """Check the installation, the folders and the index; exit code 2 if something is broken."""
    from app.checkup import examine_device

    findings: list[Finding] = []
    for finding in examine_device(flags(ctx)):
        findings.append(finding)
        mark = click.style(f"{finding.level:7}", fg=_COLOURS[finding.level])
        click.echo(f"{mark} {finding.subject + ':':14} {finding.message}")
    n_broken = sum(finding.level == "broken" for finding in findings)
    if n_broken:
        click.echo(f"foltr-search: {n_broken} of {len(findings)} checks found something broken", err=True)
    return FAILED if n_broken else 0
