"""`foltr-server rounds` and `model`: what happened, newest first, the rankers it led to, and going back to one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from console.command_line import CommandsInFull
from console.wording import count, lineage_label, round_label
from federation_server.commands.installation import YES, ask, listed, now, open_here, round_name, when
from federation_server.database import reading, writing
from federation_server.forgetting.forgetting import roll_back
from federation_server.group import group
from federation_server.rounds.history import ERASED, latest_models, latest_rounds, one_round, with_noise
from federation_server.rounds.round_progress import phase, why_it_rests
from federation_server.rounds.rounds import chance, policy_of
from federation_server.running.service import Service
from federation_server.sealed.summing import awaited_now


@click.group(cls=CommandsInFull, invoke_without_command=True)
@click.option("--last", type=click.IntRange(min=1), default=20, show_default=True, help="How many rounds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_context
def rounds(ctx: click.Context, last: int, as_json: bool) -> int:
    """List rounds: number of updates, aggregation rule, how far the ranker moved, and the guard's verdict."""
    if ctx.invoked_subcommand:
        return 0
    installation = open_here()
    with reading(installation.engine) as connection:
        found = latest_rounds(connection, last)
        waits = awaited_now(connection, policy_of(installation.settings).schedule, now=now())
        agreed = group.terms(connection)
        today = phase(connection, agreed, now=now())
    if today.name == "rest" and not as_json:
        click.echo(f"{today.sentence}: {why_it_rests(agreed)}")
    for row in found:
        click.echo(json.dumps(row) if as_json else _line(row, waits.sentence if waits else ""))
    return listed(found, "no round was opened yet: `foltr-server serve` opens the first")


@rounds.command()
@click.argument("version", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(version: str | None, as_json: bool) -> None:
    """Show everything known about the round VERSION (LINEAGE.ROUND), by default the newest.

    It shows only figures of the round as a whole: no member's update or name.
    """
    installation = open_here()
    with reading(installation.engine) as connection:
        newest = latest_rounds(connection, 1)
        asked = round_name(version) if version else (newest[0]["lineage"], newest[0]["round"]) if newest else (0, 0)
        found = one_round(connection, *asked)
        if found is None:
            raise click.ClickException(f"there is no round {version or 'yet'}; `foltr-server rounds` lists them")
        agreed = group.terms(connection)
        of_lineage = (row for row in latest_rounds(connection, EVERY) if row["lineage"] == found["lineage"])
        before = [row for row in of_lineage if row["round"] < found["round"]]
        told = found | with_noise(agreed, [found, *before])[0]
        waits = awaited_now(connection, policy_of(installation.settings).schedule, now=now())
    if waits is not None and found["state"] == "open":
        told |= {"active": waits.n_active, "missing": waits.n_missing, "floor": waits.floor, "wanted": waits.n_wanted}
    if as_json:
        click.echo(json.dumps(told))
    else:
        for name, value in _rows(told, waits.sentence if waits else ""):
            click.echo(f"{name + ':':16}{value}")


EVERY = 1_000_000
"""more rounds than any group has"""


@rounds.command()
def close() -> int:
    """Close the open round now, if it has at least as many updates as the terms' floor.

    A running server opens the next round. If the round cannot close yet, this says what is missing; exit code 1.
    """
    installation = open_here()
    policy = policy_of(installation.settings)
    with reading(installation.engine) as connection:
        waits = awaited_now(connection, policy.schedule, now=now())
        before = phase(connection, group.terms(connection), now=now())
    service = Service(installation.engine, installation.forgetter, installation.settings)
    closed = service.close(asked=True) if waits else None
    with reading(installation.engine) as connection:
        today = phase(connection, group.terms(connection), now=now())
    if waits is None:
        click.echo(f"no round is open: the group is {today.sentence}")
        return 1
    is_listed = (before.name, today.name) == ("collect", "sum")
    did = f"takes no more updates: the committee is {today.sentence}" if is_listed else f"stays open: {waits.sentence}"
    if closed is not None:
        did = f"closed with {count(closed.n_updates, 'update')} by {closed.rule}"
    click.echo(f"round {round_label(waits.lineage, waits.round)} {did}")
    return 0 if closed is not None or is_listed else 1


def _line(row: dict[str, Any], waits: str) -> str:
    name = f"{round_label(row['lineage'], row['round']):<7} {row['purpose']:6} {row['state']:9}"
    if row["state"] == "open":
        return f"{name} {count(row['n_updates'], 'update'):>12}, {waits}"
    if row["state"] == "abandoned":
        return f"{name} given up because of a rollback, a restore or a forget-me"
    joined = row["rule"] not in (None, "void")
    told = [f"{count(row['n_updates'], 'update'):>12}" + f" by {row['rule']}" * joined, _moved(row) * joined]
    return f"{name} {', '.join(filter(None, told))}; {row['guard'] or ERASED}"


def _moved(row: dict[str, Any]) -> str:
    if row["update_norm"] is None:
        return ""
    by_chance = chance(row["n_updates"])
    expected = "" if by_chance is None else f" (by chance {by_chance:.2f})"
    agreement = "" if row["agreement"] is None else f", agreement {row['agreement']:.2f}{expected}"
    return f"moved {row['update_norm']:.4f}{agreement}"


def _rows(told: dict[str, Any], waits: str) -> Iterator[tuple[str, str]]:
    """Names and values, as `show` prints them."""
    yield "round", f"{round_label(told['lineage'], told['round'])}, to {told['purpose']}, {told['state']}"
    yield "opened", when(told["opened"])
    if told["state"] == "open":
        yield "deadline", when(told["deadline"])
        yield "awaited", waits
    else:
        yield "closed", when(told["closed"])
    yield "updates", str(told["n_updates"])
    yield "began from", told["model_hash"][:16]
    if told["state"] == "closed":
        yield "joined by", told["rule"] or "-"
        yield "guard", told["guard"] or "-"
        if told["update_norm"] is not None:
            yield "moved", f"{told['update_norm']:.4f}"
        if told["agreement"] is not None and told["chance"] is not None:
            yield "agreement", f"{told['agreement']:.2f}; by chance alone {told['chance']:.2f}"
        yield "noise", _noise(told)


def _noise(told: dict[str, Any]) -> str:
    """In the words that members are told."""
    if told["noise"] is None:
        return "none: it was lost" if told["rule"] == "void" else "not known from the settings"
    return (
        f"{told['noise']:.2f} times as long as the longest signal, {told['noise_so_far']:.2f} times over the lineage "
        "up to this round"
    )


@click.group(cls=CommandsInFull, invoke_without_command=True)
@click.option("--last", type=click.IntRange(min=1), default=20, show_default=True, help="How many rankers.")
@click.pass_context
def model(ctx: click.Context, last: int) -> int:
    """List published rankers, newest first: LINEAGE.ROUND, norm, and drift from the first of the lineage."""
    if ctx.invoked_subcommand:
        return 0
    with reading(open_here().engine) as connection:
        found = latest_models(connection, last)
    for model in found:
        name = round_label(model.lineage, model.round)
        length = f"norm {model.norm:.4f}  drift {model.drift:.4f}"
        click.echo(f"{name:10} {when(model.created)}  {length}  {model.hash[:16]}")
    return 0 if found else 1


@model.command()
@click.argument("version")
@YES
def rollback(version: str, yes: bool) -> None:
    """Go back to the ranker VERSION (LINEAGE.ROUND) in a new lineage; devices follow at their next sync.

    Later rankers stay, so you can go forward again. The privacy budget that rounds since have cost stays spent.
    """
    lineage, number = round_name(version)
    installation = open_here()
    policy = policy_of(installation.settings)
    with reading(installation.engine) as connection:
        chosen, open_now = group.at(connection, lineage, number), awaited_now(connection, policy.schedule, now=now())
    if chosen is not None:
        lost = ""
        if open_now is not None and open_now.n_updates:
            label, updates = round_label(open_now.lineage, open_now.round), count(open_now.n_updates, "update")
            lost = f" Round {label} ends, and the privacy budget of its {updates} stays spent."
        ask(f"Go back to ranker {version}? Devices follow at their next sync.{lost}", yes=yes)
    with writing(installation.engine) as connection:
        begun = roll_back(connection, installation.vault, policy, lineage, number, now=now())
    click.echo(f"lineage {lineage_label(begun)} begins from {version}")
