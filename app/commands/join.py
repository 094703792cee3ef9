"""`foltr-search join LINK` and `leave`: become a member of a group that shares one ranker, and be none any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from app.commands.command import Command, ask, say, state_of_member

EXAMPLES = """
foltr-search join foltr://join/eyJh...        shows the terms, then asks
foltr-search join LINK --yes                  shows them, and does not ask
"""

LEAVING = """
foltr-search leave                            ask first
foltr-search leave --local                    if the server is gone for good
"""


@click.command("join", cls=Command, examples=EXAMPLES)
@click.argument("link")
@click.option("--yes", is_flag=True, help="Accept the group's terms without asking.")
def join(link: str, yes: bool) -> int:
    """Join the group of an invite LINK.

    Shows what will leave this device and how it is protected, and asks. Until you agree the server gets only the invite
    and a fresh key. Exit code 3 if the server cannot be reached.
    """
    import time

    from app.federation.group_status import overview, sums_in_words
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
            say("not agreed, nothing of yours was sent; run the command again to agree, or `foltr-search leave`")
            raise

    return ask


@click.command("leave", cls=Command, examples=LEAVING)
@click.option("--local", is_flag=True, help="Only erase the key here; do not tell the server.")
@click.option("--now", "at_once", is_flag=True, help="Even while the group's round needs this device.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def leave(local: bool, at_once: bool, yes: bool) -> int:
    """Leave the group, and erase its ranker and this device's key here.

    What this device sent stays on the group's server; to have it forgotten, run `forget-me` instead. The ledger stays.
    """
    from app.federation import membership
    from app.federation.join_and_leave import Admission, what_others_miss

    by_itself = "`foltr-search leave --local` ends the membership here without telling the server"
    with state_of_member(by_itself) as (store, settings):
        is_member = bool(store.rows("SELECT 1 FROM membership"))  # whose record may be damaged
        if is_member and not local and (missed := what_others_miss(store)):
            say(missed)
        if is_member and not yes:
            what = "Afterwards you cannot have it forget what this device sent; `forget-me` leaves and does that."
            ask(f"Leave the group? {what}")
        if not local:
            kept = Admission(store, settings).leave(forget=False, at_once=at_once)
            say("left the group" if kept else "the server had already removed this device; the key is erased here")
        elif is_member:
            membership.erase(store)  # without telling the server, as when it is gone for good
            say("the key and the group's ranker are erased; the server was not told")
        else:
            say("this device belongs to no group")
        for sentence in membership.not_reached(store).values():
            say(sentence)
    return 0
