"""docs/ as a small static site: `python -m release.site OUT`. No script, no font, nothing from elsewhere."""

from __future__ import annotations

import html
import re
import shutil
import sys
from pathlib import Path

from markdown_it import MarkdownIt

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
a {{ color: light-dark(#9a4a00, #ffb066); }}
pre, table {{ overflow-x: auto; display: block; }}
pre {{ background: #8882; padding: .7rem; }}
td, th {{ border: 1px solid #8886; padding: .2rem .5rem; text-align: left; vertical-align: top; }}
img {{ max-width: 100%; }}
</style>
<nav>{links}</nav>
<main>
{body}
</main>
</html>
"""


def build(out: Path) -> list[Path]:
    """The pages, in `out`, with the pictures that they show; every link between pages goes to a page."""
    sources = [CHECKOUT / f"{name}.md" for name in PAGES]
    sources += sorted((CHECKOUT / "docs").rglob("*.md"))
    places = {source: out / _name(source) for source in sources}
    shutil.copytree(CHECKOUT / "docs" / "images", out / "docs" / "images", ignore=shutil.ignore_patterns("*.py", "__*"))
    for name in ("contrib/systemd", "examples"):
        shutil.copytree(CHECKOUT / name, out / name, ignore=shutil.ignore_patterns("__*"))
    for name in ("LICENSE", "CITATION.cff"):
        shutil.copy(CHECKOUT / name, out)
    for source, place in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_page(source), encoding="utf-8")
    return list(places.values())


def _name(source: Path) -> Path:
    """Where a page lies in the site, as beside the checkout's; the README is its first page."""
    relative = source.relative_to(CHECKOUT)
    return Path("index.html") if relative.stem == "README" else relative.with_suffix(".html")


def _page(source: Path) -> str:
    text = source.read_text(encoding="utf-8")
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    body = MarkdownIt("commonmark").enable("table").render(text)
    body = re.sub(r"(<h[1-6])>(.*?)(</h[1-6]>)", lambda one: f'{one[1]} id="{_anchor(one[2])}">{one[2]}{one[3]}', body)
    body = re.sub(r'href="([^":]+)\.md(#[^"]*)?"', _link, body)
    up = "../" * (len(source.relative_to(CHECKOUT).parts) - 1)
    links = [("index", "start")]
    links += [(f"docs/{name}", name) for name in ("installing", "query-language", "ranking", "server", "simulation")]
    shown = " · ".join(f'<a href="{up}{name}.html">{label}</a>' for name, label in links)
    return _TEMPLATE.format(title=html.escape(title[1] if title else source.stem), links=shown, body=body)


def _link(one: re.Match[str]) -> str:
    name = re.sub(r"(^|/)README$", r"\1index", one[1])
    return f'href="{name}.html{one[2] or ""}"'


def _anchor(heading: str) -> str:
    """As GitHub makes them."""
    plain = html.unescape(re.sub(r"<[^>]+>", "", heading)).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


if __name__ == "__main__":
    print(f"{len(build(Path(sys.argv[1])))} pages in {sys.argv[1]}")
