"""Something between five devices and their server that gives one's answer to another: a real group, a real proxy."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest
from sqlalchemy import func, select

from app.federation import ledger, membership
from federation_server.database import reading
from federation_server.tables import named, shares
from tests.app.federation.groups import Group, Person, friends

pytestmark = pytest.mark.usefixtures("few_coins")

Kept = tuple[int, list[tuple[str, str]], bytes]


class Swapping(ThreadingHTTPServer):
    """Forwards requests; the first of each device to an address gets what another device was told there before, with
    the server's signature of that answer or without any."""

    def __init__(self, port: int, *, keeps: bool) -> None:
        self.keeps, self.port, self.told, self.heard = keeps, port, dict[str, Kept](), set[tuple[str, str]]()
        super().__init__(("127.0.0.1", 0), Handler)

    def answer(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Kept:
        asked, before = (path, headers.get("Foltr-Device", "")), self.told.get(path)
        if asked not in self.heard and before is not None:
            self.heard.add(asked)
            return before[0], [(name, it) for name, it in before[1] if self.keeps or name != "foltr-answer"], before[2]
        self.heard.add(asked)
        onward = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        onward.request(method, path, body or None, headers)
        answer = onward.getresponse()
        self.told[path] = (answer.status, answer.getheaders(), answer.read())
        onward.close()
        return self.told[path]


class Handler(BaseHTTPRequestHandler):
    server: Swapping

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, answer = self.server.answer(self.command, self.path, body, dict(self.headers.items()))
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET

    def log_message(self, *arguments: object) -> None:
        """Nothing on stderr."""


@pytest.fixture(params=[True, False], ids=["signed", "unsigned"])
def swapping(sealed: Group, request: pytest.FixtureRequest) -> Iterator[Swapping]:
    with Swapping(sealed.made.settings.server.port, keeps=request.param) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        yield proxy
        proxy.shutdown()


def test_what_another_was_told_is_asked_for_again(
    sealed: Group, swapping: Swapping, make_person: Callable[..., Person]
) -> None:
    """Every first answer is another member's, coins of the noise among them: all five answer the round, nobody is named
    as a liar, and none is charged for more than it sent."""
    people = friends(sealed.made, make_person)
    for person in people:
        member = membership.member(person.store)
        moved = msgspec.structs.replace(member, address=f"http://127.0.0.1:{swapping.server_port}")
        membership.save(person.store, moved)
        assert person.sync().sent
    with reading(sealed.made.engine) as connection:
        kept = [connection.execute(select(func.count()).select_from(table)).scalar_one() for table in (shares, named)]
    assert kept == [5, 0]
    assert [len(ledger.entries(person.store)) for person in people] == [1] * 5
