"""What an operator sets: one commented TOML file; the structs below are the source of every key, type and default.

Precedence: environment variable (FOLTR_SERVER__ADDRESS), then the file, then the default. An unknown key is an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta, field

from console.configuration import Effective, Scheme, Section
from console.durable import content_of
from foltr.errors import FoltrError, ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.optimizers import SGD, Optimizer
from foltr.federated.sealed.committee import LEAST_GROUPED, PART
from foltr.federated.wire import DEPOT_FILES
from foltr.privacy.mechanisms import Gaussian, Mechanism

Port = Annotated[int, Meta(ge=0, le=65535)]
Count = Annotated[int, Meta(ge=1)]
Days = Annotated[int, Meta(ge=0, le=36_500)]


Mode = Literal["sealed", "open", "grouped"]
SETTINGS_FILE = "server.toml"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
DEVICES_GO = re.compile(
    r"(https://([0-9a-z._-]+|\[[0-9a-f:.]+\])|http://(127\.0\.0\.1|\[::1\]|localhost))"
    r"(:([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?(/[0-9a-z._~/-]*)?",
    re.IGNORECASE | re.ASCII,
)
"""addresses that devices take: https, or http on their own machine (app.federation.transport)"""


class ServerSettingsError(FoltrError):
    """The settings file cannot be used; the message names the key."""


class ServerSection(Section, frozen=True):
    """Where the server listens and stores its data."""

    address: Annotated[str, "Address to listen on; by default only this machine reaches it."] = "127.0.0.1"
    port: Annotated[Port, "Port to listen on."] = 8421
    public: Annotated[str, "Address in invite links; empty: http(s)://address:port."] = ""
    database: Annotated[str, "sqlite:///file, relative to this file, or postgresql+psycopg://user@host/name."] = (
        "sqlite:///foltr-server.sqlite"
    )
    keys: Annotated[str, "The file of the server's secrets, relative to this file."] = "keys.json"
    trusted_proxies: Annotated[list[str], "Proxies whose X-Forwarded-For is believed; none by default."] = field(
        default_factory=list
    )
    shutdown_seconds: Annotated[Count, "Seconds that requests may still take when the server stops."] = 10


class TlsSection(Section, frozen=True):
    """Encryption of the connection."""

    mode: Annotated[
        Literal["off", "self-signed", "files"],
        "off: on loopback or behind a proxy; self-signed: invites pin it; files: your own.",
    ] = "off"
    certificate: Annotated[str, "PEM file of the certificate, relative to this file."] = "certificate.pem"
    private_key: Annotated[str, "PEM file of its key, relative to this file."] = "certificate-key.pem"


class RoundsSection(Section, frozen=True):
    """When a round closes. What is fixed with the group cannot change later."""

    quorum: Annotated[int, Meta(ge=0), "Updates that close a round at once; 0: those of all active members."] = 0
    floor: Annotated[Count, "Fewest updates with which a round closes; fixed with the group."] = 3
    hours: Annotated[float, Meta(gt=0, le=8760), "Hours until a round's deadline."] = 168.0
    sum_hours: Annotated[
        float, Meta(gt=0, le=8760), "Sealed: hours to wait for the whole committee; then its threshold suffices."
    ] = 24.0
    n_local: Annotated[Count, "Most interactions a device learns from in a round; fixed with the group."] = 40
    in_period: Annotated[
        int, Meta(ge=0), "Rounds in a period, then the group rests; 0: no limit; fixed with the group."
    ] = 4
    period_days: Annotated[
        int, Meta(ge=1, le=36_500), "Length of a period in days, for rounds and privacy; fixed with the group."
    ] = 365


SHARED = (
    "recent_week", "recent_year", "newer", "size", "depth", "is_text", "is_source", "is_html", "is_document", "is_mail",
)  # fmt: skip
"""what kind of file a group's members want, and nothing about its words: python -m benchmarks group"""
OPEN_PRIVACY = Gaussian(clip=0.8, noise_multiplier=1.0)
"""each device adds all of the noise: epsilon 10 for four rounds (delta 1e-5)"""
SUM_PRIVACY = Gaussian(clip=0.8, noise_multiplier=2.17, distributed=True)
"""the noise is in the sum, which alone is learned: epsilon 4 for four rounds (delta 1e-5)"""


class MethodSection(Section, frozen=True):
    """How devices learn; fixed when the group is made."""

    mode: Annotated[Mode, "open: the server reads each update; sealed: only their sum; grouped: several sums."] = (
        "sealed"
    )
    name: Annotated[Literal["fpdgd"], "The federated method."] = "fpdgd"
    ranker: Annotated[Literal["linear", "neural"], "The common ranker."] = "linear"
    shared: Annotated[list[str], "Features whose weights the group learns; the others stay as shipped. []: all."] = (
        field(default_factory=lambda: list(SHARED))
    )
    learning_rate: Annotated[float, Meta(gt=0), "Learning rate of the devices (eta)."] = 0.5
    longest_step: Annotated[float, Meta(ge=0), "How far one page may move an update, in points; 0: no limit."] = 0.15
    longest_query: Annotated[
        float, Meta(ge=0), "How far all pages of one query may move an update together; 0: no limit."
    ] = 0.15
    privacy: Annotated[
        Mechanism | Literal["by-mode"], "What devices do to an update before it leaves them; see docs/server.md."
    ] = "by-mode"

    @property
    def mechanism(self) -> Mechanism:
        """The privacy mechanism, where nothing was chosen that of the mode."""
        if isinstance(self.privacy, str):
            return OPEN_PRIVACY if self.mode == "open" else SUM_PRIVACY
        return self.privacy


class AggregationSection(Section, frozen=True):
    """How updates are joined."""

    rule: Annotated[Aggregation, "How updates are joined unless under attack; see docs/methods.md."] = Mean()
    optimizer: Annotated[Optimizer, "What the server does with the joined update; sgd at 1 is FedAvg."] = SGD()
    largest_weight: Annotated[
        Count, "Most interactions that count for one device; unused if there is a privacy mechanism."
    ] = 50
    guard: Annotated[
        bool | Literal["by-mode"], "Switch to a robust rule while updates look like an attack; by-mode: in open groups."
    ] = "by-mode"
    assumed_malicious: Annotated[
        int, Meta(ge=0), "How many members the robust rule withstands; 0: a fifth of the updates."
    ] = 0


class ForgettingSection(Section, frozen=True):
    """What happens to a member's influence when it asks to be forgotten."""

    method: Annotated[
        Literal["by-mode", "reaggregate", "noise", "rollback", "federaser"],
        "See docs/server.md, Forget-me; by-mode: reaggregate in open groups, else noise.",
    ] = "by-mode"
    every: Annotated[Count, "FedEraser: keep the updates of every so many rounds."] = 10
    n_unlearn: Annotated[
        Count, "FedEraser: interactions a device replays in a forgetting round; fixed with the group."
    ] = 50


class RetentionSection(Section, frozen=True):
    """How many days data is kept."""

    update_days: Annotated[Days, "Updates of closed rounds; 0: none but FedEraser's."] = 30
    invite_days: Annotated[Days, "Used and expired invites."] = 30
    member_days: Annotated[Days, "A membership, which then ends; 0: without end."] = 0
    receipt_days: Annotated[int, Meta(ge=1, le=36_500), "Receipts of forget-me requests."] = 365


class LimitsSection(Section, frozen=True):
    """Limits against floods of requests."""

    device_per_minute: Annotated[Count, "Requests of one device in a minute."] = 60
    address_per_minute: Annotated[Count, "Requests of one IPv4 address or IPv6 /64 in a minute."] = 600
    address_connections: Annotated[Count, "Open connections of one such address."] = 64
    joins_per_hour: Annotated[Count, "Attempts to join from one address in an hour."] = 20
    body_bytes: Annotated[int, Meta(ge=0), "Largest body of a request; 0: as large as an update needs."] = 0
    depot_files: Annotated[
        int, Meta(ge=0, le=DEPOT_FILES), "Files that one member's computers may store here for each other; 0: none."
    ] = 500
    depot_bytes: Annotated[int, Meta(ge=0), "Bytes of these files together."] = 33_554_432


class OperationsSection(Section, frozen=True):
    """What an operator watches."""

    metrics_address: Annotated[str, "Address at which Prometheus metrics are served."] = "127.0.0.1"
    metrics_port: Annotated[Port, "Port of the metrics; 0: no metrics."] = 9421
    log: Annotated[Literal["text", "json"], "Form of the log on stderr."] = "text"
    dashboard: Annotated[bool, "Serve the dashboard; needs `foltr-server keys dashboard`."] = True


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    server: ServerSection = ServerSection()
    tls: TlsSection = TlsSection()
    rounds: RoundsSection = RoundsSection()
    method: MethodSection = MethodSection()
    aggregation: AggregationSection = AggregationSection()
    forgetting: ForgettingSection = ForgettingSection()
    retention: RetentionSection = RetentionSection()
    limits: LimitsSection = LimitsSection()
    operations: OperationsSection = OperationsSection()


def contradictions(settings: ServerSettings) -> Iterator[str]:
    """What cannot hold together, each in one line."""
    floor, quorum, public = settings.rounds.floor, settings.rounds.quorum, settings.server.public
    if public and not DEVICES_GO.fullmatch(public):
        yield (
            f"server.public: wanted an address such as https://host:8421, got {public!r}; devices take http on a "
            "loopback address only"
        )
    if 0 < quorum < floor:
        yield f"rounds.floor {floor} is above rounds.quorum {quorum}: a round could never close"
    if settings.method.ranker == "neural" and settings.method.shared:
        yield 'method.shared names weights of the linear ranker; with method.ranker = "neural" it must be []'
    if settings.method.mode != "open":
        yield from _sealed_contradictions(settings)
    n_joined, named = (floor, f"rounds.floor = {floor}") if settings.method.mode != "grouped" else (PARTS, "five sums")
    try:
        settings.aggregation.rule.combine(np.zeros((n_joined, 2)))
    except ValueRangeError as error:
        yield f"aggregation.rule with {named}: {error}"


PARTS = LEAST_GROUPED // PART
"""sums of the smallest grouped group"""


def _sealed_contradictions(settings: ServerSettings) -> Iterator[str]:
    """What a group cannot have whose server learns sums alone: refused, never silently weaker."""
    mode, joining = settings.method.mode, settings.aggregation
    if not isinstance(settings.method.mechanism, Gaussian):
        yield f"method.privacy: a {mode} group adds Gaussian noise to its sum; no other noise can be accounted for"
    if joining.guard is True:
        yield f"aggregation.guard = true judges single updates, which the server of a {mode} group never sees"
    if mode == "sealed" and not isinstance(joining.rule, Mean):
        yield 'aggregation.rule joins single updates; a sealed group has one sum, and method.mode = "grouped" several'
    if settings.forgetting.method in ("reaggregate", "federaser"):
        yield (
            f"forgetting.method = {settings.forgetting.method!r} takes single updates out, which the server of a "
            f'{mode} group never has; there are "noise" and "rollback"'
        )
    if settings.rounds.quorum:
        yield f"rounds.quorum: wanted 0 in a {mode} group, whose rounds close when their cohort has answered"


SCHEME = Scheme(
    struct=ServerSettings,
    prefix="FOLTR_SERVER",
    home="server",
    error=ServerSettingsError,
    contradictions=contradictions,
    header="# The settings of foltr-server. Lines that begin with `#` are defaults: take the `#` away to change one.\n",
    dotted=True,
)


def read(path: Path, environment: Mapping[str, str] = os.environ) -> ServerSettings:
    """The settings in force; ServerSettingsError names the key that does not fit, its file and line."""
    return resolve(path, _text(path), environment).settings


def resolve(path: Path, text: str, environment: Mapping[str, str]) -> Effective[ServerSettings]:
    """The settings of a file that holds `text`, each with its source; ServerSettingsError for the first problem."""
    return SCHEME.resolve(str(path), text, environment, flags={}, hint="foltr-server config check")


def in_force(folder: Path) -> Effective[ServerSettings]:
    """Of the server's folder, or the defaults where it has no settings file yet."""
    file = folder / SETTINGS_FILE
    return resolve(file, text_if_any(file), os.environ)


def text_if_any(path: Path) -> str:
    """What the settings file holds, "" where there is none yet."""
    return _text(path) if path.exists() else ""


def _text(path: Path) -> str:
    try:
        return content_of(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ServerSettingsError(f"{path}: wanted a TOML file, got: {error}") from error


def reached_at(address: str) -> str:
    """The host at which this machine reaches a server that listens on `address`: loopback for all addresses at once."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(address, address)
