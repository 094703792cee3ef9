"""`foltr-search privacy`: what leaves this device, and what that has cost."""

from __future__ import annotations

import click

from app.commands.command import Command, state_of_member

EXAMPLES = """
foltr-search privacy
foltr-search privacy --json | jq .sent
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/json-output.md).")
def command(as_json: bool) -> int:
    """Show exactly what leaves this device, and the privacy ledger.

    Without a group, nothing leaves it. The list comes from the definitions of the records that are sent.
    """
    import json
    import time

    from msgspec import to_builtins

    from app.federation import group_roster, ledger, membership
    from app.federation.consent import NOBODY, of_group
    from app.federation.overview import privacy
    from app.federation.terms import HEADERS, records

    with state_of_member() as (store, settings):
        member, spent = membership.load(store), ledger.entries(store)
        terms = membership.load_standing(store).agreed_terms if member is not None else None
        here = group_roster.company(group_roster.known(store, member.group_id), member) if member else NOBODY
    summary = privacy(spent, settings.federation, now=int(time.time()))
    told = of_group(terms, delta=settings.federation.delta, company=here)
    if as_json:
        sent = to_builtins(list(records()))
        entries = [{"group_id": e.group_id, "lineage": e.lineage, "round": e.round, "time": e.time} for e in spent]
        found = {"v": 1, "claims": told, "sent": sent, "headers": dict(HEADERS), "ledger": summary, "entries": entries}
        click.echo(json.dumps(found))
        return 0
    for line in told:
        click.echo(line)
    _print_records(in_group=member is not None)
    _print_ledger(spent_rounds=len(spent), summary=summary)
    return 0


def _print_records(*, in_group: bool) -> None:
    from app.federation.terms import HEADERS, records

    here = "\nThe records that this device sends to its group's server:"
    click.echo(here if in_group else "Nothing leaves this device.")
    if not in_group:
        click.echo("In a group (`foltr-search join`) these records would be sent to its server:")
    for sent in records():
        click.echo(f"\n{sent.name}: {sent.meaning}")
        for field in sent.fields:
            click.echo(f"  {field.name:14} {field.type:10} {field.meaning}".rstrip())
    click.echo("\nHeaders that sign each request:")
    for name, meaning in HEADERS.items():
        click.echo(f"  {name:16} {meaning}")


def _print_ledger(*, spent_rounds: int, summary: dict[str, object]) -> None:
    from app.commands.federation import spent_in_words

    click.echo("\nPrivacy ledger:")
    if not spent_rounds:
        click.echo("  nothing was ever sent")
        return
    click.echo(f"  {spent_in_words(summary)}")
    if summary["epsilon_zero_out"] is None:
        click.echo("  Nothing is guaranteed: a server could work out which results were opened.")
        return
    click.echo(
        "  This holds for all that this device sent in that time, taken together: against the servers themselves, in a "
        "sealed group also together with fewer members than can open a note."
    )
