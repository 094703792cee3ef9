"""`foltr-search stats`: does learning help? Places of opened results, learned against plain BM25, over time."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from app.commands.command import FOUND, NOTHING_FOUND, Command, load, print_json, say
from console.wording import count, iso_day

if TYPE_CHECKING:
    from app.learning.outcomes import Bucket, Outcome

EXAMPLES = """
foltr-search stats
foltr-search stats --days 7
foltr-search stats --json | jq .overall
"""

DAY = 86_400.0
BARS = " ▁▂▃▄▅▆▇█"


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="Only the last N days.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/json-output.md).")
def command(days: int | None, as_json: bool) -> int:
    """Show whether learning helps.

    For each result you open, only its rank in the learned order and in plain BM25 order is recorded. Exit code 1 if
    nothing was opened.
    """
    import time

    from app.learning import outcomes
    from app.store import Store

    context = load()
    found: tuple[Outcome, ...] = ()
    if context.paths.state.exists():
        with Store(context.paths.state, writable=False) as store:
            found = outcomes.read(store, since=time.time() - days * DAY if days else 0.0)
    overall = outcomes.overall(found)
    comparison = outcomes.comparison(found)
    stretches = outcomes.buckets(found, seconds=_stretch(found))
    if as_json:
        print_json({
            "v": 1,
            "overall": asdict(overall) if overall else None,
            "lead": asdict(lead) if (lead := outcomes.lead(found)) else None,
            "over_time": [asdict(bucket) for bucket in stretches],
            "interleaving": asdict(comparison),
        })  # fmt: skip
    elif overall is None:
        when = f"in the last {count(days, 'day')}" if days else "yet"
        say(f"no opened results to count {when}; those of the last search count once you search for something else")
    else:
        _print(found, overall, stretches)
    return FOUND if overall else NOTHING_FOUND


def _stretch(found: Sequence[Outcome]) -> float:
    """Days, or more of them at a time, so that the plot fits the terminal."""
    if not found:
        return DAY
    room = max(shutil.get_terminal_size().columns - 14, 20)
    days = (found[-1].time - found[0].time) / DAY + 1
    return DAY * max(1, -(-days // room))


def _print(found: Sequence[Outcome], overall: Bucket, stretches: Sequence[Bucket]) -> None:
    from app.learning.outcomes import caution, verdict

    click.echo(f"{verdict(found)}\n{caution(found)}\n")
    click.echo(f"{count(overall.n, 'result')} opened since {iso_day(overall.start)}; ranked first")
    click.echo(f"  learned  {overall.first_learned:5.0%}")
    click.echo(f"  plain    {overall.first_bm25:5.0%}\n")
    click.echo("how near the top they were (full height: first), the newest on the right")
    click.echo(f"  learned  {bars([bucket.mrr_learned for bucket in stretches])}")
    click.echo(f"  plain    {bars([bucket.mrr_bm25 for bucket in stretches])}")


def bars(values: Sequence[float]) -> str:
    """Values in [0, 1] as a row of bars; one above 0 shows at least the lowest bar."""
    top = len(BARS) - 1
    return "".join(BARS[max(round(value * top), 1 if value > 0 else 0)] for value in values)
