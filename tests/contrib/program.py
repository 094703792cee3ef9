"""The installed program under a given environment, as a container or a unit would run it."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from foltr.federated.links import PREFIX, from_link
from foltr.federated.wire import Invite
from tests.federation_server.client import PATIENCE
from tests.ports import free_port
from tests.waiting import until

PROGRAMS = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Program:
    """One installation: a folder, and what the environment says."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """A command as the container would run it beside the server."""
        return subprocess.run(
            _located(command),
            env=dict(self.environment), capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip

    @contextmanager
    def serving(self, command: Sequence[str], health: Sequence[str]) -> Iterator[None]:
        """Until the block ends; yields once the health check succeeds."""
        with open(self.folder.parent / "said", "ab") as said:
            process = subprocess.Popen(
                [str(PROGRAMS / Path(command[0]).name), *command[1:]],
                env=dict(self.environment),
                stdout=said,
                stderr=said,
            )
        try:
            self._wait(process, health)
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)

    def said(self) -> str:
        """All that the server wrote."""
        return (self.folder.parent / "said").read_text()

    def first_invite(self) -> Invite:
        """The one that the first start prints."""
        return from_link(next(word for word in self.said().split() if word.startswith(PREFIX)))

    def _wait(self, process: subprocess.Popen[bytes], health: Sequence[str]) -> None:
        until(lambda: self._listens() or process.poll() is not None, self.said)
        until(lambda: self.run(health).returncode == 0 or process.poll() is not None, self.said)
        assert process.poll() is None, self.said()

    def _listens(self) -> bool:
        """A look that costs next to nothing: the health check is a whole program."""
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", int(self.environment["FOLTR_SERVER__PORT"]))) == 0


def _located(command: Sequence[str]) -> list[str]:
    return [str(PROGRAMS / Path(command[0]).name), *command[1:]]


def program(folder: Path, environment: Mapping[str, str]) -> Program:
    """With ports and a folder of this test; all else is as the environment says."""
    own = {
        "PATH": str(PROGRAMS),
        "FOLTR_SERVER_FOLDER": str(folder),
        "FOLTR_SERVER__PORT": str(free_port()),
        "FOLTR_SERVER_OPERATIONS__METRICS_PORT": "0",
    }
    return Program(folder, {**environment, **own})
