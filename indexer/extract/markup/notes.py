"""Notes in Markdown and org: what their head says of them, their tags and their links, as properties.

The head (front matter, keywords) is left out of the text and its lines stay empty, so that a line of the text is a line
of the file. Of YAML only what such heads hold is read: names with words, lists and folded text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from urllib.parse import unquote

import msgspec

from indexer.documents import ExtractedDocument, Extraction
from indexer.extract.markup import texts
from indexer.extract.source import Limits, Source
from indexer.properties import Properties
from indexer.text.markdown import CODE, FRONT_MATTER

MAX_HEAD = 20_000
"""characters of a head"""
MAX_LINKS = 300
MAX_TAGS = 100
_SCANNED = 1_000_000
"""characters of a note in which tags and links are looked for"""


def extract_markdown(source: Source, limits: Limits) -> Extraction:
    """A Markdown document: front matter between lines of --- (YAML) or +++ (TOML), #tags, [[links]]."""
    document = _read(source, limits, texts.markdown_title)
    text, head = without_front_matter(document.text)
    body = CODE.sub(" ", text[:_SCANNED])
    links = (*(link for _, value in head for link in links_in(value)), *links_in(body))
    pairs = (*head, *(("tag", tag) for tag in tags_in(body)), *(("link", link) for link in links))
    return _described(document, text, pairs)


def extract_org(source: Source, limits: Limits) -> Extraction:
    """An org document: keywords as #+filetags, the tags of headlines, [[links]], ids as org-roam writes them."""
    document = _read(source, limits, texts.org_title)
    scanned = _without_blocks(document.text[:_SCANNED])
    head = _ORG_HEAD.match(document.text[:MAX_HEAD])
    pairs = (
        *((found[1].lower(), found[2]) for found in _ORG_PAIR.finditer(head[0] if head else "")),
        *(("filetags", found[1]) for found in _ORG_TAGS.finditer(scanned)),
        *(("id", found[1]) for found in _ORG_ID.finditer(scanned)),
        *(("link", _org_target(found[1])) for found in _ORG_LINK.finditer(scanned)),
    )
    text = document.text if head is None else _emptied(head) + document.text[head.end() :]
    return _described(document, text, (pair for key, value in pairs for pair in _org_values(key, value)))


def _read(source: Source, limits: Limits, title_of: Callable[[str], str]) -> ExtractedDocument:
    return texts.titled("markdown", title_of)(source, limits).documents[0]


def _described(document: ExtractedDocument, text: str, pairs: Iterable[tuple[str, str]]) -> Extraction:
    """The document with its text and the properties `pairs`, a title and an author taken out of them."""
    most = {"tag": MAX_TAGS, "link": MAX_LINKS}
    counts: dict[str, int] = {}
    kept: list[tuple[str, str]] = []
    for name, value in dict.fromkeys((name, " ".join(value.split())) for name, value in pairs):
        counts[name] = counts.get(name, 0) + 1
        if value and counts[name] <= most.get(name, 50):
            kept.append((name, value))
    title = next((value for name, value in kept if name == "title"), document.title)
    authors = [value for name, value in kept if name == "author"]
    rest = tuple((name, value) for name, value in kept if name not in ("title", "author"))
    return msgspec.structs.replace(document, text=text, title=title, author="; ".join(authors), properties=rest).alone()


# Front matter.

_LOGSEQ = re.compile(r"\A(?:[\w-]+:: [^\n]*\n)+")
"""the properties of a page"""
_PAIR = re.compile(r"([A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*)|[ \t]*)$")
_NAMES = {
    "tags": "tag", "tag": "tag", "keywords": "tag", "categories": "tag", "category": "tag", "aliases": "alias",
    "alias": "alias", "date": "created", "created": "created", "creation date": "created", "authors": "author",
}  # fmt: skip
"""What a head calls a property, and its name here; any other name is kept as it is"""

_OF_MAIL = frozenset({"is", "has", "to", "cc", "bcc", "attachment", "message-id"})


def without_front_matter(text: str) -> tuple[str, Properties]:
    """The text with the lines of its front matter empty, and what stood there; all as it is where there is none."""
    values: Iterable[tuple[str, str]] | None = None
    if found := FRONT_MATTER.match(text[:MAX_HEAD]):
        values = _toml(found[2]) if found[1] == "+++" else _yaml(found[2])
    elif found := _LOGSEQ.match(text[:MAX_HEAD]):
        values = re.findall(r"([\w-]+):: (.*)", found[0])
    if found is None or values is None:
        return text, ()
    return _emptied(found) + text[found.end() :], tuple(_named(values))


def _emptied(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _named(values: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Pairs by the names of properties: several tags in one value parted, dates as ISO 8601."""
    for key, value in values:
        name = _NAMES.get(key.lower().replace("_", " "), key.lower())
        if name in _OF_MAIL:
            name = f"note-{name}"
        if name == "created":
            value = moment_in(value)
        if name != "tag":
            yield name, value
        elif "," in value:
            yield from ((name, one.strip(" #[]")) for one in value.split(","))
        else:
            yield from ((name, one) for one in (value.split() if "#" in value else [value]))


def _yaml(head: str) -> list[tuple[str, str]] | None:
    """Names and values of a simple YAML mapping, a pair for each item of a list; None when it is something else."""
    pairs: list[tuple[str, str]] = []
    name, folded = "", False
    for line in head.split("\n"):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        indented = line[0] in " \t"
        pair = None if indented or stripped.startswith("- ") else _PAIR.match(line)
        if pair is not None:
            name, value = pair[1], (pair[2] or "").strip()
            folded = value[:1] in ("|", ">")
            pairs.extend((name, one) for one in ([] if folded else _items(value)))
        elif not name or not (indented or stripped.startswith("-")):
            return None
        elif folded and pairs and pairs[-1][0] == name:
            pairs[-1] = (name, f"{pairs[-1][1]} {stripped}")
        elif folded or not stripped.startswith("-"):
            pairs.append((name, stripped if folded else _unquoted(stripped)))
        else:
            pairs.append((name, _unquoted(stripped[1:].strip())))
    return pairs


def _items(value: str) -> list[str]:
    """The items of a list in brackets, else the value alone."""
    if value.startswith("[") and not value.startswith("[["):
        inner = value[1 : value.rfind("]")] if "]" in value else value[1:]
        return [_unquoted(one.strip()) for one in re.findall(r"\"[^\"]*\"|'[^']*'|[^,]+", inner) if one.strip()]
    return [_unquoted(value)]


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"') and (end := value.find(value[0], 1)) > 0:
        return value[1:end]
    return re.sub(r"(?:^|[ \t])#[ \t].*$", "", value).strip()


def _toml(head: str) -> list[tuple[str, str]] | None:
    try:
        values = tomllib.loads(head)
    except (ValueError, RecursionError):  # also a number of thousands of digits
        return None
    return list(_flat(values.items()))


def _flat(items: Iterable[tuple[str, object]]) -> Iterator[tuple[str, str]]:
    for name, value in items:
        if isinstance(value, dict):
            yield from _flat(value.items())
        elif isinstance(value, list):
            yield from ((name, str(one)) for one in value if isinstance(one, str | int | float))
        else:
            yield name, value.isoformat() if isinstance(value, date) else str(value)


_MOMENT = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)(?:[T ]?[^\d]{0,5}[ T](\d\d?):(\d\d)(?::\d\d)?)?|(\d{4})/(\d\d?)/(\d\d?)")


def moment_in(text: str) -> str:
    """The first date in `text`, with its time where there is one, as ISO 8601; "" for none."""
    try:
        return datetime.fromisoformat(text.strip()).isoformat()
    except ValueError:
        pass
    found = _MOMENT.search(text)
    if found is None:
        return ""
    year, month, day, hour, minute = (int(one or 0) for one in (
        found[1] or found[6], found[2] or found[7], found[3] or found[8], found[4], found[5],
    ))  # fmt: skip
    try:
        return datetime(year, month, day, hour, minute).isoformat()
    except ValueError:
        return ""


# Tags and links in the text.

_TAG = re.compile(r"(?<![^\s(,])(?<!\]\()#([^\W_][\w/-]{0,80}+)(?![\w#])(;?)")
_COLOUR = re.compile(r"[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8}")
_WIKI_LINK = re.compile(r"\[\[([^\[\]\n|#^]{1,200})[^\[\]\n]{0,200}\]\]")
_LINK = re.compile(r"\]\((?:<([^<>\n]{1,300})>|([^()\s]{1,300}))(?:[ \t]+[\"'(][^\n]{0,200}?[\"')])?\)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")


def tags_in(text: str) -> list[str]:
    """The #tags of a text without code: neither headings, numbers of issues nor colours."""
    return [found[1].rstrip("/-") for found in _TAG.finditer(text) if _is_tag(found[1], found[2])]


def _is_tag(tag: str, following: str) -> bool:
    if not any(letter.isalpha() for letter in tag):
        return False
    is_colour = following or any(letter.isdigit() for letter in tag) or len(set(tag.lower())) < 3
    return not (is_colour and _COLOUR.fullmatch(tag))


def links_in(text: str) -> list[str]:
    """What a text links to: [[notes]] by name, and [files](by/path.md); no addresses."""
    named = [found[1].strip().rstrip("\\") for found in _WIKI_LINK.finditer(text)]
    paths = (found[1] or found[2] for found in _LINK.finditer(text))
    return named + [unquote(path).partition("#")[0] for path in paths if not _SCHEME.match(path)]


# Org.

_ORG_BORDER = re.compile(r"^[ \t]*#\+(begin|end)_(\w+)", re.M | re.I)
_ORG_TAGS = re.compile(r"^\*+[ \t][^\n]*?[ \t]:([\w@#%:]+):[ \t]*$", re.M)
_ORG_PAIR = re.compile(r"^[ \t]*(?:#\+|:)(\w+):[ \t]*(\S[^\n]*)$", re.M)
_ORG_ID = re.compile(r"^[ \t]*:id:[ \t]+(\S{1,100})[ \t]*$", re.M | re.I)
_ORG_LINK = re.compile(r"\[\[((?:id|file|roam):[^\[\]\n]{1,300}|[^\[\]\n:]{1,200})\](?:\[[^\[\]\n]*\])?\]")
_ORG_HEAD = re.compile(r"\A(?:[ \t]*(?:#\+(?!begin_)\w+:[^\n]*|:[\w-]+:[^\n]*|)\n)+", re.I)
_ORG_SETTINGS = frozenset({"options", "startup", "setupfile", "language", "property", "end", "properties"})


def _without_blocks(text: str) -> str:
    """`text` without its blocks (source code, quotes), each from its beginning to the next end of that name."""
    kept: list[str] = []
    begun: dict[str, int] = {}
    at = 0
    for border in _ORG_BORDER.finditer(text):
        kind, name = border[1].lower(), border[2].lower()
        if kind == "begin":
            begun.setdefault(name, border.start())
        elif (start := begun.get(name, -1)) >= at:
            kept.append(text[at:start])
            at = border.end()
            begun.clear()
    return "".join((*kept, text[at:]))


def _org_target(link: str) -> str:
    kind, colon, rest = link.partition(":")
    return rest.partition("::")[0] if colon and kind in ("id", "file", "roam") else link.lstrip("*#")


def _org_values(key: str, value: str) -> Iterator[tuple[str, str]]:
    """A keyword or an entry of a drawer as properties."""
    if key in ("filetags", "roam_tags"):
        yield from (("tag", tag) for tag in re.split(r"[\s:]+", value))
    elif key in ("roam_aliases", "roam_alias"):
        yield from (("alias", one.strip('"')) for one in re.findall(r'"[^"]+"|\S+', value))
    elif key in ("date", "created"):
        yield "created", moment_in(value)
    elif key not in _ORG_SETTINGS:
        yield (f"note-{key}" if key in _OF_MAIL else key), value
