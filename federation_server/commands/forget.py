"""`foltr-server forget`: requests to be forgotten, and forgetting a member whose device is gone."""

from __future__ import annotations

import click

from federation_server.commands.installation import now, open_here, the_member, when


@click.command()
@click.argument("device", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(device: str | None, yes: bool) -> int:
    """List forget-me requests; with DEVICE (a unique beginning of a pseudonym) forget it, as if it had asked itself."""
    from federation_server import database, forgetting
    from federation_server.database import reading, writing
    from federation_server.history import requests
    from federation_server.rounds import policy_of

    installation = open_here()
    if device is None:
        with reading(installation.engine) as connection:
            found = requests(connection)
        for row in found:
            click.echo(
                f"{row['request'][:12]}  {when(row['asked'])}  {row['method']:12} {row['state']}  {row['erased']}"
            )
        return 0 if found else 1
    with reading(installation.engine) as connection:
        member = the_member(connection, device)
    if not yes:
        click.confirm(f"erase member {member} and its influence?", abort=True)
    with writing(installation.engine) as connection:
        receipt = forgetting.farewell(
            connection, installation.vault, policy_of(installation.settings), installation.settings.forgetting,
            member, forget=True, now=now(),
        )  # fmt: skip
    database.scrub(installation.engine)
    click.echo(f"{receipt.state} by {receipt.method}: {receipt.erased}")
    return 0
