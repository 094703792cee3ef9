"""`foltr-search federation`: how this device stands with its group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from app.commands.command import NOTHING_FOUND, Group, load, print_json, say, state_of_member
from console.wording import count, iso_minute, lineage_label, round_label

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
    from app.federation.group_status import overview

    with state_of_member() as (store, settings):
        found = overview(store, settings.federation, now=int(time.time()))
        elsewhere = who_answers(load().paths, settings)
    if as_json:
        print_json(found)
    elif found["group"] is None:
        say("this device belongs to no group; join one with `foltr-search join LINK`")
    else:
        for name, value in rows_of_status(found):
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
        say("agreed; it starts once federation.sync is daily or hourly")
    return 0


@command.command("move", examples="foltr-search federation move foltr://move/eyJh...")
@click.argument("link")
def move(link: str) -> int:
    """Follow the group's server to the address in LINK, which you got from its operator.

    The link must be signed by the group's server, and the server must answer there. Receipts follow, too.
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


def rows_of_status(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    group, privacy = found["group"], found["privacy"]
    yield "group", f"{group['name']} at {group['address']}"
    yield "member", f"{group['member']}, since {_moment(group['joined'])}"
    yield "round", _round(found)
    if found["sealed"] is not None:
        yield from _sealed(found["sealed"])
    if found["lost"]:
        yield "lost", found["lost"]
    sent = [update for update in found["updates"] if update["state"] == "sent"]
    waiting = len([update for update in found["updates"] if update["state"] in ("drafted", "waiting")])
    yield "sent", count(len(sent), "update") + (f", {waiting} waiting to be sent again" if waiting else "")
    yield "privacy", spent_in_words(privacy)
    if privacy["rounds_left"] is not None:
        yield "left", _left(privacy)
    yield "ranker", _ranker(found["ranker"])
    if found["verdict"]:
        yield "tested", found["verdict"]
    yield "synced", f"{_moment(found['last_sync'])}; in the background: {found['background']}"
    if found["last_error"]:
        yield "last error", found["last_error"]


def spent_in_words(privacy: dict[str, Any]) -> str:
    """ "epsilon 1.70 of 10 spent in 3 rounds within 365 days (3.71 against replacement, delta 1e-05)" """
    period = privacy["period"]
    rounds, days = count(period["rounds"], "round"), count(period["days"], "day")
    if period["epsilon_zero_out"] is None:
        return f"epsilon is infinite after {rounds} within {days}: some left without protection"
    recent = (
        f"epsilon {period['epsilon_zero_out']:.2f} of {privacy['budget']:g} spent in {rounds} within {days} "
        f"({period['epsilon_replace']:.2f} against replacement, delta {privacy['delta']:g})"
    )
    if privacy["rounds"] == period["rounds"]:
        return recent
    ever = "infinite" if privacy["epsilon_zero_out"] is None else f"{privacy['epsilon_zero_out']:.2f}"
    return f"{recent}; {ever} in all {count(privacy['rounds'], 'round')} ever"


def _round(found: dict[str, Any]) -> str:
    where = f"{found['round']} of lineage {lineage_label(found['lineage'])}"
    if found["phase"] == "rest":
        return f"none: the group rests until {_moment(found['opens'])}; its ranker stays, and nothing is sent"
    return f"{where}, until {_moment(found['deadline'])}"


def _sealed(sealed: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Who adds up what nobody opens."""
    from app.federation import group_roster

    brought = f"; one has brought in {sealed['brought_by_one']:,}" if sealed["brought_by_one"] > 1 else ""
    yield "members", f"{sealed['members']:,}{brought}"
    if sealed["waiting"]:
        yield "asks you", group_roster.asks(sealed["waiting"])
    if sealed["growth"]:
        yield "asks you", f"{sealed['growth']} Nothing is sent until you agree: `foltr-search sync`"
    if not sealed["vouched"]:
        yield "waiting", "no member has vouched for this device: one runs `foltr-search vouch`, and compares"
    yield "fingerprint", sealed["fingerprint"]
    roster, seen, differs = sealed["roster"], sealed["history"], "and differs, the server lies to one of you"
    has = f"{roster['hash'][:16]} after {count(roster['entries'], 'change')} of who is a member"
    yield "roster", f"{has}; where another member's has as many {differs}"
    if seen["hash"]:
        after = round_label(seen["lineage"], seen["rounds"])
        yield "history", f"{seen['hash'][:16]} after round {after}; where another member's names this round {differs}"
    yield "sums", sums_in_words(sealed)


def sums_in_words(sealed: dict[str, Any]) -> str:
    """Who must be honest, and who could read what."""
    from app.federation.consent import at_most

    if sealed["committee"] is None:
        return f"{sealed['mode']}: too few people are vouched for yet, and nothing is sent"
    epsilon = "" if (seen := sealed["epsilon_opened"]) is None else f", which reveal epsilon {at_most(seen)}"
    return (
        f"{sealed['mode']}: nobody opens a note, and the ledger holds with up to {sealed['spared']:,} of "
        f"{sealed['members']:,} members on the server's side; {sealed['readers']:,} could read single notes{epsilon}"
    )


def _left(privacy: dict[str, Any]) -> str:
    left = f"{count(privacy['rounds_left'], 'round')} under the present terms"
    if privacy["rounds_left"] or privacy["next"] is None:
        return left
    return f"{left}: nothing is sent before {_moment(privacy['next'])}, and the group's ranker stays"


def _ranker(ranker: dict[str, Any] | None) -> str:
    if ranker is None:
        return "your own; the group's was not adopted"
    return (
        f"the group's of round {ranker['round']}, lineage {lineage_label(ranker['lineage'])}, "
        f"alpha {ranker['alpha']:g} ({1 - ranker['alpha']:.0%} the group's, {ranker['alpha']:.0%} your own)"
    )


def _moment(seconds: int) -> str:
    return iso_minute(seconds) if seconds else "never"
