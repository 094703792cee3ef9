"""The site that release/site.py makes of docs/."""

from __future__ import annotations

import re
import threading
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

from release.site import build, served


class Links(HTMLParser):
    """What a page links to and shows, and the anchors in it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" and value:
                self.anchors.add(value)


def test_every_link_between_its_pages_leads_somewhere(tmp_path: Path) -> None:
    """To a page, a picture or a heading that is there; nothing is taken from another host."""
    pages = {path: Links() for path in build(tmp_path / "site")}
    for path, found in pages.items():
        found.feed(path.read_text(encoding="utf-8"))
    assert tmp_path / "site" / "index.html" in pages
    wrong = []
    for path, found in pages.items():
        for link in found.links:
            target, _, anchor = link.partition("#")
            if re.match(r"\w+:", link):
                continue
            place = (path.parent / target).resolve() if target else path
            if not place.exists() or (anchor and place in pages and anchor not in pages[place].anchors):
                wrong.append(f"{path.name}: {link}")
    assert wrong == []
    taken = re.compile(r"<(?:script|link|img|iframe)[^>]*https?:|url\(")
    assert [path.name for path in pages if taken.search(path.read_text(encoding="utf-8"))] == []


def test_its_search_is_the_program(tmp_path: Path) -> None:
    """The box of a shown page finds the page that says it, at a heading that is there; what is asked stays text."""
    with served(tmp_path / "site", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            site = f"http://127.0.0.1:{server.server_port}"
            found = _read(f"{site}/search?q=packages+import-linter+circles")
            place = re.findall(r'<li><a href="([^"#]+)(?:#([^"]*))?"', found)[0]
            assert place == ("/docs/architecture.html", "packages")
            assert 'id="packages"' in _read(site + place[0])
            assert 'action="/search"' in _read(f"{site}/index.html")
            assert "<script" not in _read(f"{site}/search?q=%22%3E%3Cscript%3E")
        finally:
            server.shutdown()
            thread.join()


def _read(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return str(answer.read().decode())
