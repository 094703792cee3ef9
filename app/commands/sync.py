"""`foltr-search sync`: answer the group's round and fetch its newest ranker."""

from __future__ import annotations

import click

from app.commands.command import FAILED, Command, load, say

EXAMPLES = """
foltr-search sync
foltr-search sync --yes                       agrees to terms that the group has changed
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--yes", is_flag=True, help="Agree to changed terms without being asked.")
def command(yes: bool) -> int:
    """Send this round's update to the group and fetch its newest ranker.

    The update is learned from result pages that came since the last one, is noised, and is written into the privacy
    ledger before it leaves. The ranker is adopted where your own pages show that it serves you no worse. Exit code 2
    when the privacy budget forbids sending, 3 when the server cannot be reached.
    """
    from app.commands.command import ask_server
    from app.commands.join import asking
    from app.federation.sync import Sync
    from app.store import Store

    context = load()
    context.paths.create_data_dir()

    def sync() -> int:
        with Store(context.paths.state) as store:
            report = Sync(store, context.settings, asking(yes=yes)).run()
        for line in report.said:
            say(line)
        if report.refused:
            say(report.refused)
        return FAILED if report.refused else 0

    return ask_server(sync)
