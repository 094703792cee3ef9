"""`foltr-search leave`: end the membership; what was sent stays with the group."""

from __future__ import annotations

import click

from app.commands.command import Command, load, say

EXAMPLES = """
foltr-search leave
foltr-search leave --local                    when the server is gone for good
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--local", is_flag=True, help="Erase the key here without telling the server.")
def command(local: bool) -> int:
    """Leave the group: its ranker and this device's key are erased here.

    What this device has sent stays part of the group's ranker; `forget-me` takes it out. The privacy ledger stays.
    """
    from app.commands.command import ask_server
    from app.federation.admission import Admission
    from app.store import Store

    context = load()
    context.paths.create_data_dir()

    def leave() -> int:
        with Store(context.paths.state) as store:
            joining = Admission(store, context.settings)
            if local and not store.rows("SELECT 1 FROM membership"):
                say("this device belongs to no group")
                return 0
            if local:
                joining.forget_locally()
                say("the key and the group's ranker are erased; the server was not told")
                return 0
            kept = joining.leave(forget=False)
        say("left the group" if kept else "the server had let this device go before; the key is erased")
        return 0

    return ask_server(leave)
