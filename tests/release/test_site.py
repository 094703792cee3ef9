"""The site that release/site.py makes of docs/."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from release.site import build


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
