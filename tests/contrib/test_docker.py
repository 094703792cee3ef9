"""The image's and the compose files' settings, run on the plain program: they start, answer and let a device join."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.postgresql import temporary_postgresql
from federation_server.settings import ServerSettings
from foltr.federated.wire import Invite
from tests.contrib.program import Program, program
from tests.federation_server.client import Client, opened

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "contrib" / "docker"


def instructions() -> list[tuple[str, str]]:
    """Those of the image that is kept: after the last FROM, continued lines joined."""
    text = (DOCKER / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.partition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    words = [(word, rest) for word, _, rest in lines]
    last = max(place for place, (word, _) in enumerate(words) if word == "FROM")
    return words[last:]


def said(word: str) -> str:
    return next(rest for found, rest in instructions() if found == word)


def image_environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in shlex.split(said("ENV")))


def entry_point() -> list[str]:
    return [*json.loads(said("ENTRYPOINT")), *json.loads(said("CMD"))]


def health() -> list[str]:
    found: list[str] = json.loads(said("HEALTHCHECK").partition("CMD ")[2])
    return found


class _Loader(yaml.SafeLoader):
    """YAML with compose's own `!reset`."""


_Loader.add_constructor("!reset", lambda loader, node: [])


def services(*names: str) -> dict[str, Any]:
    """The files laid over one another, as far as this project's need it: maps are merged, all else is replaced."""
    merged: dict[str, Any] = {}
    for name in names:
        for service, said in yaml.load((DOCKER / name).read_text(), _Loader)["services"].items():
            before = merged.setdefault(service, {})
            environment = {**before.get("environment", {}), **said.get("environment", {})}
            before.update(said, environment=environment)
    return merged


def filled(text: str, values: dict[str, str]) -> str:
    """A value of a compose file with its variables: ${NAME:-default}, or ${NAME:?what is missing}."""

    def value(match: re.Match[str]) -> str:
        name, kind, rest = match.groups()
        assert kind == "-" or name in values, rest
        return values.get(name, rest)

    return re.sub(r"\$\{(\w+):([-?])([^}]*)\}", value, text)


def composed(*names: str, **values: str) -> dict[str, str]:
    """The server's environment under these compose files."""
    own = services(*names)["server"]["environment"]
    return image_environment() | {name: filled(str(text), values) for name, text in own.items()}


def joins(made: Program, invite: Invite, address: str) -> None:
    """A device becomes a member by the invite, at the address where the test reaches the server."""
    client = Client(address)
    client.session.trust_env = False
    client.session.verify = str(made.folder / "certificate.pem") if address.startswith("https") else False
    assert opened(client.join(invite)).kind == "enrolled"


def test_the_image_starts_with_its_own_settings(tmp_path: Path) -> None:
    """Its entry point makes a group, encrypts, becomes healthy, and invites to an address that can be reached."""
    made = program(tmp_path / "data", image_environment())
    assert made.run(health()).returncode == 1
    with made.serving(entry_point(), health()):
        invite = made.first_invite()
        assert invite.address == f"https://127.0.0.1:{made.environment['FOLTR_SERVER__PORT']}"
        joins(made, invite, invite.address)
        examined = made.run(["foltr-server", "doctor"]).stdout.splitlines()
        (failed,) = (line for line in examined if not line.startswith("ok "))
        assert failed.startswith(
            "wait members: 1 active, 1 vouched for; a sealed round needs at least 5: members invite"
        )
        further = made.run(["foltr-server", "invite", "--note", "Ada"])
        assert "on this machine only: set server.public" in further.stderr
    assert made.run(health()).returncode == 1
    assert "0.0.0.0" not in made.said() + further.stdout


def test_compose_encrypts_by_itself_under_a_public_name(tmp_path: Path) -> None:
    """The invite carries the name that the operator chose, and the fingerprint of the certificate that is shown."""
    made = program(tmp_path / "data", composed("compose.yaml", FOLTR_PUBLIC="https://ranker.example.org:8421"))
    with made.serving(entry_point(), health()):
        invite = made.first_invite()
        assert invite.address == "https://ranker.example.org:8421"
        assert invite.certificate
        joins(made, invite, f"https://127.0.0.1:{made.environment['FOLTR_SERVER__PORT']}")


def test_compose_behind_a_proxy(tmp_path: Path) -> None:
    """Without encryption of its own the server starts, for it names the proxy; its port is not published."""
    files = ("compose.yaml", "compose.proxy.yaml")
    found = services(*files)
    environment = composed(*files, FOLTR_HOST="ranker.example.org")
    assert found["server"]["ports"] == []
    assert environment["FOLTR_SERVER__TRUSTED_PROXIES"] == found["proxy"]["networks"]["inside"]["ipv4_address"]
    assert found["proxy"]["command"][-1] == f"server:{ServerSettings().server.port}"
    made = program(tmp_path / "data", environment)
    with made.serving(entry_point(), health()):
        invite = made.first_invite()
        assert (invite.address, invite.certificate) == ("https://ranker.example.org", "")
        joins(made, invite, f"http://127.0.0.1:{made.environment['FOLTR_SERVER__PORT']}")


@pytest.fixture
def database() -> Iterator[str]:
    try:
        with temporary_postgresql(durable=False) as address:
            yield address
    except LookupError as error:
        pytest.skip(str(error))


def test_compose_over_postgresql(tmp_path: Path, database: str) -> None:
    """The server's rows are in the database that the file names; only host and name are this test's."""
    files = ("compose.yaml", "compose.postgresql.yaml")
    environment = composed(*files, FOLTR_DATABASE_PASSWORD="secret")
    found = services(*files)
    own = found["database"]["environment"]
    wanted = f"postgresql+psycopg://{own['POSTGRES_USER']}@database/{own['POSTGRES_DB']}"
    assert environment["FOLTR_SERVER__DATABASE"] == wanted
    assert environment["PGPASSWORD"] == filled(own["POSTGRES_PASSWORD"], {"FOLTR_DATABASE_PASSWORD": "secret"})
    made = program(tmp_path / "data", environment | {"FOLTR_SERVER__DATABASE": database})
    with made.serving(entry_point(), health()):
        joins(made, made.first_invite(), f"https://127.0.0.1:{made.environment['FOLTR_SERVER__PORT']}")
        assert "ok   tables: postgresql" in made.run(["foltr-server", "doctor"]).stdout
    assert not list(made.folder.glob("*.sqlite"))


@pytest.mark.parametrize("more", [(), ("compose.postgresql.yaml",), ("compose.proxy.yaml",)])
def test_the_container_may_do_nothing_but_serve(more: tuple[str, ...]) -> None:
    """Nothing is written outside the volume, which is the folder of the settings; no privileges, no root."""
    server = services("compose.yaml", *more)["server"]
    assert (server["read_only"], server["cap_drop"]) == (True, ["ALL"])
    assert server["security_opt"] == ["no-new-privileges:true"]
    assert server["volumes"] == [f"foltr:{image_environment()['FOLTR_SERVER_FOLDER']}"]
    assert said("VOLUME") == image_environment()["FOLTR_SERVER_FOLDER"]
    assert int(said("USER")) > 0
    assert int(said("EXPOSE")) == ServerSettings().server.port


def test_the_build_takes_what_the_package_is_made_of() -> None:
    """The list of what is copied names every package, the files beside them, and nothing that is not there."""
    kept = {line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    beside = {str(Path(path).parent) for path in wheel["shared-data"]}
    assert kept == {
        *wheel["only-include"],
        *wheel["force-include"],
        *beside,
        "pyproject.toml",
        project["project"]["readme"],
        "LICENSE",
    }
    assert all((ROOT / path).exists() for path in kept)
