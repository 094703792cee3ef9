"""What an operator sets: one commented TOML file; the structs below are the source of every key, type and default.

Precedence: environment variable (FOLTR_SERVER__ADDRESS), then the file, then the default. An unknown key is an error.
"""

from __future__ import annotations

import os
import tomllib
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from foltr.errors import FoltrError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.optimizers import SGD, Optimizer
from foltr.privacy.mechanisms import Gaussian, Mechanism

Port = Annotated[int, Meta(ge=0, le=65535)]
Count = Annotated[int, Meta(ge=1)]


class ServerSettingsError(FoltrError):
    """The settings file cannot be used; the message names the key."""


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class ServerSection(Section, frozen=True):
    """Where the server listens and what it keeps its rows in."""

    address: Annotated[str, Meta(description="Address to listen on; loopback unless you change it.")] = "127.0.0.1"
    port: Annotated[Port, Meta(description="Port to listen on.")] = 8421
    public: Annotated[str, Meta(description="Address in invite links; default http(s)://address:port.")] = ""
    database: Annotated[
        str, Meta(description="sqlite:///file, relative to this file, or postgresql+psycopg://user@host/name.")
    ] = "sqlite:///foltr-server.sqlite"
    keys: Annotated[str, Meta(description="The file of the server's secrets, relative to this file.")] = "keys.json"
    trusted_proxies: Annotated[
        list[str], Meta(description="Proxies whose X-Forwarded-For is believed; nobody's by default.")
    ] = []
    shutdown_seconds: Annotated[Count, Meta(description="How long requests may still run when the server stops.")] = 10


class TlsSection(Section, frozen=True):
    """Encryption of the connection."""

    mode: Annotated[
        Literal["off", "self-signed", "files"],
        Meta(description="off (loopback, or behind a proxy), self-signed (pinned by the invite), files."),
    ] = "off"
    certificate: Annotated[str, Meta(description="PEM file, relative to this file.")] = "certificate.pem"
    private_key: Annotated[str, Meta(description="PEM file, relative to this file.")] = "certificate-key.pem"


class RoundsSection(Section, frozen=True):
    """When a round closes."""

    quorum: Annotated[Count, Meta(description="Updates that close a round at once.")] = 5
    floor: Annotated[Count, Meta(description="A round never closes with fewer updates; fixed with the group.")] = 3
    hours: Annotated[float, Meta(gt=0, le=8760, description="Until a round's deadline.")] = 24.0
    n_local: Annotated[
        Count, Meta(description="A device replays at most so many of its newest interactions; fixed with the group.")
    ] = 200


class MethodSection(Section, frozen=True):
    """How devices learn; fixed when the group is made."""

    name: Annotated[Literal["fpdgd"], Meta(description="The federated method.")] = "fpdgd"
    ranker: Annotated[Literal["linear", "neural"], Meta(description="The common ranker.")] = "linear"
    learning_rate: Annotated[float, Meta(gt=0, description="eta of the devices.")] = 0.05
    privacy: Annotated[
        Mechanism, Meta(description="What devices do to an update before it leaves them; see docs/server.md.")
    ] = Gaussian(clip=0.1, noise_multiplier=4.0)


class AggregationSection(Section, frozen=True):
    """How updates are joined."""

    rule: Annotated[Aggregation, Meta(description="How updates are joined in peace; see docs/methods.md.")] = Mean()
    optimizer: Annotated[
        Optimizer, Meta(description="What the server does with the joined update; sgd at 1 is FedAvg.")
    ] = SGD()
    largest_weight: Annotated[
        Count, Meta(description="Cap of the interactions that count for one device; unused while privacy is on.")
    ] = 50
    guard: Annotated[bool, Meta(description="Switch to a robust rule while updates look like an attack.")] = True
    assumed_malicious: Annotated[
        int, Meta(ge=0, description="How many members the robust rule withstands; 0 takes a fifth of the updates.")
    ] = 0


class ForgettingSection(Section, frozen=True):
    """What happens to a member's influence when it asks to be forgotten."""

    method: Annotated[
        Literal["rollback", "federaser", "reaggregate"], Meta(description="See docs/server.md, Forget-me.")
    ] = "rollback"
    every: Annotated[Count, Meta(description="FedEraser: every so many rounds the server keeps the updates.")] = 10
    n_unlearn: Annotated[
        Count, Meta(description="FedEraser: interactions a device replays in a forgetting round; fixed with the group.")
    ] = 50


class RetentionSection(Section, frozen=True):
    """How long rows stay."""

    update_days: Annotated[int, Meta(ge=0, description="Updates of closed rounds; 0 keeps none but FedEraser's.")] = 30
    invite_days: Annotated[int, Meta(ge=0, description="Used and expired invites.")] = 30
    member_days: Annotated[int, Meta(ge=0, description="A membership ends after so many days; 0 means never.")] = 0
    receipt_days: Annotated[Count, Meta(description="Receipts of forget-me requests.")] = 365


class LimitsSection(Section, frozen=True):
    """Against floods."""

    device_per_minute: Annotated[Count, Meta(description="Requests of one device.")] = 60
    address_per_minute: Annotated[Count, Meta(description="Requests of one IPv4 address or IPv6 /64.")] = 600
    joins_per_hour: Annotated[Count, Meta(description="Attempts to join from one address.")] = 20
    body_bytes: Annotated[int, Meta(ge=0, description="Largest body; 0 takes what an update needs.")] = 0


class OperationsSection(Section, frozen=True):
    """What an operator watches."""

    metrics_address: Annotated[str, Meta(description="Where Prometheus metrics are served.")] = "127.0.0.1"
    metrics_port: Annotated[Port, Meta(description="Port of the metrics; 0 serves none.")] = 9421
    log: Annotated[Literal["text", "json"], Meta(description="Form of the log on stderr.")] = "text"
    dashboard: Annotated[bool, Meta(description="Serve the dashboard; needs `foltr-server keys dashboard`.")] = True


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


def read(path: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings in force; ServerSettingsError names the key that does not fit."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ServerSettingsError(f"{path}: wanted a TOML file, got: {error}") from error
    for section, key, value in _from_environment(environment):
        content.setdefault(section, {})[key] = value
    try:
        settings = msgspec.convert(content, Settings, strict=True)
    except msgspec.ValidationError as error:
        raise ServerSettingsError(f"{path}: {error}") from error
    if settings.rounds.floor > settings.rounds.quorum:
        raise ServerSettingsError(f"{path}: rounds.floor {settings.rounds.floor} is above rounds.quorum")
    return settings


def _from_environment(environment: Mapping[str, str]) -> list[tuple[str, str, Any]]:
    """(section, key, value) of each FOLTR_SERVER__KEY and FOLTR_SERVER_SECTION__KEY; values are TOML, or plain text."""
    found = []
    for section in Settings.__struct_fields__:
        prefix = "FOLTR_SERVER__" if section == "server" else f"FOLTR_SERVER_{section.upper()}__"
        for name, text in environment.items():
            if name.startswith(prefix):
                found.append((section, name.removeprefix(prefix).lower(), _toml_or_text(text)))
    return found


def _toml_or_text(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def default_file() -> str:
    """The commented file that `foltr-server init` writes: every key, its meaning and its default."""
    import tomli_w

    parts = [
        "# The settings of foltr-server. Lines that begin with `#` are defaults: take the `#` away to change one.\n"
    ]
    for section, struct in typing.get_type_hints(Settings).items():
        parts.append(f"\n# {(struct.__doc__ or '').strip()}\n[{section}]\n")
        hints = typing.get_type_hints(struct, include_extras=True)
        defaults = struct()
        for field in struct.__struct_fields__:
            value = msgspec.to_builtins(getattr(defaults, field))
            table = isinstance(value, dict)
            line = f"{field} = {_inline(value)}" if table else tomli_w.dumps({field: value}).strip()
            parts.append(f"# {_description(hints[field])}\n# {line}\n")
    return "".join(parts)


def _inline(table: Mapping[str, Any]) -> str:
    import tomli_w

    return "{ " + ", ".join(tomli_w.dumps({key: value}).strip() for key, value in table.items()) + " }"


def _description(hint: Any) -> str:
    metas = [meta for meta in getattr(hint, "__metadata__", ()) if isinstance(meta, Meta) and meta.description]
    return str(metas[-1].description) if metas else ""
