"""Garbage at every address that /openapi.json describes: a refusal, never a failure."""

from __future__ import annotations

import pytest
import requests
from hypothesis import HealthCheck, settings

from federation_server.refusals import REASONS
from foltr.federated.wire import Refusal, decode
from tests.federation_server.client import PATIENCE, Client, Running, member

pytest_plugins = ("schemathesis.pytest.plugin",)  # for this file alone: it takes a second to load
schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")


@pytest.fixture(scope="module")
def ada(live: Running) -> Client:
    return member(live.made)


@pytest.fixture(scope="module")
def described(live: Running) -> object:
    """The API as /openapi.json describes it."""
    return schemathesis.openapi.from_url(f"{live.made.public_address}/openapi.json")


api = schemathesis.pytest.from_fixture("described")


@api.parametrize()
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_no_request_makes_the_server_fail(case: object, live: Running, ada: Client) -> None:
    """Whatever the description allows or forbids, unsigned and signed by a member, has an answer or a refusal."""
    prepared = requests.Request(**_arguments(case, live.made.public_address)).prepare()
    for signed in (False, True):
        if signed:
            body = prepared.body.encode() if isinstance(prepared.body, str) else prepared.body or b""
            prepared.headers.update(ada.headers(str(prepared.method), prepared.path_url, body))
        answer = ada.session.send(prepared, timeout=PATIENCE)
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400 and answer.headers.get("content-type") == "application/json":
            assert decode(answer.content, Refusal).reason in REASONS


def _arguments(case: object, address: str) -> dict[str, object]:
    found: dict[str, object] = case.as_transport_kwargs(base_url=address)  # type: ignore[attr-defined]
    known = ("method", "url", "headers", "params", "json", "data", "cookies")
    return {key: found[key] for key in known if key in found}
