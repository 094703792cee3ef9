"""`foltr-search leave`: end the membership; what was sent stays with the group."""

from __future__ import annotations

import click

from app.commands.command import Command, say, state_of_member

EXAMPLES = """
foltr-search leave
foltr-search leave --local                    if the server is gone for good
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--local", is_flag=True, help="Erase the key here without telling the server.")
def command(local: bool) -> int:
    """Leave the group, and erase its ranker and this device's key here.

    What this device sent stays in the group's ranker for good: only `forget-me` instead removes it. The ledger stays.
    """
    from app.federation import membership
    from app.federation.admission import Admission

    with state_of_member() as (store, settings):
        if not local:
            kept = Admission(store, settings).leave(forget=False)
            say("left the group" if kept else "the server had let this device go before; the key is erased")
        elif store.rows("SELECT 1 FROM membership"):
            membership.erase(store)  # without telling the server, as when it is gone for good
            say("the key and the group's ranker are erased; the server was not told")
        else:
            say("this device belongs to no group")
        for sentence in membership.not_reached(store).values():
            say(sentence)
    return 0
