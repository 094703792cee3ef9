"""`foltr-server rounds`: what happened, newest first."""

from __future__ import annotations

import json

import click

from federation_server.commands.installation import now, open_here, when


@click.command()
@click.option("--last", type=click.IntRange(min=1), default=20, show_default=True, help="How many rounds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def command(last: int, as_json: bool) -> int:
    """List rounds: how many updates, which rule joined them, how far the ranker moved, and the guard's sentence."""
    from federation_server.database import reading
    from federation_server.history import latest_rounds

    with reading(open_here().engine) as connection:
        found = latest_rounds(connection, last)
    for row in found:
        if as_json:
            click.echo(json.dumps(row))
        else:
            click.echo(_line(row))
    return 0 if found else 1


def _agreement(row: dict[str, object]) -> str:
    by_chance = 1 / max(int(str(row["n_updates"])), 1) ** 0.5
    return f"agreement {row['agreement']:.2f} (by chance {by_chance:.2f})"


def _line(row: dict[str, object]) -> str:
    name = f"{row['lineage']}.{row['round']:<5} {row['purpose']:6} {row['state']:9}"
    if row["state"] == "open":
        deadline = int(str(row["deadline"]))
        return f"{name} {row['n_updates']:>4} updates, until {when(deadline)}{' (over)' if deadline <= now() else ''}"
    if row["state"] == "abandoned":
        return f"{name} given up: the ranker was rolled back, or somebody forgotten"
    moved = f"moved {row['update_norm']:.4f}, {_agreement(row)}" if row["update_norm"] is not None else ""
    return f"{name} {row['n_updates']:>4} updates by {row['rule'] or '-'}, {moved}; {row['guard'] or '-'}"
