"""`foltr-search model`: what was learned, kept safe, taken back or forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.command import Group, TypedPath, ask, load, print_json, say
from app.commands.completion import kept_days
from console.wording import count, iso_minute

if TYPE_CHECKING:
    from app.learning.learner import Learner
    from app.search.search import Search

EXAMPLES = """
foltr-search model                            how much was learned, and which features gained
foltr-search model export ~/foltr-model.json
foltr-search model import ~/foltr-model.json
foltr-search model reset                      back to the shipped ranker
foltr-search model reset --to yesterday       back to the end of a day of the last month
foltr-search model forget                     also delete every page and pick that was learned from
"""

SHOWN_FEATURES = 8


def _day(ctx: click.Context, parameter: click.Parameter, value: str | None) -> date | None:
    """A day written as 2026-01-31 or `yesterday`."""
    if value is None:
        return None
    if value == "yesterday":
        return date.today() - timedelta(days=1)
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"wanted a day, as {date.today()}, or yesterday, got {value!r}") from None


@click.group(cls=Group, examples=EXAMPLES, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> int:
    """Show, save and undo what was learned from opened results."""
    return 0 if ctx.invoked_subcommand else ctx.invoke(show)


@command.command("show", examples="foltr-search model show --json | jq .n_picks")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/json-output.md).")
def show(as_json: bool) -> int:
    """Show how much was learned, and which features gained."""
    with opened() as search:
        model, days = search.learner.model, search.learner.days()
        gains, n_remembered = _gains(search.learner), search.picks.count()
        record = {
            "v": 1,
            "ranker": model.ranker.name,
            "n_params": model.ranker.n_params,
            "manifest_hash": model.manifest_hash,
            "n_pages": model.n_pages,
            "n_picks": model.n_picks,
            "n_documents_remembered": n_remembered,
            "updated": model.updated,
            "days": [day.isoformat() for day in days],
            "learned": dict(gains),
        }
    if as_json:
        print_json(record)
        return 0
    click.echo(f"ranker:     {model.ranker.name}, {model.ranker.n_params:,} parameters")
    click.echo(f"features:   {len(model.feature_names)}, manifest {model.manifest_hash}")
    learned = f"{count(model.n_picks, 'pick')} on {count(model.n_pages, 'result page')}"
    click.echo(f"learned:    {learned}" + (f", last {iso_minute(model.updated)}" if model.updated else ""))
    click.echo(f"remembered: {count(n_remembered, 'opened document')}, as keyed hashes")
    kept = f"{count(len(days), 'day')} from {days[0]} to {days[-1]}" if days else "none yet"
    click.echo(f"versions:   {kept}")
    if model.n_pages and not gains:
        click.echo("habits yet: none; one needs about five queries that agree")
    for name, gain in gains[:SHOWN_FEATURES]:
        click.echo(f"{gain:+12.4g}  {name}")
    return 0


@command.command("export", examples="foltr-search model export model.json")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def export(file: Path) -> int:
    """Write the model to FILE (JSON: weights and names of features, no document or query)."""
    from app.learning.model_versions import export_model

    with opened() as search:
        export_model(search.learner.model, file)
    return 0


@command.command("import", examples="foltr-search model import model.json")
@click.argument("file", type=TypedPath(exists=True, dir_okay=False, path_type=Path))
@click.option("--by-name", is_flag=True, help="If FILE is of another version: keep weights of same-named features.")
def import_(file: Path, by_name: bool) -> int:
    """Use the model in FILE from now on; `reset --to DAY` brings back that of an earlier day."""
    with opened(to_change=True) as search:
        search.learner.import_file(file, by_name=by_name)
    return 0


@command.command("reset", examples="foltr-search model reset --to yesterday")
@click.option("--to", "day", metavar="DAY", callback=_day, shell_complete=kept_days,
              help="Go back to the end of this day; default: as shipped.")  # fmt: skip
def reset(day: date | None) -> int:
    """Go back to the shipped ranker, or to the end of a day of the last month.

    Picks (what you opened for which query) stay; `model forget` deletes them.
    """
    with opened(to_change=True) as search:
        search.learner.reset(day)
    say(f"the model is as it was at the end of {day}" if day else "the model is as it was shipped")
    return 0


@command.command("forget", examples="foltr-search model forget --yes")
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(yes: bool) -> int:
    """Delete every page and pick that was learned from, the statistics and the last page; reset the model."""
    ask("Forget all pages, picks and statistics, and reset the model?", yes=yes)
    with opened(to_change=True) as search:
        forget_everything(search)
    say("deleted everything that was learned")
    return 0


def forget_everything(search: Search) -> None:
    """Forget all that was learned and from what."""
    from app.learning import outcomes
    from app.search import shown_page

    if search.log:
        search.log.forgot("pages")
    search.picks.clear()
    search.store.clear_interactions()
    outcomes.clear(search.store)
    shown_page.forget_shown(search.store)
    search.learner.reset()
    search.store.erase("models", "snapshots")  # also of the other ranker, if it learned before


@contextmanager
def opened(*, to_change: bool = False, assistant: str = "") -> Iterator[Search]:
    """The engine, with the person's state or an assistant's; `to_change`: StateError where nothing could be kept."""
    import msgspec

    from app.search.search import Search
    from app.store import StateError

    context = load()
    with closing(Search(context.settings, msgspec.structs.replace(context.paths, assistant=assistant))) as search:
        if to_change and search.unkept:
            raise StateError(search.unkept)
        yield search


def _gains(learner: Learner) -> list[tuple[str, float]]:
    """What was learned, the strongest first: of each trait the liking (app.learning.votes); of the net about each
    feature by itself f(e_i) - f(0) - prior_i."""
    import numpy as np

    model = learner.model
    if model.ranker.name == "linear":
        return sorted(learner.habits.liking.items(), key=lambda gain: -abs(gain[1]))
    n = len(model.feature_names)
    alone = model.learned(np.vstack([np.eye(n), np.zeros((1, n))]))
    gains = zip(model.feature_names, (alone[:n] - alone[n]).tolist(), strict=True)
    return sorted((gain for gain in gains if gain[1]), key=lambda gain: -abs(gain[1]))
