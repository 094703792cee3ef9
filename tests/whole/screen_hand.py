"""The real screen without a terminal: does what each line asks for, and answers with a line of JSON once it is done.

"query TEXT" answers with the paths on the page, none where the page is still that of a word being typed (a page that is
read is not exchanged), "open" with what the screen says of the result that was opened, and "leave" ends it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from types import SimpleNamespace

from app.settings import Paths, examine
from app.tui import search_app
from app.tui.search_app import FoltrApp
from app.tui.terminal.terminal_capabilities import TerminalCapabilities
from tests.app.tui.conftest import Stage


async def work(screen: FoltrApp) -> int:
    said: list[str] = []
    stage = Stage(screen, SimpleNamespace(), SimpleNamespace())  # type: ignore[arg-type]
    async with screen.run_test(size=(120, 40)) as pilot:
        search = screen.search_screen
        search.opening._line.say = lambda text: said.extend([text] * text.startswith("opened"))  # type: ignore[method-assign]
        await stage.until(pilot, lambda: search.status is not None)
        answer: object = "ready"
        while True:
            os.write(1, json.dumps(answer).encode() + b"\n")
            kind, _, text = (await asyncio.to_thread(sys.stdin.readline)).strip().partition(" ")
            if kind == "query":
                search.box.set_text(text)
                await stage.until(pilot, lambda text=text: stage.asked == text)
                await stage.settle(pilot)
                page = search.session.page
                answer = [] if page is None or page.request.as_you_type else [hit.path for hit in page.hits]
            elif kind == "open":
                n_said = len(said)
                await pilot.press("enter")
                await stage.until(pilot, lambda n=n_said: len(said) > n)
                answer = said[-1]
            else:
                return 0
            await stage.settle(pilot)


def show(screen: FoltrApp) -> int:
    try:
        return asyncio.run(work(screen))
    finally:
        screen.search_screen.session.close()
        screen.setup.indexing.stop()


if __name__ == "__main__":
    os.umask(0o077)
    search_app.show = show
    paths = Paths.from_environment()
    sys.exit(search_app.start(examine(paths, os.environ, flags={})[0].settings, paths, terminal=TerminalCapabilities()))
