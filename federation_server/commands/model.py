"""`foltr-server model`: the published rankers, and going back to one of them."""

from __future__ import annotations

import click

from console.wording import lineage_label, round_label
from federation_server.commands.installation import now, open_here, round_name, when
from federation_server.database import reading, writing
from federation_server.forgetting.forgetting import roll_back
from federation_server.rounds.history import latest_models
from federation_server.rounds.rounds import policy_of


@click.group(invoke_without_command=True)
@click.option("--last", type=click.IntRange(min=1), default=20, show_default=True, help="How many models.")
@click.pass_context
def command(ctx: click.Context, last: int) -> int:
    """List published rankers, newest first: LINEAGE.ROUND, length, distance from the lineage's first."""
    if ctx.invoked_subcommand:
        return 0
    with reading(open_here().engine) as connection:
        found = latest_models(connection, last)
    for model in found:
        name = round_label(model.lineage, model.round)
        click.echo(
            f"{name:10} {when(model.created)}  norm {model.norm:.4f}  drift {model.drift:.4f}  {model.hash[:16]}"
        )
    return 0 if found else 1


@command.command()
@click.argument("version")
def rollback(version: str) -> int:
    """Go back to the model VERSION (LINEAGE.ROUND) in a new lineage; devices follow at their next sync."""
    lineage, number = round_name(version)
    installation = open_here()
    with writing(installation.engine) as connection:
        begun = roll_back(connection, installation.vault, policy_of(installation.settings), lineage, number, now=now())
    click.echo(f"lineage {lineage_label(begun)} begins from {version}")
    return 0
