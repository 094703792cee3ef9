"""`foltr-search forget-me`: leave, have everything erased and unlearned, and see how far that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from app.commands.command import FAILED, NOTHING_FOUND, Command, ask, print_json, say, state_of_member
from console.wording import iso_minute

if TYPE_CHECKING:
    from app.federation.join_and_leave import JournalFinding
    from app.federation.membership import KeptReceipt

EXAMPLES = """
foltr-search forget-me                        ask first
foltr-search forget-me --yes
foltr-search forget-me                        later: show progress
foltr-search forget-me --json | jq .receipts
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--now", "at_once", is_flag=True, help="Even while the group's round needs this device.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/json-output.md).")
def command(at_once: bool, yes: bool, as_json: bool) -> int:
    """Have the group forget this device: erase what its server stores, and unlearn its influence by the group's method.

    The server signs a receipt of what was erased and how, which stays here. Then this device erases its key and the
    group's ranker. Run again later, this shows receipts and progress, and checks them against the server's journal;
    exit code 2 if the journal contradicts one.
    """
    from app.federation import membership
    from app.federation.join_and_leave import Admission, what_others_miss

    with state_of_member() as (store, settings):
        joining = Admission(store, settings)
        known = membership.load(store)
        if known is not None and known.group_id:
            if missed := what_others_miss(store):
                say(missed)
            ask(f"Leave {known.group} and have it forget this device?", yes=yes)
            if joining.leave(forget=True, at_once=at_once) is None:
                say("the server had already removed this device, and the receipt was lost; the key is erased here")
        kept, findings, others = joining.progress(), joining.findings(), membership.not_reached(store)
    _print(kept, findings, others, as_json=as_json)
    if any(finding.holds is False for finding in findings):
        return FAILED
    return 0 if kept else NOTHING_FOUND


def _print(
    kept: Sequence[KeptReceipt], findings: Sequence[JournalFinding], others: Mapping[str, str], *, as_json: bool
) -> None:
    import msgspec

    from app.federation.membership import receipt_in_words

    if as_json:
        found = {finding.request: finding.holds for finding in findings}
        receipts = [
            {"group": one.group, **msgspec.to_builtins(one.receipt), "kept_to": found.get(one.receipt.request)}
            for one in kept
        ]
        print_json({"v": 1, "receipts": receipts, "not_reached": list(others)})
        return
    if not kept:
        say("this device belongs to no group and has no receipt")
    for one in kept:
        receipt = one.receipt
        told = f"{receipt_in_words(receipt)} (request {receipt.request})" if receipt.request else receipt.progress
        click.echo(f"{one.group}, {iso_minute(receipt.time)}: {told}")
    for finding in findings:
        (say if finding.holds is not True else click.echo)(finding.sentence)
    for sentence in others.values():
        click.echo(sentence)
