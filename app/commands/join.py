"""`foltr-search join LINK`: become a member of a group that shares one ranker."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from app.commands.command import Command, say, state_of_member

EXAMPLES = """
foltr-search join foltr://join/eyJh...        shows the terms, then asks
foltr-search join LINK --yes                  shows them, and does not ask
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("link")
@click.option("--yes", is_flag=True, help="Accept the group's terms without asking.")
def command(link: str, yes: bool) -> int:
    """Join the group of an invite LINK.

    Shows what will leave this device and how it is protected, and asks. Until you agree the server gets only the invite
    and a fresh key. Exit code 3 if the server cannot be reached.
    """
    import time

    from app.commands.federation import sums_in_words
    from app.federation.group_status import overview
    from app.federation.join_and_leave import Admission
    from foltr.federated.links import from_link

    with state_of_member(moved="if the server has moved, ask for a new invite") as (store, settings):
        member = Admission(store, settings).join(from_link(link), agrees=asking(yes=yes))
        sealed = overview(store, settings.federation, now=int(time.time()))["sealed"]
    if sealed is not None:
        say(sums_in_words(sealed))
        if not sealed["vouched"]:
            say(f"a member must run `foltr-search vouch {member.device[:8]}`; compare {sealed['fingerprint']}")
    say(f"joined the group {member.group}; `foltr-search sync` takes part in its rounds")
    return 0


def asking(*, yes: bool, goes_on: bool = False) -> Callable[[Sequence[str]], bool]:
    """Shows the terms on stderr and asks, unless `yes` has agreed already.

    Where nobody can answer, as from cron, that is a no if the command `goes_on` without it, else its end.
    """

    def ask(lines: Sequence[str]) -> bool:
        for line in lines:
            click.echo(line, err=True)
        if yes:
            return True
        try:
            return click.confirm("Do you agree?", err=True)
        except click.Abort as error:
            click.echo(err=True)
            if goes_on and isinstance(error.__context__, EOFError):
                return False
            say("not agreed, nothing of yours was sent; the same command asks again, `foltr-search leave` ends it")
            raise

    return ask
