"""docs/ as a small static site: `python -m release.site OUT`. No script, no font, nothing from elsewhere.

With `--serve PORT` it is shown on this machine, with a box that the program itself answers from an index of the pages.
"""

from __future__ import annotations

import html
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import click
from markdown_it import MarkdownIt

from app.following.indexing import update_index
from app.search.results import Hit, SearchRequest, Snippet, title_of
from app.search.search import Search
from app.settings import Paths, Settings
from release import CHECKOUT

PAGES = ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")
"""beside those of docs/"""
_TEMPLATE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title} - foltr-search</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0 auto; max-width: 52rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; }}
nav {{ border-bottom: 1px solid #8888; padding-bottom: .5rem; font-size: .9rem; }}
input {{ width: 100%; box-sizing: border-box; margin-top: .5rem; padding: .3rem; font: inherit; }}
mark {{ color: inherit; background: #f805; }}
a {{ color: light-dark(#9a4a00, #ffb066); }}
pre, table {{ overflow-x: auto; display: block; }}
pre {{ background: #8882; padding: .7rem; }}
td, th {{ border: 1px solid #8886; padding: .2rem .5rem; text-align: left; vertical-align: top; }}
img {{ max-width: 100%; }}
</style>
<nav>{links}{box}</nav>
<main>
{body}
</main>
</html>
"""


_BOX = '<form action="/search"><input type="search" name="q" value="{query}" placeholder="Search these pages"></form>'


def _sources() -> list[Path]:
    return [CHECKOUT / f"{name}.md" for name in PAGES] + sorted((CHECKOUT / "docs").rglob("*.md"))


def build(out: Path, *, box: str = "") -> list[Path]:
    """The pages, in `out`, with the pictures that they show; every link between pages goes to a page."""
    places = {source: out / _name(source) for source in _sources()}
    shutil.copytree(CHECKOUT / "docs" / "images", out / "docs" / "images", ignore=shutil.ignore_patterns("*.py", "__*"))
    for name in ("contrib/systemd", "examples"):
        shutil.copytree(CHECKOUT / name, out / name, ignore=shutil.ignore_patterns("__*"))
    for name in ("LICENSE", "CITATION.cff"):
        shutil.copy(CHECKOUT / name, out)
    for source, place in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_page(source, box), encoding="utf-8")
    return list(places.values())


def _name(source: Path) -> Path:
    """Where a page lies in the site, as beside the checkout's; the README is its first page."""
    relative = source.relative_to(CHECKOUT)
    return Path("index.html") if relative.stem == "README" else relative.with_suffix(".html")


def _page(source: Path, box: str) -> str:
    text = source.read_text(encoding="utf-8")
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    body = MarkdownIt("commonmark").enable("table").render(text)
    body = re.sub(r"(<h[1-6])>(.*?)(</h[1-6]>)", lambda one: f'{one[1]} id="{_anchor(one[2])}">{one[2]}{one[3]}', body)
    body = re.sub(r'href="([^":]+)\.md(#[^"]*)?"', _link, body)
    up = "../" * (len(source.relative_to(CHECKOUT).parts) - 1)
    return _framed(title[1] if title else source.stem, body, up, box)


def _framed(title: str, body: str, up: str, box: str) -> str:
    links = [("index", "start")]
    links += [(f"docs/{name}", name) for name in ("installing", "query-language", "ranking", "server", "simulation")]
    shown = " · ".join(f'<a href="{up}{name}.html">{label}</a>' for name, label in links)
    return _TEMPLATE.format(title=html.escape(title), links=shown, box=box, body=body)


def _link(one: re.Match[str]) -> str:
    name = re.sub(r"(^|/)README$", r"\1index", one[1])
    return f'href="{name}.html{one[2] or ""}"'


def _anchor(heading: str) -> str:
    """As GitHub makes them."""
    plain = html.unescape(re.sub(r"<[^>]+>", "", heading)).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@contextmanager
def served(out: Path, port: int) -> Iterator[HTTPServer]:
    """The pages in `out`, with a box, on a port of this machine; 0 for any that is free."""
    build(out, box=_BOX.format(query=""))
    with tempfile.TemporaryDirectory() as folder:
        settings, paths = Settings(), Paths(Path(folder, "config"), Path(folder, "data"))
        update_index(settings, paths, roots=[str(source) for source in _sources()])
        with closing(Search(settings, paths)) as search:
            handler = partial(_Answering, directory=str(out), search=search)
            with HTTPServer(("127.0.0.1", port), handler) as server:
                yield server


class _Answering(SimpleHTTPRequestHandler):
    """The files of a folder, and what is found for /search?q=WORDS."""

    def __init__(self, *given: Any, search: Search, **named: Any) -> None:
        self._search = search
        super().__init__(*given, **named)

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        if asked.path != "/search":
            super().do_GET()
            return
        page = _answer(self._search, parse_qs(asked.query).get("q", [""])[0]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def _answer(search: Search, query: str) -> str:
    found = search.search(SearchRequest(query, limit=20))
    rows = "\n".join(_row(hit, search.snippet(found, hit)) for hit in found.hits)
    body = f"<ol>\n{rows}\n</ol>" if rows else "<p>Nothing was found.</p>"
    return _framed("Search", body, "/", _BOX.format(query=html.escape(query)))


def _row(hit: Hit, passage: Snippet) -> str:
    place, parts, at = _name(Path(hit.path)), list[str](), 0
    for start, end in passage.spans:
        parts += [html.escape(passage.text[at:start]), f"<mark>{html.escape(passage.text[start:end])}</mark>"]
        at = end
    text = "".join(parts) + html.escape(passage.text[at:])
    where = f" › {html.escape(passage.heading)}" if passage.heading else ""
    anchor = f"#{_anchor(passage.heading)}" if passage.heading else ""
    return f'<li><a href="/{place.as_posix()}{anchor}">{html.escape(title_of(hit))}{where}</a><p>{text}</p></li>'


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--serve", "port", type=int, help="Show them on this port of 127.0.0.1, with a box to search them.")
def command(out: Path, port: int | None) -> None:
    """Make the pages in OUT."""
    if port is None:
        click.echo(f"{len(build(out))} pages in {out}")
        return
    with served(out, port) as server:
        click.echo(f"http://127.0.0.1:{server.server_port}/ until Ctrl-C")
        server.serve_forever()


if __name__ == "__main__":
    command(prog_name="python -m release.site")
