"""Make a server: its folder with commented settings, its keys, its tables, its group and first model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import numpy as np

from console.durable import UNFINISHED, create_durably
from federation_server import tls
from federation_server.database import reading, wait_turn, writing
from federation_server.group import group
from federation_server.group.enrolment import invite
from federation_server.serve import Installation, open_database, open_installation
from federation_server.settings import (
    SCHEME,
    SETTINGS_FILE,
    Mode,
    ServerSettings,
    ServerSettingsError,
    reached_at,
    read,
)
from federation_server.vault import Vault
from foltr.errors import FoltrError
from foltr.federated.envelope import fingerprint
from foltr.federated.links import to_link
from foltr.federated.method import Model
from foltr.federated.wire import Invite, Terms
from foltr.privacy.mechanisms import NoPrivacy
from foltr.ranking.rankers import make_ranker

_OF_NOBODY = {"lost+found", ".DS_Store"}
"""what the system puts into an empty folder"""


def make(folder: Path, *, name: str, start: Start, now: int, mode: Mode | None = None) -> Installation:
    """A new server in an empty or new folder; a settings file that is already there is taken as it is.

    `mode` is written into a new settings file; ServerSettingsError where an old one, or its defaults, says another.
    """
    settings_file = folder / SETTINGS_FILE
    names = {path.name for path in (folder.iterdir() if folder.exists() else ()) if UNFINISHED not in path.name}
    others = names - _OF_NOBODY
    if others and not settings_file.exists():
        raise ServerSettingsError(
            f"{folder}: wanted an empty folder for the server or one with {SETTINGS_FILE}, got one that holds "
            f"{min(others)!r}; it is left as it is: name another one by --folder"
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        text = SCHEME.default_file()
        if mode is not None:
            text = re.sub(r'^# method\.mode = ".*"$', f'method.mode = "{mode}"', text, count=1, flags=re.MULTILINE)
        create_durably(settings_file, text.encode())
    settings = read(settings_file)
    if mode not in (None, settings.method.mode):
        raise ServerSettingsError(
            f"{settings_file} says that the group is {settings.method.mode}, --mode says {mode}: write "
            f'method.mode = "{mode}" there'
        )
    _make_keys(folder, settings)
    make_certificate(folder, settings)
    installation = open_installation(settings_file)
    with writing(installation.engine) as connection:
        wait_turn(connection)
        if group.fact(connection, "group_id") is not None:
            raise ServerSettingsError(f"there is a server in {folder} already")
        group_id = group.create(
            connection, name=name, server_key=fingerprint(installation.vault.identity.public), now=now
        )
        agreed = terms_of(settings, group_id, features=start.features, manifest_hash=start.manifest_hash)
        group.set_terms(connection, agreed)
        group.begin_lineage(connection, agreed, first_model(agreed, start), reason="init", now=now)
    return installation


def _make_keys(folder: Path, settings: ServerSettings) -> None:
    """A key file where there is none; ServerSettingsError where a group's own is gone: a new one would hide that."""
    keys = folder / settings.server.keys
    if keys.exists():
        return
    engine = open_database(settings, folder)
    with reading(engine) as connection:
        is_made = group.fact(connection, "server_key") is not None
    engine.dispose()
    if is_made and not keys.exists():  # asked in this order: whoever makes the group now has written them before
        raise ServerSettingsError(f"the database belongs to a key file that is gone; restore {keys}")
    with suppress(FileExistsError):  # of a process that was killed, or makes the same now: the first one's group stands
        Vault.generate().write(keys, put=create_durably)


def make_certificate(folder: Path, settings: ServerSettings, *, renew: bool = False) -> None:
    """A self-signed certificate where the settings want one and there is none, as when they were changed later.

    With `renew` a new one in any case, of the same key.
    """
    certificate = folder / settings.tls.certificate
    if settings.tls.mode == "self-signed" and (renew or not certificate.exists()):
        section = settings.server
        public = urlsplit(section.public).hostname or "localhost"
        names = {reached_at(section.address), public, "localhost", "127.0.0.1"}
        tls.make_self_signed(certificate, folder / settings.tls.private_key, names=tuple(sorted(names)))


def terms_of(settings: ServerSettings, group_id: str, *, features: Sequence[str], manifest_hash: str) -> Terms:
    """What members will compute by; equal weights wherever privacy is accounted.

    ServerSettingsError where a weight to be shared is of a feature that the ranker does not have.
    """
    section = settings.method
    private = not isinstance(section.mechanism, NoPrivacy)
    return Terms(
        group_id=group_id,
        method=section.name,
        settings={
            "learning_rate": section.learning_rate,
            "update": "batch",
            "weighting": "equal" if private else "interactions",
            "privacy": msgspec.to_builtins(section.mechanism),
            "shared": _indices(section.shared, features),
            "longest_step": section.longest_step or None,
            "longest_query": section.longest_query or None,
        },
        ranker=section.ranker,
        n_features=len(features),
        n_params=make_ranker(section.ranker, len(features)).n_params,
        manifest_hash=manifest_hash,
        n_local=settings.rounds.n_local,
        n_unlearn=min(settings.forgetting.n_unlearn, settings.rounds.n_local),
        floor=settings.rounds.floor,
        mode=section.mode,
        n_rounds=settings.rounds.in_period,
        period_days=settings.rounds.period_days,
    )


def _indices(shared: Sequence[str], features: Sequence[str]) -> list[int]:
    """Which weights of the linear ranker these features have, rising."""
    for name in shared:
        if name not in features:
            known = ", ".join(features)
            raise ServerSettingsError(f"method.shared: there is no feature {name!r}; there are {known}")
    return sorted({features.index(name) for name in shared})


def first_model(agreed: Terms, start: Start) -> Model:
    """The start's ranker in the group's form."""
    ranker = make_ranker(agreed.ranker, agreed.n_features)
    # The net's idle units need not be secret: every group may begin with the same.
    return Model(ranker.from_linear(np.array(start.theta), np.random.default_rng(0)))


def invitation(installation: Installation, *, note: str, seconds: int, now: int) -> str:
    """A link for one person, worth one membership within `seconds`."""
    with writing(installation.engine) as connection:
        token = invite(connection, note=note, seconds=seconds, now=now)
        group_id = group.terms(connection).group_id
    return to_link(
        Invite(
            address=installation.public_address,
            fingerprint=fingerprint(installation.vault.identity.public),
            token=token,
            group_id=group_id,
            certificate=pinned_at(installation, installation.public_address),
        )
    )


def pinned_at(installation: Installation, address: str) -> str:
    """What devices are to pin at an address: the fingerprint of the self-signed certificate, "" for any other."""
    self_signed = installation.settings.tls.mode == "self-signed" and address.startswith("https://")
    return tls.key_fingerprint(installation.certificate) if self_signed else ""


class StartError(FoltrError):
    """A start model cannot be used."""


class Start(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of start.json: the linear ranker and the features that every member of a group has."""

    v: int
    manifest_hash: str
    """of the feature manifest: the numbers mean the same on every device of this version"""
    features: tuple[str, ...]
    theta: tuple[float, ...]
    """[n_features]"""


def shipped_start() -> Start:
    """The ranker that every device of this version begins with."""
    return read_start(resources.files("federation_server").joinpath("start.json"))


def read_start(file: Traversable) -> Start:
    """From a file; StartError when it is not one."""
    try:
        start = msgspec.json.decode(file.read_bytes(), type=Start)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StartError(f"{file}: wanted a start model, got: {error}") from error
    if start.v != 1 or len(start.theta) != len(start.features) or not start.features:
        raise StartError(f"{file}: wanted version 1 with one weight for each feature")
    return start
