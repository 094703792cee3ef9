"""`foltr-server health`: does the running server answer? A container asks every half minute: no database is loaded."""

from __future__ import annotations

import http.client
import ssl
from pathlib import Path

import click

from federation_server.settings import ServerSettings, in_force, reached_at
from foltr.errors import FoltrError

PATIENCE = 4.0
"""seconds that the server has to say that it is ready"""


@click.command()
@click.pass_obj
def command(folder: Path) -> int:
    """Ask this folder's running server whether it is ready; exit code 1 if it is not.

    The request stays on this machine and uses TLS if the settings do; the server must show this folder's certificate.
    """
    try:
        where = ready_at(in_force(folder).settings, folder)
    except UnhealthyError as error:
        click.echo(error, err=True)
        return 1
    click.echo(f"ready: {where}")
    return 0


class UnhealthyError(FoltrError):
    """The server is not ready; the message says what was asked and what came."""


def ready_at(settings: ServerSettings, folder: Path) -> str:
    """The address that is ready; UnhealthyError otherwise."""
    host, port = reached_at(settings.server.address), settings.server.port
    scheme = "http" if settings.tls.mode == "off" else "https"
    where = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/readyz"
    connection = _connection(settings, host, port)
    try:
        connection.connect()
        if isinstance(connection, http.client.HTTPSConnection):
            shown = connection.sock.getpeercert(binary_form=True)
            if shown != _kept_certificate(folder / settings.tls.certificate):
                raise UnhealthyError(f"{where} shows another certificate than {settings.tls.certificate}: restart it")
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        if answer.status != 200:
            raise UnhealthyError(f"{where} answered {answer.status}: {answer.read(200).decode('latin-1').strip()}")
    except (OSError, http.client.HTTPException) as error:
        raise UnhealthyError(f"{where} does not answer: {error}") from error
    finally:
        connection.close()
    return where


def _kept_certificate(file: Path) -> bytes:
    try:
        return ssl.PEM_cert_to_DER_cert(file.read_text())
    except (OSError, ValueError) as error:
        raise UnhealthyError(f"{file} holds no certificate: {error}") from error


def _connection(settings: ServerSettings, host: str, port: int) -> http.client.HTTPConnection:
    if settings.tls.mode == "off":
        return http.client.HTTPConnection(host, port, timeout=PATIENCE)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it is compared with the file instead
    return http.client.HTTPSConnection(host, port, timeout=PATIENCE, context=context)
