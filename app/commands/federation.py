"""`foltr-search federation`: how this device stands with its group."""

from __future__ import annotations

import click

from app.commands.command import NOTHING_FOUND, Group, load, print_json, say, state_of_member

EXAMPLES = """
foltr-search federation                       group, round, privacy spent, adopted ranker
foltr-search federation status --json | jq .privacy
foltr-search federation background on         let the screen sync by itself
foltr-search federation move LINK             the group's server has another address
"""


@click.group(cls=Group, examples=EXAMPLES, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> int:
    """Show this device's group, round and privacy budget."""
    return 0 if ctx.invoked_subcommand else ctx.invoke(status)


@command.command("status", examples="foltr-search federation status --json | jq .privacy")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/json-output.md).")
def status(as_json: bool) -> int:
    """Show group, round, what was sent, epsilon spent and left, the adopted ranker and the last error.

    Does not contact the server. Exit code 1 if this device has no group.
    """
    import time

    from app.devices.own_devices import who_answers
    from app.federation.group_status import overview, rows_in_words

    with state_of_member(is_read=True) as (store, settings):
        found = overview(store, settings.federation, now=int(time.time()))
        elsewhere = who_answers(load().paths, settings)
    if as_json:
        print_json(found)
    elif found["group"] is None:
        say("this device belongs to no group; join one with `foltr-search join LINK`")
    else:
        for name, value in rows_in_words(found):
            click.echo(f"{name + ':':13}{value}")
        if elsewhere:
            click.echo(f"{'answered by:':13}{elsewhere}")
    return NOTHING_FOUND if found["group"] is None else 0


@command.command("background", examples="foltr-search federation background on")
@click.argument("wanted", type=click.Choice(["on", "off"]))
def background(wanted: str) -> int:
    """Allow the screen to sync by itself (or not), as often as federation.sync says."""
    from app.federation import consent, membership

    with state_of_member() as (store, settings):
        consent.allow_background(store, membership.member(store), allowed=wanted == "on")
    if wanted == "on" and settings.federation.sync == "off":
        say("allowed; set federation.sync to daily or hourly to start it")
    return 0


@command.command("move", examples="foltr-search federation move foltr://move/eyJh...")
@click.argument("link")
def move(link: str) -> int:
    """Follow the group's server to the address in LINK, which its operator gave you.

    The link must be signed by the group's server, and the server must answer there. Receipts of it move along.
    """
    from app.devices.own_devices import who_answers
    from app.federation import server_move
    from app.federation.server import Reach
    from foltr.federated.links import read_move

    signed = read_move(link)
    with state_of_member() as (store, settings):
        elsewhere = who_answers(load().paths, settings)
        for sentence in server_move.by_link(store, signed, Reach(settings.federation), elsewhere):
            say(sentence)
    return 0
