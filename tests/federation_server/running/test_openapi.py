"""Garbage at every address that /openapi.json describes: a refusal, never a failure."""

from __future__ import annotations

import pytest
import requests
from hypothesis import HealthCheck, given, settings

from federation_server.refusals import REASONS
from foltr.federated.wire import Refusal, decode
from tests.federation_server.client import PATIENCE, Client, Running


def test_no_request_makes_the_server_fail(live: Running, ada: Client) -> None:
    """Whatever the description allows or forbids, unsigned and signed by a member, has an answer or a refusal."""
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    address = live.made.public_address
    described = schemathesis.openapi.from_url(f"{address}/openapi.json")
    operations = [found.ok() for found in described.get_all_operations()]
    assert len(operations) > 10
    for operation in operations:
        allowed, forbidden = (operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode)

        @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
        @given(case=allowed | forbidden)
        def garbage(case: object) -> None:
            _has_an_answer(requests.Request(**_arguments(case, address)).prepare(), ada)

        garbage()


def _has_an_answer(prepared: requests.PreparedRequest, ada: Client) -> None:
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
