"""`foltr-server doctor`: is everything as it should be?"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from msgspec import Struct
from sqlalchemy import Connection, text

from console.wording import count, iso_minute, round_label
from federation_server.commands.installation import (
    NOBODY_LEFT,
    folder,
    ghosts_in_words,
    now,
    open_here,
)
from federation_server.database import is_current, is_sqlite, reading
from federation_server.group import depots, enrolment, group, roster_book
from federation_server.rounds import rounds
from federation_server.rounds.history import ERASED, latest_rounds, mechanism_in_words, members_in_words
from federation_server.rounds.round_progress import phase, why_it_rests
from federation_server.sealed.summing import awaited_now
from federation_server.serve import Installation
from federation_server.settings import LOOPBACK, ServerSettings
from federation_server.setup import shipped_start, terms_of
from federation_server.tls import TlsError, ends, key_fingerprint
from foltr.federated.sealed.committee import least_members
from foltr.federated.wire import Terms

LEAST_FREE = 500_000_000
"""bytes"""


@click.command()
def doctor() -> int:
    """Check settings, keys, database, rounds and disk; exit code 1 if something is wrong, not if it only waits."""
    good = True
    for check in checks(open_here(), folder(), now=now()):
        good = good and (check.good or check.awaited)
        click.echo(f"{'ok  ' if check.good else 'wait' if check.awaited else 'FAIL'} {check.name}: {check.text}")
    return 0 if good else 1


class Check(Struct, frozen=True):
    """One finding."""

    name: str
    good: bool
    text: str
    awaited: bool = False
    """what is missing is only not there yet, which is no fault"""


def checks(installation: Installation, folder: Path, *, now: int) -> Iterator[Check]:
    """All of them, in an order that an operator reads."""
    settings = installation.settings
    yield Check("settings", True, str(folder / "server.toml"))
    yield Check("keys", True, "readable by this user alone")
    yield Check("tables", is_current(installation.engine), installation.engine.dialect.name)
    if is_sqlite(installation.engine):
        with reading(installation.engine) as connection:
            found = str(connection.execute(text("PRAGMA quick_check")).scalar_one())
        yield Check("file", found == "ok", found)
    yield from _group(installation, now=now)
    exposed = settings.server.address not in LOOPBACK and settings.tls.mode == "off"
    yield Check("address", not exposed or bool(settings.server.trusted_proxies), installation.public_address)
    if settings.tls.mode != "off":
        yield _certificate(installation, now=now)
    free = shutil.disk_usage(folder).free
    yield Check("disk", free >= LEAST_FREE, f"{free / 1e9:.1f} GB free")


def _group(installation: Installation, *, now: int) -> Iterator[Check]:
    with reading(installation.engine) as connection:
        agreed = group.terms(connection)
        schedule, today = rounds.policy_of(installation.settings).schedule, phase(connection, agreed, now=now)
        waits, found = awaited_now(connection, schedule, now=now), latest_rounds(connection, LOOKED_AT)
        members = _members(connection, agreed, now=now, is_new=all(row["state"] == "open" for row in found))
        gone, kept = ghosts_in_words(connection, now=now), depots.used(connection).values()
    last = next((row for row in found if row["state"] == "closed"), None)
    yield from _terms(installation.settings, agreed)
    yield members
    if agreed.mode != "open":
        yield Check("roster", not gone, "; ".join(gone) or "nobody on it has left")
    yield Check("depots", True, f"{depots.in_words(kept)} of {count(len(kept), 'member')}")
    yield _guard(last)
    if waits is None and today.name == "rest":
        yield Check("round", True, f"{today.sentence}: {why_it_rests(agreed)}")
    elif waits is None:
        yield Check("round", True, "none yet; the first opens with `foltr-server serve`")
    else:
        late = now - waits.deadline
        state = f"{round_label(waits.lineage, waits.round)}: {waits.sentence}"
        overdue = f"; {late} s past its deadline: is the server running?" if late > 0 else ""
        yield Check("round", late < 3600, state + overdue)


def _members(connection: Connection, agreed: Terms, *, now: int, is_new: bool) -> Check:
    """Whether they are enough for a round: where the server learns sums, those whom a member vouched for."""
    active = enrolment.count_active(connection, now=now)
    if agreed.mode == "open":
        text = f"{active} active; {members_in_words(connection, agreed, now=now)}"
        return Check("members", active >= agreed.floor, text, awaited=is_new)
    vouched, wanted = len(roster_book.state(connection).vouched), least_members(agreed.mode)
    needed = f"{active} active, {members_in_words(connection, agreed, now=now)}"
    able = enrolment.vouchers(connection, now=now)
    how = "members invite with `foltr-search invite`, and vouch for those who wait with `foltr-search vouch`"
    if len(able) == 1:
        how += f"; only {able[0]} can; if that device is lost: docs/server.md, A lost device"
    elif not able:
        how = NOBODY_LEFT if vouched else "`foltr-server invite` prints the first member's link"
    text = needed if vouched >= wanted else f"{needed}: {how}"
    return Check("members", vouched >= wanted, text, awaited=is_new and bool(able or not vouched))


LOOKED_AT = 20
"""rounds among which the last closed one is looked for"""


def _guard(last: dict[str, Any] | None) -> Check:
    """What the guard said last; silence is not the same as calm."""
    if last is None:
        return Check("guard", True, "not judged: no round is closed yet")
    verdict = last["verdict"] or "not judged"
    said = str(last["guard"] or ERASED)
    told = said if said.startswith(verdict) else f"{verdict}: {said}"
    return Check("guard", verdict != "alert", f"{told} (round {round_label(last['lineage'], last['round'])})")


def _terms(settings: ServerSettings, agreed: Terms) -> Iterator[Check]:
    """What members agreed to: its privacy, and whether the settings file says something else since."""
    privacy = agreed.settings["privacy"]
    yield Check("privacy", privacy["mechanism"] != "none", mechanism_in_words(agreed))
    shipped = shipped_start()
    if shipped.manifest_hash != agreed.manifest_hash:
        yield Check("terms", True, "not compared with the settings: the group has another version's features")
        return
    written = terms_of(settings, agreed.group_id, features=shipped.features, manifest_hash=agreed.manifest_hash)
    other = dict.fromkeys(key for name, key in FIXED.items() if getattr(written, name) != getattr(agreed, name))
    text = "as the settings say"
    if other:
        text = f"server.toml says otherwise in {', '.join(other)}, without effect: fixed when the group was made"
    yield Check("terms", not other, text)


FIXED = {
    "method": "[method]", "settings": "[method]", "ranker": "[method]", "mode": "[method]", "floor": "rounds.floor",
    "n_local": "rounds.n_local", "n_unlearn": "forgetting.n_unlearn", "n_rounds": "rounds.in_period",
    "period_days": "rounds.period_days",
}  # fmt: skip
"""where server.toml has what the terms fix"""


def _certificate(installation: Installation, *, now: int) -> Check:
    """Its key, which devices pin, and its end, which those heed that trust an authority."""
    try:
        key, end = key_fingerprint(installation.certificate), ends(installation.certificate)
    except TlsError as error:
        return Check("certificate", False, str(error))
    is_pinned = installation.settings.tls.mode == "self-signed"
    return Check("certificate", is_pinned or now < end, f"{key}, valid until {iso_minute(end)}")
