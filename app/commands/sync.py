"""`foltr-search sync`: answer the group's round and fetch its newest ranker."""

from __future__ import annotations

import click

from app.commands.command import FAILED, Command, load, say, state_of_member

EXAMPLES = """
foltr-search sync
foltr-search sync --now                       answer now, with what you opened so far
foltr-search sync --yes                       agree to anything it asks: changed terms, new members, unseen lists
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option(
    "--yes",
    is_flag=True,
    help="Agree without being asked: to changed terms, new members, an update after two without a list.",
)
@click.option("--now", is_flag=True, help="Answer now, not at a later moment of the round.")
def command(yes: bool, now: bool) -> int:
    """Answer the group's round when it is time, and fetch its newest ranker.

    A device answers at a random moment in the later half of a round; what you open before then counts. It learns an
    update from the result pages since its last one, adds noise, and writes the cost into the privacy ledger before
    sending. It adopts a ranker only if your own pages show that it serves you no worse. Exit code 2 if the privacy
    budget forbids sending or you did not agree (a cron job cannot), 3 if the server cannot be reached.
    """
    from functools import partial

    from app.commands.join import asking
    from app.devices.own_devices import meet_others, who_answers
    from app.federation.sync import Sync

    context = load()
    meet = partial(meet_others, context.paths, context.settings)
    with state_of_member(meets_first=False) as (store, settings):
        report = Sync(store, settings, asking(yes=yes, goes_on=True), at_once=now, meet=meet).run()
    for line in filter(None, (*report.said, report.refused, who_answers(context.paths, context.settings))):
        say(line)
    return FAILED if report.refused else 0
