"""`foltr-search devices`: several computers of one person, of which each knows what the others learned."""

from __future__ import annotations

import io
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.command import FOUND, NOTHING_FOUND, Group, exchange, load, say

if TYPE_CHECKING:
    from app.devices.own_devices import OwnDevices

EXAMPLES = """
foltr-search devices new --folder ~/Dropbox/foltr     on the first computer: shows a code
foltr-search devices join --folder ~/Dropbox/foltr    on each other one, once the folder is there
foltr-search devices new --server                     instead of a folder: your group's server
foltr-search devices                                  list your computers
foltr-search devices remove old-laptop                if it was lost: it can read nothing new
"""
FOLDER = click.option(
    "--folder", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
    help="A folder that all your computers reach: in a cloud, in Syncthing, on a stick.",
)  # fmt: skip
SERVER = click.option(
    "--server", is_flag=False, flag_value="", metavar="[ADDRESS]",
    help="Instead of a folder: your group's server, or the one at the ADDRESS that `devices new` shows.",
)  # fmt: skip
NAME = click.option("--name", default=platform.node() or "device", help="Name for this computer.")


@click.group(cls=Group, examples=EXAMPLES, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> int:
    """Share what your computers learn: picks, habits, saved searches, settings, what was forgotten.

    They exchange encrypted files through a folder you sync anyway, or your group's server. Anyone who reads them there
    learns only sizes and times (docs/devices.md). `watch`, `serve` and the screen exchange every minute.
    """
    return 0 if ctx.invoked_subcommand else ctx.invoke(list_)


@command.command("new", examples="foltr-search devices new --folder ~/Sync/foltr --name laptop")
@FOLDER
@SERVER
@NAME
@click.option("--replace", "replaces", is_flag=True, help="Delete what your group's server keeps for other computers.")
def new(folder: Path | None, server: str | None, name: str, replaces: bool) -> int:
    """Show the code with which another computer joins; the first time, name a folder or your group's server.

    Whoever has the code can read everything your computers exchange: show it to nobody.
    """
    from app.devices.own_devices import OwnDevices

    context = load()
    exchange(context)  # the code may be another one by now
    devices = OwnDevices(context.paths, context.settings)
    place = _place(devices, folder, server)
    is_alone = devices.keys is None or devices.keys.has_left
    if replaces and (server is None or not is_alone):
        raise click.UsageError("--replace needs --server, and a computer that is not joined to others")
    if is_alone:
        if not place:
            raise click.UsageError("wanted --folder FOLDER (one that all your computers reach) or --server")
        devices.begin(name, place, replaces=replaces)
    elif devices.keys and place and place != devices.keys.folder:
        raise click.UsageError(f"your computers exchange in {devices.keys.folder}; `devices sync` can change that")
    _show(devices.code)
    say(f"on the other computer: foltr-search devices join {devices.option}")
    return 0


def _place(devices: OwnDevices, folder: Path | None, server: str | None) -> str:
    """Where the computers are to meet, "" where nothing was said."""
    if folder is not None and server is not None:
        raise click.UsageError("wanted either --folder or --server")
    if server is not None:
        return devices.at_server(server)
    return "" if folder is None else os.path.abspath(os.path.expanduser(folder))


@command.command("join", examples="foltr-search devices join --server ADDRESS --name desk")
@click.argument("code", required=False)
@FOLDER
@SERVER
@NAME
def join(code: str | None, folder: Path | None, server: str | None, name: str) -> int:
    """Join the computers that showed CODE, and bring what this one learned.

    Without CODE you are asked for it, so that it appears neither in the shell's history nor in the list of processes.
    """
    devices = _devices()
    devices.require_alone()
    place = _place(devices, folder, server)
    if not place:
        raise click.UsageError("wanted --folder FOLDER or --server, the same as on the first computer")
    if folder is not None and not os.path.isdir(place):
        raise click.UsageError(f"there is no folder {place} yet; wait until it is synchronised")
    code = code or click.prompt("The code that `devices new` shows", err=True)
    met = devices.join(code, name, place)
    say(f"joined: {', '.join(one.called for one in devices.known())}; {met.words()}")
    return 0


@command.command("list", examples="foltr-search devices list")
def list_() -> int:
    """List your computers; exit code 1 if this one is alone."""
    from app.commands.command import print_line

    devices = _devices()
    if devices.keys is None or devices.keys.has_left:
        say("this computer shares with no other; begin with `foltr-search devices new` or `join`")
        return NOTHING_FOUND
    for one in devices.known():
        print_line(one.called + ("\tthis one" if one.name == devices.keys.device else ""))
    return FOUND


@command.command("sync", examples="foltr-search devices sync")
@FOLDER
@SERVER
def sync(folder: Path | None, server: str | None) -> int:
    """Exchange now, and print how many records were received and sent; an option changes the place for good."""
    devices = _devices()
    place = _place(devices, folder, server)
    say((devices.meet_in(place) if place else devices.meet()).words())
    return 0


@command.command("remove", examples="foltr-search devices remove old-laptop")
@click.argument("name")
def remove(name: str) -> int:
    """Remove the computer NAME: the others get a new key, and it can read nothing written from now on.

    It keeps what it has read. The code changes.
    """
    devices = _devices()
    devices.remove(name)
    say(f"removed {name}; the others get the new key at their next exchange")
    if group := devices.group():
        say(f"{name} still has your key for {group}: run `foltr-search leave`, then join again with a new invite")
        if not devices.holder():
            say(f"{name} answered {group} for all: run `foltr-search devices pen --take` on one that is left")
    return 0


@command.command("pen", examples="foltr-search devices pen desk")
@click.argument("name", required=False)
@click.option("--take", is_flag=True, help="Take the pen for this computer, because its holder is lost.")
def pen(name: str | None, take: bool) -> int:
    """Show which computer answers a group for all of them, or hand that to NAME.

    In a group your computers are one member with one privacy budget. The one that holds the pen answers, and only it
    can hand the pen over. After --take nothing is sent until all that the lost one may have spent is older than
    federation.budget_days.
    """
    devices = _devices()
    if take:
        devices.take_pen()
        say("this computer holds the pen; nothing is sent until federation.budget_days have passed since its next sync")
    elif name:
        devices.hand_pen(name)
        say(f"{name} holds the pen once it has exchanged what is new")
    else:
        held = [one.called for one in devices.known() if one.name == devices.holder()]
        click.echo(held[0] if held else "none that is known; `foltr-search devices pen --take` takes it for this one")
    return 0


@command.command("leave", examples="foltr-search devices leave")
def leave() -> int:
    """Make this computer separate again: it keeps what it learned, and the others get a new key."""
    devices = _devices()
    group = devices.group()
    trouble = devices.leave()
    say("this computer is separate again; what it learned stays here")
    if group and not devices.group():
        say(f"your other computers stay the member of {group}; this one is in no group now")
    if trouble:
        say(f"the others do not know of this yet ({trouble}): run `foltr-search devices remove NAME` on one of them")
    return 0


@command.command("answer", hidden=True)
def answer() -> int:
    """Answer the questions of another machine of yours: what `search --on` starts there by ssh."""
    from app.machines.remote_answers import FarAnswers
    from app.resident.on_behalf import search_for_command

    context = load()
    with search_for_command(context.settings, context.paths) as search:
        FarAnswers(search).run(sys.stdin.buffer, sys.stdout.buffer)
    return FOUND


def _devices() -> OwnDevices:
    from app.devices.own_devices import OwnDevices

    context = load()
    return OwnDevices(context.paths, context.settings)


def _show(code: str) -> None:
    """The code, on a terminal as a picture for a camera, too, where the extra `qr` is installed."""
    if sys.stdout.isatty():
        try:
            import segno
        except ModuleNotFoundError:
            say("install the extra `qr` to see a QR code as well")
        else:
            drawn = io.StringIO()
            segno.make_qr(code, error="l", boost_error=False).terminal(drawn, border=2, compact=True)
            click.echo(drawn.getvalue())
    click.echo(code)
