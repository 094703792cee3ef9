"""The way to the dashboard: an admin token opens a session in this process's memory, and wrong ones slow down."""

from __future__ import annotations

import hmac
import secrets
import time
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from federation_server.database import reading
from federation_server.group import group
from federation_server.refusals import Refused
from federation_server.running.dashboard import page, templates
from federation_server.running.limits import Buckets
from federation_server.running.web_server import Server
from federation_server.vault import hash_of

COOKIE = "foltr_session"
SESSION_SECONDS = 8 * 3600
LARGEST_FORM = 4096
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Dashboard:
    """Sessions live as long as the process, at most eight hours.

    A token is 24 random bytes: limits on guessing spare the server work. They count wrong tokens alone, so that
    nobody can keep the administrator out by guessing from another address.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.guesses = Buckets(5, 60.0, time.monotonic)
        """wrong tokens of one address"""
        self.all_guesses = Buckets(100, 60.0, time.monotonic)
        self._sessions: dict[str, float] = {}

    def routes(self) -> tuple[Route, ...]:
        """For `Server.application`."""
        return (
            self.server.route("/dashboard", "GET", self.show),
            self.server.route("/dashboard/login", "POST", self.login),
            self.server.route("/dashboard/logout", "POST", self.logout),
        )

    async def show(self, http: Request) -> Response:
        """The page, or the form that asks for the token."""
        if not self._is_open(http):
            unset = await run_in_threadpool(self._token_hash) is None
            return HTMLResponse(login_page(unset=unset), 401, HEADERS)
        return HTMLResponse(await run_in_threadpool(self._page), 200, HEADERS)

    async def login(self, http: Request) -> Response:
        """Open a session for the right token; after five wrong ones of an address its tokens are not looked at."""
        address = self.server.address(http)
        if self.guesses.is_empty(address):
            return _told_to_wait()
        given = await self._form_token(http)
        wanted = await run_in_threadpool(self._token_hash)
        if wanted is None or not hmac.compare_digest(hash_of(given), wanted):
            try:
                self.guesses.spend(address)
                self.all_guesses.spend("")
            except Refused:
                return _told_to_wait()
            return HTMLResponse(login_page(wrong=True), 401, HEADERS)
        session = secrets.token_urlsafe(32)
        self._sessions[hash_of(session)] = time.monotonic() + SESSION_SECONDS
        answer = RedirectResponse("/dashboard", 303, HEADERS)
        secure = http.scope["scheme"] == "https"
        answer.set_cookie(
            COOKIE, session, SESSION_SECONDS, path="/dashboard", secure=secure, httponly=True, samesite="strict"
        )
        return answer

    async def logout(self, http: Request) -> Response:
        """Forget the session."""
        self._sessions.pop(hash_of(http.cookies.get(COOKIE, "")), None)
        answer = RedirectResponse("/dashboard", 303, HEADERS)
        answer.delete_cookie(COOKIE, path="/dashboard")
        return answer

    def _is_open(self, http: Request) -> bool:
        now = time.monotonic()
        self._sessions = {key: end for key, end in self._sessions.items() if end > now}
        return hash_of(http.cookies.get(COOKIE, "")) in self._sessions

    def _token_hash(self) -> str | None:
        with reading(self.server.service.engine) as connection:
            return group.fact(connection, "dashboard token")

    def _page(self) -> str:
        service = self.server.service
        with reading(service.engine) as connection:
            return page(connection, service.policy, now=service.clock())

    async def _form_token(self, http: Request) -> str:
        """The token of the form, "" when there is none in it."""
        body = await self.server.body(http, largest=LARGEST_FORM)
        return parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]


def _told_to_wait() -> Response:
    return HTMLResponse(login_page(wrong=True), 429, HEADERS | {"Retry-After": "60"})


def login_page(*, wrong: bool = False, unset: bool = False) -> str:
    """The form that asks for the token."""
    return templates.get_template("login.html").render(wrong=wrong, unset=unset)
