"""The addresses of the server and their description: HTTP in, a call of federation_server.running.service, JSON out."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from typing import Any

import msgspec
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from federation_server.database import error_text, has_room, is_current, is_full
from federation_server.group.depots import LARGEST_CHANGE
from federation_server.group.signed_requests import Request, credentials
from federation_server.refusals import Refused
from federation_server.running.limits import Buckets, Crowd, address_group, client_address
from federation_server.running.monitoring import Counters
from federation_server.running.service import Service
from foltr.errors import FoltrError
from foltr.federated import wire
from foltr.federated.envelope import ANSWER, ANSWER_HEADER, answer_text

log = logging.getLogger("foltr-server")
Answer = Callable[[HttpRequest], Awaitable[Response]]
TICK_SECONDS = 1.0
BODY_SECONDS = 30.0
"""for a whole body to arrive"""
MOST_ARRIVING = 4 * LARGEST_CHANGE
"""bytes of bodies at once from one address: whose they are is only known once they are there"""
LARGEST_RETURN = 2_000_000
"""bytes of what is handed back to a restored server: of more than a thousand entries of a roster"""
CLEAN_EVERY = 60
"""ticks between looking for rows to drop"""
JSON = "application/json"


class Server:
    """One process: the service, its limits and its counters."""

    def __init__(self, service: Service, counters: Counters | None = None) -> None:
        limits = service.settings.limits
        self.service = service
        self.counters = counters or Counters()
        self.devices = Buckets(limits.device_per_minute, 60.0, time.monotonic)
        self.addresses = Buckets(limits.address_per_minute, 60.0, time.monotonic)
        self.joins = Buckets(limits.joins_per_hour, 3600.0, time.monotonic)
        self.proxies = frozenset(service.settings.server.trusted_proxies)
        self.crowd = Crowd(limits.address_connections, self.proxies, self.counters.turned_away.inc)
        self.largest_body = service.largest_body()
        self.arriving = Counter[str]()
        """bytes of bodies that are being read, by address"""

    def application(self, *extra: Route) -> Starlette:
        """The ASGI application; `extra` routes come from the dashboard."""
        service = self.service
        routes = [
            self.route("/healthz", "GET", self.healthz),
            self.route("/readyz", "GET", self.readyz),
            self.route("/openapi.json", "GET", self.openapi),
            self.route("/v1/members", "POST", self.enrol),
            self.route("/v1/round", "GET", self._by(service.announcement)),
            self.route("/v1/models/{hash:str}", "GET", self.model),
            self.route("/v1/models", "POST", self._by(service.take_back_ranker, largest=LARGEST_RETURN)),
            self.route("/v1/updates", "POST", self.update),
            self.route("/v1/roster", "GET", self.roster),
            self.route("/v1/roster", "POST", self._by(service.take_back, largest=LARGEST_RETURN)),
            self.route("/v1/invites", "POST", self._by(service.invite)),
            self.route("/v1/vouchers", "POST", self._by(service.vouch)),
            self.route("/v1/noise", "POST", self._by(service.noise)),
            self.route("/v1/shares", "POST", self.shared),
            self.route("/v1/list", "GET", self._by(service.task)),
            self.route("/v1/answers", "POST", self._by(service.answer)),
            self.route("/v1/complaints", "POST", self._by(service.complaint)),
            self.route("/v1/depots", "POST", self._by(service.make_depot)),
            self.route("/v1/depot", "GET", self._by(service.depot)),
            self.route("/v1/depot", "POST", self._by(service.change_depot, largest=LARGEST_CHANGE)),
            self.route("/v1/depot/files", "GET", self.depot_files),
            self.route("/v1/farewell", "POST", self._by(service.farewell)),
            self.route("/v1/receipts/{request:str}", "GET", self.receipt),
            self.route("/v1/log", "GET", self.journal),
            self.route("/v1/moved", "GET", self.moved),
            *extra,
        ]
        made = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers={HTTPException: self._no_address})
        made.router.redirect_slashes = False  # a signature is for one path
        return made

    async def healthz(self, _: HttpRequest) -> Response:
        """The process answers."""
        return PlainTextResponse("ok\n")

    async def readyz(self, _: HttpRequest) -> Response:
        """The database answers, its tables are this program's, and what comes next fits on the disk."""
        try:
            wrong = "" if await run_in_threadpool(is_current, self.service.engine) else "the database does not answer"
            wrong = wrong or ("" if has_room(self.service.engine) else "the disk is full")
        except (SQLAlchemyError, OSError):
            wrong = "the database does not answer"
        return PlainTextResponse(f"{wrong or 'ready'}\n", 503 if wrong else 200)

    async def openapi(self, _: HttpRequest) -> Response:
        return Response(openapi_description(), media_type=JSON)

    async def enrol(self, http: HttpRequest) -> Response:
        self.joins.spend(self.address(http))
        return _json(await run_in_threadpool(self.service.enrol, await self._signed(http)))

    async def model(self, http: HttpRequest) -> Response:
        signed = await self._signed(http)
        return _json(await run_in_threadpool(self.service.model, signed, http.path_params["hash"]))

    async def update(self, http: HttpRequest) -> Response:
        written = await run_in_threadpool(self.service.update, await self._signed(http))
        accepted = await asyncio.wrap_future(written)
        self.counters.accepted.inc()
        return _json(accepted)

    async def roster(self, http: HttpRequest) -> Response:
        after = http.query_params.get("after", "0")
        if not (after.isdecimal() and len(after) < 10):
            raise Refused("malformed", "after is a number")
        return _json(await run_in_threadpool(self.service.roster, await self._signed(http), int(after)))

    async def depot_files(self, http: HttpRequest) -> Response:
        names = http.query_params.get("names", "").split(",")
        return _json(await run_in_threadpool(self.service.depot_files, await self._signed(http), names))

    async def shared(self, http: HttpRequest) -> Response:
        accepted = await run_in_threadpool(self.service.shared, await self._signed(http))
        self.counters.accepted.inc()
        return _json(accepted)

    async def receipt(self, http: HttpRequest) -> Response:
        return _json(await run_in_threadpool(self.service.receipt, http.path_params["request"]))

    async def journal(self, http: HttpRequest) -> Response:
        asked = http.query_params
        return _json(await run_in_threadpool(self.service.journal, asked.get("receipt", ""), asked.get("after", "0")))

    async def moved(self, _: HttpRequest) -> Response:
        return _json(await run_in_threadpool(self.service.moved))

    def route(self, path: str, method: str, answer: Answer) -> Route:
        """An address with its limits, its time measured, and every refusal told and counted."""

        async def limited(http: HttpRequest) -> Response:
            began = time.perf_counter()
            try:
                self.addresses.spend(self.address(http))
                answered = await answer(http)
                if http.client and getattr(http.state, "is_signed", False):
                    self.crowd.recognise(http.client.host)
                return self._for(http, answered)
            except Refused as refused:
                return self._for(http, self._refusal(refused))
            except ClientDisconnect:
                return Response(status_code=499)  # nobody reads it
            except (SQLAlchemyError, OSError, FoltrError) as error:
                log.error("%s failed: %s", path, error_text(error))
                return self._for(http, self._refusal(Refused("disk-full" if is_full(error) else "unavailable")))
            finally:
                self.counters.seconds.labels(path).observe(time.perf_counter() - began)

        return Route(path, limited, methods=[method])

    def _for(self, http: HttpRequest, answer: Response) -> Response:
        """The answer, signed as the one to this request if that is signed: nothing on the way gives it to another."""
        if asked := http.headers.get("foltr-signature"):
            text = answer_text(http.method, _path(http), asked, status=answer.status_code, body=bytes(answer.body))
            signature = self.service.vault.identity.sign(ANSWER, text)
            answer.headers[ANSWER_HEADER] = base64.b64encode(signature).decode()
        return answer

    def _refusal(self, refused: Refused) -> Response:
        self.counters.refused.labels(refused.reason).inc()
        headers = FRESH | ({"Retry-After": str(refused.wait)} if refused.status in (429, 503) else {})
        body = wire.encode(wire.Refusal(reason=refused.reason, message=str(refused)))
        return Response(body, refused.status, headers, JSON)

    async def _no_address(self, _: HttpRequest, error: Exception) -> Response:
        """Starlette's own 404 and 405 in the form of every other refusal."""
        status = error.status_code if isinstance(error, HTTPException) else 400
        answer = self._refusal(Refused({404: "not-found", 405: "wrong-verb"}.get(status, "malformed")))
        answer.headers.update((error.headers if isinstance(error, HTTPException) else None) or {})
        return answer

    def _by(self, method: Callable[[Request], wire.Record], *, largest: int = 0) -> Answer:
        """What answers signed requests by a method of the service."""

        async def answer(http: HttpRequest) -> Response:
            return _json(await run_in_threadpool(method, await self._signed(http, largest=largest)))

        return answer

    async def _signed(self, http: HttpRequest, *, largest: int = 0) -> Request:
        """The request with its body, no larger than the server takes, once its device has requests left."""
        declared, largest = http.headers.get("content-length", ""), largest or self.largest_body
        if declared.isdecimal() and int(declared[:20]) > largest:
            raise _too_large(largest)
        claimed = credentials(http.headers)
        http.state.is_signed = True  # by whom, is looked at before it is answered
        # With the address, or a stranger could use up the requests of a device whose pseudonym it knows.
        self.devices.spend(f"{claimed.device} {self.address(http)}")
        return Request(claimed, http.method, _path(http), await self.body(http, largest=largest))

    async def body(self, http: HttpRequest, *, largest: int) -> bytes:
        """All of it; Refused("too-large"), "too-slow" or "too-many" as soon as that is known."""
        body, address = bytearray(), self.address(http)
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in http.stream():
                    body += chunk
                    self.arriving[address] += len(chunk)
                    if len(body) > largest:
                        raise _too_large(largest)
                    if self.arriving[address] > MOST_ARRIVING:
                        raise Refused("too-many", "other bodies from this address are still arriving")
        except TimeoutError as error:
            raise Refused("too-slow") from error
        finally:
            self.arriving[address] -= len(body)
            self.arriving += Counter()  # without those of nothing
        return bytes(body)

    def address(self, http: HttpRequest) -> str:
        """Whose requests these count as: an address, or the network that shares one."""
        peer = http.client.host if http.client else ""
        # A proxy may add a line of its own below the one that the client made up.
        forwarded = ",".join(http.headers.getlist("x-forwarded-for"))
        return address_group(client_address(peer, forwarded, self.proxies))

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        await run_in_threadpool(self.service.start)
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ticking
            await run_in_threadpool(self.service.stop)

    async def _tick(self) -> None:
        failed = ""
        for second in itertools.count(1):
            await asyncio.sleep(TICK_SECONDS)
            before, failed = failed, ""
            try:
                await run_in_threadpool(self.service.tick)
                if second % CLEAN_EVERY == 0:
                    await run_in_threadpool(self.service.clean)
            except Exception as error:  # whatever it is: without this work no round closes at its deadline
                failed = error_text(error)
                if failed != before:  # a full disk is said once, not each second
                    log.error("the periodic work failed and is tried again each second: %s", failed)


def _too_large(largest: int) -> Refused:
    return Refused("too-large", f"{largest} bytes at most")


FRESH = {"Cache-Control": "no-store"}
"""what a member is told is for it alone, and only now: a cache in front must not give it to the next one"""


def _json(record: wire.Record) -> Response:
    return Response(wire.encode(record), headers=FRESH, media_type=JSON)


def _path(http: HttpRequest) -> str:
    """As it was sent and signed: neither decoded, nor put together with the Host header."""
    path, query = http.scope["raw_path"].decode("latin-1"), http.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else str(path)


SIGNATURE_HEADERS = {
    "Foltr-Device": "the device's pseudonym",
    "Foltr-Time": "seconds since 1970",
    "Foltr-Nonce": "16 to 64 letters and digits, never used before",
    "Foltr-Signature": "base64 of the Ed25519 signature over method, path, body hash, time and nonce",
}

ADDRESSES: tuple[tuple[str, str, str, type[wire.Record] | None, type[wire.Record], bool], ...] = (
    ("/v1/members", "post", "Become a member with an invite", wire.Enrolment, wire.Signed, True),
    ("/v1/round", "get", "The present round", None, wire.Signed, True),
    ("/v1/models/{hash}", "get", "A published common ranker; `newest` for the newest", None, wire.Signed, True),
    ("/v1/models", "post", "Hand back a ranker that a restored server lacks", wire.RankerReturn, wire.Signed, True),
    ("/v1/updates", "post", "Send the round's update", wire.Sealed, wire.Accepted, True),
    ("/v1/roster", "get", "The members' chain, from entry `after` on", None, wire.Signed, True),
    ("/v1/roster", "post", "Hand back entries that a restored server lacks", wire.RosterReturn, wire.Signed, True),
    ("/v1/invites", "post", "A member invites", wire.InviteOffer, wire.Invited, True),
    ("/v1/vouchers", "post", "A member vouches for another, or takes one off", wire.Vouching, wire.Signed, True),
    ("/v1/noise", "post", "Fix the bits of the round's noise, get its coins", wire.NoiseCommitment, wire.Coins, True),
    ("/v1/shares", "post", "Send the sealed round's update", wire.SharedUpdate, wire.Accepted, True),
    ("/v1/list", "get", "What a member of the committee adds up", None, wire.SumTask, True),
    ("/v1/answers", "post", "Send what was added up", wire.CommitteeAnswer, wire.Accepted, True),
    ("/v1/complaints", "post", "Show that a listed message is false", wire.Complaint, wire.Accepted, True),
    ("/v1/depots", "post", "Have sealed files kept for a member's computers", wire.DepotRequest, wire.DepotPage, True),
    ("/v1/depot", "get", "What the depot of the key that signs holds", None, wire.DepotPage, True),
    ("/v1/depot", "post", "Write or remove a file, or change the key", wire.DepotChange, wire.DepotPage, True),
    ("/v1/depot/files", "get", "Files of the depot (?names=A,B)", None, wire.DepotFiles, True),
    ("/v1/farewell", "post", "Leave, or leave and be forgotten", wire.Farewell, wire.Signed, True),
    ("/v1/receipts/{request}", "get", "How far a forget-me request is", None, wire.Signed, False),
    ("/v1/log", "get", "The journal after a position (?after=, ?receipt=)", None, wire.Signed, False),
    ("/v1/moved", "get", "Where the server is to be found from now on", None, wire.Signed, False),
)


@cache
def openapi_description() -> bytes:
    """The OpenAPI description of the addresses, made from the wire records: its JSON."""
    bodies: set[type[wire.Record]] = {wire.Refusal}
    for _, _, _, body, answer, _ in ADDRESSES:
        bodies |= {answer} if body is None else {body, answer}
    records = sorted(bodies, key=lambda record: record.__name__)
    _, components = msgspec.json.schema_components(records, ref_template="#/components/schemas/{name}")
    paths: dict[str, dict[str, Any]] = {}
    for path, verb, summary, body, answer, signed in ADDRESSES:
        paths.setdefault(path, {})[verb] = _operation(path, summary, body, answer, signed)
    info = {"title": "foltr-server", "version": "1", "description": "One common ranker, and nobody's clicks."}
    document = {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": components}}
    return json.dumps(document).encode()


def _operation(
    path: str, summary: str, body: type[wire.Record] | None, answer: type[wire.Record], signed: bool
) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
        for name, text in (SIGNATURE_HEADERS.items() if signed else ())
    ]
    if "{" in path:
        name = path[path.index("{") + 1 : path.index("}")]
        parameters.append({"name": name, "in": "path", "required": True, "schema": {"type": "string"}})
    operation: dict[str, Any] = {
        "summary": summary,
        "parameters": parameters,
        "responses": {"200": _described("done", answer), "default": _described("refused", wire.Refusal)},
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _described("", body)["content"]}
    return operation


def _described(text: str, record: type[wire.Record]) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{record.__name__}"}
    return {"description": text, "content": {"application/json": {"schema": reference}}}
