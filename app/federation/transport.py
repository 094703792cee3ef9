"""The one door of this device: signed HTTP requests to its group's server, and to nobody else.

No redirect is followed, no cookie kept, no proxy used unless the settings name one, no compressed body unpacked. The
length and time of an answer are bounded, whatever the server does. What failed on the way is tried again after a pause
that doubles and is shortened at random, so that a group's devices do not come back together.

If a server signs its own certificate, its public key is pinned, not the certificate, so that it can be renewed without
locking anybody out. Nothing else in it is believed: names and dates are the signer's own claims.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import os
import queue
import random
import re
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import Struct
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies
from urllib3.connection import HTTPSConnection
from urllib3.connectionpool import HTTPSConnectionPool
from urllib3.exceptions import HTTPError, LocationParseError, SSLError
from urllib3.util import Url, parse_url

from app.federation.failures import MOVED, Declined, Distrusted, FederationError, Unreachable
from app.federation.membership import Membership
from app.federation.terms import HEADERS
from app.settings import FederationSettings
from console.printable import safe_line
from foltr.errors import RecordError
from foltr.federated.envelope import ANSWER, ANSWER_HEADER, REQUEST, SignatureError, answer_text, request_text, verify
from foltr.federated.wire import Refusal, decode

T = TypeVar("T")


def within(seconds: float, work: Callable[[threading.Event], T]) -> T:
    """The result of `work`, if it comes in time, else TimeoutError.

    A server that sends a byte now and then outlasts the limits of its socket, so the work has a thread of its own. A
    thread that is given up sees its event set, and ends with the next byte or with the program.
    """
    gone, outcome = threading.Event(), queue.SimpleQueue[tuple[T | None, BaseException | None]]()

    def run() -> None:
        try:
            outcome.put((work(gone), None))
        except BaseException as error:  # raised again by whoever waits
            outcome.put((None, error))

    threading.Thread(target=run, name="foltr-request", daemon=True).start()
    try:
        found, error = outcome.get(timeout=seconds)
    except queue.Empty:
        gone.set()
        raise TimeoutError(f"not done within {seconds:g} seconds") from None
    if error is not None:
        raise error
    return found  # type: ignore[return-value]


LARGEST_ANSWER = 1 << 23
"""bytes: enough for what the committee of a group of nine hundred reads, and for any model"""
BUSY = (429, 500, 502, 503, 504)
"""statuses that mean: try later, or when the server is repaired"""
STRANGER = ("the certificate is of another key", "CERTIFICATE_VERIFY_FAILED")
"""how the pinned connection and OpenSSL say that somebody else answered"""
OUT_OF_DATE = ("certificate has expired", "certificate is not yet valid")
"""how OpenSSL says that a certificate is not valid today"""
LONGEST_PAUSE = 30.0
"""seconds"""


@dataclass(slots=True, eq=False)
class Transport:
    """Requests of one member to its server; one session, used by one thread at a time."""

    membership: Membership
    settings: FederationSettings
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
    _session: requests.Session = field(init=False)

    def __post_init__(self) -> None:
        _check_address(self.membership.address)
        self._session = _session(self.membership.certificate, self.settings, self.membership.address)

    def close(self) -> None:
        self._session.close()

    def get(self, path: str, *, signed: bool = True) -> bytes:
        """The body of the answer at this path."""
        return self._try("GET", path, b"", signed=signed)

    def post(self, path: str, body: bytes) -> bytes:
        """The answer to a signed body; sending the same body again must do no harm."""
        return self._try("POST", path, body, signed=True)

    def _try(self, method: str, path: str, body: bytes, *, signed: bool) -> bytes:
        for attempt in range(self.settings.retries + 1):
            try:
                return self._once(method, path, body, signed=signed)
            except _Later as later:
                if attempt == self.settings.retries:
                    raise Unreachable(f"{self._host()}: {later}") from later
                pause = min(2.0**attempt, LONGEST_PAUSE) * (0.5 + 0.5 * self.chance())
                self.sleep(min(max(pause, later.seconds), LONGEST_PAUSE))
        raise Unreachable(f"{self._host()} was not asked")

    def _once(self, method: str, path: str, body: bytes, *, signed: bool) -> bytes:
        """One request with a fresh time and nonce; returns its body, or raises what its status means."""
        headers = self._signature(method, path, body) if signed else {}
        seconds = self.settings.timeout_seconds
        try:
            answer = within(seconds, lambda gone: self._exchange(method, path, body, headers, gone))
        except TimeoutError:
            raise _Later(f"no answer within {seconds:g} seconds") from None
        if headers and self.membership.server_key and (answer.signature or answer.status == 200):
            self._check_signed(answer, method, path, headers)
        if 300 <= answer.status < 400:
            raise Distrusted(f"{self._host()} redirects (status {answer.status}), which is not followed")
        if answer.status == 200:
            return answer.body
        refusal = _refusal(answer)
        if answer.status in BUSY:
            raise _Later(refusal.message, answer.retry_after)
        raise Declined(refusal.reason, refusal.message)

    def _check_signed(self, answer: _Answer, method: str, path: str, headers: Mapping[str, str]) -> None:
        """Raises _Later unless the group's server gave this answer to this very request."""
        asked = headers.get("Foltr-Signature", "")
        text = answer_text(method, path, asked, status=answer.status, body=answer.body)
        try:
            verify(self.membership.server_key, ANSWER, text, base64.b64decode(answer.signature))
        except (SignatureError, ValueError):
            raise _Later("something between here and the server gives other answers than it") from None

    def _exchange(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], gone: threading.Event
    ) -> _Answer:
        """Runs in a thread of its own; `gone` is set when nobody waits any more."""
        url, seconds = self.membership.address + path, self.settings.timeout_seconds
        content = {"Content-Type": "application/json"} if body else {}
        try:
            response = self._session.request(
                method, url, data=body or None, headers={**headers, **content}, timeout=seconds, stream=True,
                allow_redirects=False,
            )  # fmt: skip
            with response:
                signature = response.headers.get(ANSWER_HEADER, "")
                return _Answer(response.status_code, _read(response, gone), _seconds(response.headers), signature)
        except (requests.exceptions.RequestException, HTTPError, OSError) as error:
            if any(text in str(error) for text in OUT_OF_DATE):
                shown = (
                    "shows a certificate that is not valid today: its operator renews it, unless this clock is wrong"
                )
                raise Distrusted(f"{self._host()} {shown}") from error
            if any(text in str(error) for text in STRANGER):
                shown = f"{self._host()} shows another certificate than this group's server; {MOVED}"
                raise Distrusted(shown) from error
            raise _Later(_reason(error)) from error

    def _signature(self, method: str, path: str, body: bytes) -> dict[str, str]:
        moment, nonce = int(self.clock()), secrets.token_hex(16)
        # An address may have a path of its own (behind a proxy that takes it away): the server sees what follows it.
        text = request_text(method, path, body, time=moment, nonce=nonce)
        values = (
            self.membership.device, str(moment), nonce,
            base64.b64encode(self.membership.identity.sign(REQUEST, text)).decode(),
        )  # fmt: skip
        return dict(zip(HEADERS, values, strict=True))

    def _host(self) -> str:
        return urlsplit(self.membership.address).netloc


class _Answer(Struct, frozen=True):
    status: int
    body: bytes
    retry_after: float
    signature: str
    """by the group's server; "" if something else answered, as a proxy whose server is away"""


class _Later(Exception):
    """The request failed, but may succeed if it is tried again after `seconds`."""

    def __init__(self, message: str, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.seconds = seconds


class _Pinned(HTTPAdapter):
    """Connects only to a server that holds this key, whoever signed its certificate."""

    def __init__(self, fingerprint: str) -> None:
        self._pool = _pinned_pool(fingerprint)
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self._pin(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        return self._pin(super().proxy_manager_for(proxy, **options))

    def _pin(self, manager: Any) -> Any:
        manager.pool_classes_by_scheme = {**manager.pool_classes_by_scheme, "https": self._pool}
        return manager


def _pinned_pool(fingerprint: str) -> type[HTTPSConnectionPool]:
    """Connections that are closed, before anything is sent, unless the certificate is of the key of this SHA-256."""

    class Connection(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            shown = self.sock.getpeercert(binary_form=True) if isinstance(self.sock, ssl.SSLSocket) else None
            if not hmac.compare_digest(hashlib.sha256(public_key(shown or b"")).hexdigest(), fingerprint.lower()):
                self.close()
                raise SSLError(STRANGER[0])
            self.is_verified = True

    class Pool(HTTPSConnectionPool):
        ConnectionCls = Connection

    return Pool


def _session(certificate: str, settings: FederationSettings, address: str) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # neither proxies nor passwords (.netrc) nor authorities of the environment
    session.headers.clear()
    session.headers.update({"Accept-Encoding": "identity", "User-Agent": "foltr-search"})
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
    if settings.proxy == "environment":
        session.proxies.update(get_environ_proxies(address))
    elif settings.proxy:
        session.proxies.update({"http": settings.proxy, "https": settings.proxy})
    if certificate:
        session.mount("https://", _Pinned(certificate))
        session.verify = False  # its key is checked instead, before anything is sent
    elif settings.ca:
        session.verify = _authorities(settings.ca)
    return session


def _authorities(file: str) -> str:
    """The path of a PEM file that holds at least one certificate, else FederationError."""
    path = os.path.expanduser(file)
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:  # ssl.SSLError, too
        raise FederationError(f"federation.ca: wanted a PEM file of certificates, got {file}: {error}") from error
    return path


PLAIN_ADDRESS = re.compile(
    r"https?://([0-9a-z._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?(/[0-9a-z._~/-]*)?", re.IGNORECASE | re.ASCII
)
"""no user, no backslash, no escapes, nothing that two programs could read in two ways"""


def _check_address(address: str) -> None:
    """FederationError unless it is https, or http on this very machine, and is written plainly."""
    try:
        parts = parse_url(address)  # as requests reads it, to see where it would connect
    except LocationParseError:
        parts = Url()
    host = (parts.host or "").strip("[]")
    encrypted = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))
    if not (host and encrypted and PLAIN_ADDRESS.fullmatch(address)):
        raise FederationError(
            "the server's address must begin with https:// and be written plainly (https://host:port), "
            f"and is {address!r}"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read(response: requests.Response, gone: threading.Event) -> bytes:
    """The body as it came; Distrusted when it is packed or longer than any honest answer."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise Distrusted("the server compressed its answer, which it was not asked to do")
    body = bytearray()
    while chunk := response.raw.read(8192, decode_content=False):
        body += chunk
        if len(body) > LARGEST_ANSWER or gone.is_set():
            raise Distrusted(f"the server's answer is longer than {LARGEST_ANSWER:,} bytes")
    declared = response.headers.get("Content-Length", "")
    is_short = declared.isdecimal() and str(len(body)) != (declared.lstrip("0") or "0")
    if is_short or not (declared or body):  # within its body, or its headers
        raise _Later("the answer broke off")
    return bytes(body)


def _refusal(answer: _Answer) -> Refusal:
    try:
        found = decode(answer.body, Refusal)
    except RecordError:
        return Refusal(reason="unknown", message=f"status {answer.status}")
    plain = " ".join(safe_line(found.message).split())
    return Refusal(reason="".join(c for c in found.reason if c.isalnum() or c == "-")[:40], message=plain[:200])


def _seconds(headers: Mapping[str, str]) -> float:
    text = headers.get("Retry-After", "")
    return float(text) if text.isdecimal() and len(text) < 6 else 0.0


def _reason(error: BaseException) -> str:
    """The innermost cause in one line: requests wraps it several times."""
    text = str(error)
    for known, said in (
        ("Connection refused", "nobody answers there"),
        ("NameResolutionError", "the name is not known (offline?)"),
        ("Network is unreachable", "there is no network"),
        ("timed out", "no answer in time"),
    ):
        if known in text:
            return said
    return f"the connection failed ({type(error).__name__})"


def public_key(certificate: bytes) -> bytes:
    """The SubjectPublicKeyInfo (RFC 5280, section 4.1) in DER of a certificate in DER; b"" where there is none."""
    try:
        key = x509.load_der_x509_certificate(certificate).public_key()
    except (ValueError, x509.InvalidVersion, UnsupportedAlgorithm):
        return b""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
