"""`foltr-search sync`: answer the group's round and fetch its newest ranker."""

from __future__ import annotations

import click

from app.commands.command import FAILED, Command, load, say, state_of_member

EXAMPLES = """
foltr-search sync
foltr-search sync --now                       answers now, with what was opened so far
foltr-search sync --yes                       agrees to changed terms, and to who has joined
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--yes", is_flag=True, help="Agree to changed terms and members without being asked.")
@click.option("--now", is_flag=True, help="Answer the round at once, not in the later part of its time.")
def command(yes: bool, now: bool) -> int:
    """Answer the group's round when its time has come, and fetch its newest ranker.

    A device answers at a moment of its own in the later half of a round, so that what is opened until then counts. The
    update is learned from result pages that came since the last one, is noised, and is written into the privacy
    ledger before it leaves. The ranker is adopted where your own pages show that it serves you no worse. Exit code 2
    when the privacy budget forbids sending, 3 when the server cannot be reached.
    """
    from functools import partial

    from app.commands.join import asking
    from app.devices.own_devices import meet_quietly, who_answers
    from app.federation.sync import Sync

    context = load()
    meet = partial(meet_quietly, context.paths, context.settings)
    with state_of_member() as (store, settings):
        report = Sync(store, settings, asking(yes=yes), at_once=now, meet=meet).run()
    for line in filter(None, (*report.said, report.refused, who_answers(context.paths, context.settings))):
        say(line)
    return FAILED if report.refused else 0
