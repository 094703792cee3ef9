"""`foltr-search privacy`: what leaves this device, and what that has cost."""

from __future__ import annotations

import click

from app.commands.command import Command, print_json, state_of_member

EXAMPLES = """
foltr-search privacy
foltr-search privacy --records                each record that is sent, field by field
foltr-search privacy --json | jq .sent
"""
GUARANTEED = (
    "This holds for all that this device sent in that time, taken together: against the servers themselves, in a "
    "sealed group also together with as many members as `foltr-search join` says may help them."
)
NOT_GUARANTEED = "Nothing is guaranteed: a server could work out which results were opened."


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--records", "in_full", is_flag=True, help="Also list every field of every record that is sent.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/json-output.md).")
def command(in_full: bool, as_json: bool) -> int:
    """Show what this device sends to its group, how well it is protected, and the privacy ledger.

    Without a group, nothing is sent to one. `devices` and `search --on` are not part of this (docs/privacy.md).
    """
    import time

    from msgspec import to_builtins

    from app.federation import group_roster, ledger, membership
    from app.federation.consent import NOBODY, of_group
    from app.federation.group_status import privacy, spent_in_words
    from app.federation.terms import HEADERS, records

    with state_of_member(is_read=True) as (store, settings):
        member, spent = membership.load(store), ledger.entries(store)
        terms = membership.load_standing(store).agreed_terms if member is not None else None
        here = group_roster.company(store, member) if member else NOBODY
    summary = privacy(spent, settings.federation, now=int(time.time()))
    told = of_group(terms, delta=settings.federation.delta, company=here)
    if as_json:
        sent = to_builtins(list(records()))
        entries = [{"group_id": e.group_id, "lineage": e.lineage, "round": e.round, "time": e.time} for e in spent]
        found = {"v": 1, "claims": told, "sent": sent, "headers": dict(HEADERS), "ledger": summary, "entries": entries}
        print_json(found)
        return 0
    for line in told or ["This device belongs to no group, so it sends nothing to one."] * (member is None):
        click.echo(line)
    click.echo(f"Privacy ledger: {spent_in_words(summary) if spent else 'nothing was ever sent.'}")
    if spent:
        click.echo(GUARANTEED if summary["epsilon_zero_out"] is not None else NOT_GUARANTEED)
    gets = "What its group's server gets" if member is not None else "What a group's server would get"
    click.echo(f"{gets}, field by field:" + (" `foltr-search privacy --records`" * (not in_full)))
    if in_full:
        for record in records():
            click.echo(f"\n{record.name}: {record.meaning}")
            for field in record.fields:
                click.echo(f"  {field.name:14} {field.type:10} {field.meaning}".rstrip())
        click.echo("\nHeaders that sign each request:")
        for name, meaning in HEADERS.items():
            click.echo(f"  {name:16} {meaning}")
    return 0
