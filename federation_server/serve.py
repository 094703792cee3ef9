"""Run the server: from a settings file to a process that answers until it is told to stop."""

from __future__ import annotations

import logging
import ssl
import time
from pathlib import Path

import uvicorn
from msgspec import Struct
from prometheus_client import start_http_server
from sqlalchemy import Connection, Engine
from sqlalchemy.engine import make_url

from federation_server.database import connect, is_sqlite, reading, upgrade, writing
from federation_server.forgetting import forgetting, tombstones
from federation_server.group import group
from federation_server.rounds.rounds import policy_of
from federation_server.running.dashboard_login import Dashboard
from federation_server.running.limits import Crowd, PatientProtocol, largest_crowd, listen
from federation_server.running.monitoring import Counters, begin_logging
from federation_server.running.service import Service
from federation_server.running.web_server import Server
from federation_server.settings import LOOPBACK, ServerSettings, ServerSettingsError, reached_at, read
from federation_server.tls import TlsError
from federation_server.vault import Vault
from foltr.federated.envelope import fingerprint
from foltr.federated.sealed.points import check_library

log = logging.getLogger("foltr-server")


class Installation(Struct, frozen=True, eq=False):
    """A server's folder: its settings, its secrets and its database, open."""

    folder: Path
    settings: ServerSettings
    vault: Vault
    engine: Engine

    @property
    def certificate(self) -> Path:
        return self.folder / self.settings.tls.certificate

    @property
    def private_key(self) -> Path:
        return self.folder / self.settings.tls.private_key

    @property
    def forgetter(self) -> forgetting.Forgetter:
        """What forgetting a member takes."""
        file = tombstones.TombstoneFile((self.folder / self.settings.server.keys).with_name(tombstones.FILE))
        return forgetting.Forgetter(self.vault, policy_of(self.settings), self.settings.forgetting, file)

    @property
    def public_address(self) -> str:
        """Where devices find the server: `server.public`, or else the address at which this machine reaches it."""
        section = self.settings.server
        if section.public:
            return section.public.rstrip("/")
        host = reached_at(section.address)
        host = f"[{host}]" if ":" in host else host
        return f"{'http' if self.settings.tls.mode == 'off' else 'https'}://{host}:{section.port}"


def check_exposure(settings: ServerSettings) -> None:
    """ServerSettingsError for a server that others could reach and nothing would encrypt."""
    section = settings.server
    if section.address not in LOOPBACK and settings.tls.mode == "off" and not section.trusted_proxies:
        raise ServerSettingsError(
            f"server.address {section.address} is not loopback: set tls.mode, or server.trusted_proxies when a "
            "proxy in front encrypts"
        )


def database_url(settings: ServerSettings, folder: Path) -> str:
    """The database's address, a relative SQLite file taken from the settings' folder."""
    url = make_url(settings.server.database)
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).is_absolute():
        url = url.set(database=str(folder / url.database))
    return url.render_as_string(hide_password=False)


def open_installation(settings_file: Path) -> Installation:
    """Read the settings and secrets, connect, bring the tables up to date; a FoltrError says what is wrong.

    Refuses a database that belongs to another identity than the key file's: its updates could not be opened; and a
    libsodium that would let false proofs pass.
    """
    check_library()
    settings, folder = read(settings_file), settings_file.resolve().parent
    vault = Vault.read(folder / settings.server.keys)
    engine = open_database(settings, folder)
    installation = Installation(folder, settings, vault, engine)
    with reading(engine) as connection:
        is_made = check_owner(connection, vault)
    if is_made:
        forget_again(installation)
    return installation


def open_database(settings: ServerSettings, folder: Path) -> Engine:
    """The folder's database with today's tables, which an SQLite file's owner alone can read."""
    engine = connect(database_url(settings, folder))
    upgrade(engine)
    if is_sqlite(engine) and engine.url.database and (file := Path(engine.url.database)).stat().st_mode & 0o077:
        file.chmod(0o600)
    return engine


def check_owner(connection: Connection, vault: Vault) -> bool:
    """Whether there is a group; ServerSettingsError where it is another identity's than the key file's."""
    if (owner := group.fact(connection, "server_key")) not in (None, fingerprint(vault.identity.public)):
        raise ServerSettingsError("the database belongs to another key file; restore the one that was made with it")
    return owner is not None


def forget_again(installation: Installation) -> None:
    """Erase whom a tombstone names and the database still has, as after a crash; keep both lists alike."""
    forgetter, engine = installation.forgetter, installation.engine
    with reading(engine) as connection:
        is_owed = tombstones.missing(connection, forgetter.file.read())
        tombstones.carry_over(connection, forgetter.file)
    if is_owed:
        with writing(engine) as connection:
            group.lock(connection)
            forgetting.forget_again(connection, forgetter, now=int(time.time()))


SERVED_AT = "served at"
"""the fact that names the address which the server was last started for"""


def note_address(installation: Installation) -> None:
    """The server starts: links are to name this address."""
    with writing(installation.engine) as connection:
        group.set_fact(connection, SERVED_AT, installation.public_address)
    log.info("serving on %s", installation.public_address)


def serve(installation: Installation) -> None:
    """Answer requests until SIGINT or SIGTERM; running requests get the configured time to finish."""
    settings = installation.settings
    check_exposure(settings)
    begin_logging(settings.operations.log)
    counters = Counters()
    server = Server(service_of(installation, counters), counters)
    server.service.tick()  # what the database refuses is one line here, and a traceback in uvicorn's log
    listening = listen(settings.server.address, settings.server.port, crowd_of(server))
    if port := settings.operations.metrics_port:
        try:
            start_http_server(port, settings.operations.metrics_address, registry=counters.registry)
        except OSError as error:
            where = f"{settings.operations.metrics_address} port {port}: {error.strerror}"
            raise ServerSettingsError(f"operations.metrics_port: cannot listen on {where}") from error
        log.info("metrics on http://%s:%d/metrics", settings.operations.metrics_address, port)
    note_address(installation)
    running = uvicorn.Server(_configuration(installation, server))
    running.run(sockets=[listening])
    if not running.started:
        raise ServerSettingsError("the server did not start; the log above says why")


def crowd_of(server: Server) -> Crowd:
    """The connections of one process, at most as many as its descriptors allow."""
    server.crowd.largest = largest_crowd()
    return server.crowd


def service_of(installation: Installation, counters: Counters) -> Service:
    """The service of an installation, its closed rounds counted and logged."""
    return Service(installation.engine, installation.forgetter, installation.settings, on_closed=counters.closed)


def _configuration(installation: Installation, server: Server) -> uvicorn.Config:
    settings = installation.settings
    extra = Dashboard(server).routes() if settings.operations.dashboard else ()
    application = server.application(*extra)
    config = uvicorn.Config(
        application,
        host=settings.server.address,
        port=settings.server.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=settings.server.shutdown_seconds,
        loop="asyncio",  # asks the listener for each connection
        http=PatientProtocol,  # over h11, which bounds the headers; the faster parser, where it is installed, does not
        ws="none",
        h11_max_incomplete_event_size=64 * 1024,
    )
    if settings.tls.mode != "off":
        config.ssl_certfile, config.ssl_keyfile = str(installation.certificate), str(installation.private_key)
        config.ssl_version = ssl.PROTOCOL_TLS_SERVER
        for path in (installation.certificate, installation.private_key):
            if not path.exists():
                raise TlsError(f"{path} is missing (tls.mode is {settings.tls.mode})")
    return config
