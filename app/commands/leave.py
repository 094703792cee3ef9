"""`foltr-search leave`: end the membership; what was sent stays with the group."""

from __future__ import annotations

import click

from app.commands.command import Command, ask, say, state_of_member

EXAMPLES = """
foltr-search leave                            ask first
foltr-search leave --local                    if the server is gone for good
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--local", is_flag=True, help="Erase the key here without telling the server.")
@click.option("--now", "at_once", is_flag=True, help="Also while a round of the group cannot do without this device.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(local: bool, at_once: bool, yes: bool) -> int:
    """Leave the group, and erase its ranker and this device's key here.

    What this device sent stays in the group's ranker for good: only `forget-me` instead removes it. The ledger stays.
    """
    from app.federation import membership
    from app.federation.join_and_leave import Admission, what_others_miss

    by_itself = "`foltr-search leave --local` ends the membership here without telling the server"
    with state_of_member(by_itself) as (store, settings):
        is_member = bool(store.rows("SELECT 1 FROM membership"))  # whose record may be damaged
        if is_member and not local and (missed := what_others_miss(store)):
            say(missed)
        if is_member and not yes:
            what = "Afterwards this device cannot have it forget what was sent; `forget-me` leaves, too, and does that."
            ask(f"Leave the group? {what}")
        if not local:
            kept = Admission(store, settings).leave(forget=False, at_once=at_once)
            say("left the group" if kept else "the server had let this device go before; the key is erased")
        elif is_member:
            membership.erase(store)  # without telling the server, as when it is gone for good
            say("the key and the group's ranker are erased; the server was not told")
        else:
            say("this device belongs to no group")
        for sentence in membership.not_reached(store).values():
            say(sentence)
    return 0
