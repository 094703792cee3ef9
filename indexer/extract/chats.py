"""Chats, exported or kept by a program: a document for each chat and day, with who wrote in it.

WhatsApp's text, Telegram's result.json, Slack's ZIP, Discord's package, the chat.db of macOS. Times without a zone are
local. Signal keeps its messages encrypted and is not read.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.html import one_line
from indexer.extract.kinds import base_name
from indexer.extract.source import MEGABYTE, Gathered, Limits, Source, cut, shown_size
from indexer.extract.sqlite_file import opened
from indexer.extract.texts import read_text
from indexer.extract.zipped import open_zip

MAX_BYTES = 256 * MEGABYTE
"""of an export that must be held as a whole"""
MAX_PEOPLE = 50
"""named with one document"""
ME = "me"
"""the owner of an account, where an export does not name him"""
_SINCE_2001 = 978_307_200
"""seconds from 1970 to 2001, where the clock of macOS begins"""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a chat."""

    chat: str
    when: datetime
    """local"""
    sender: str
    text: str


def _days(messages: Iterable[ChatMessage], limits: Limits) -> Extraction:
    """A document for each chat and day, in the order in which they began."""
    days: dict[tuple[str, str], list[ChatMessage]] = {}
    people: dict[str, dict[str, None]] = {}
    for message in messages:
        days.setdefault((message.chat, f"{message.when:%Y-%m-%d}"), []).append(message)
        people.setdefault(message.chat, {})[message.sender] = None
    gathered = Gathered(limits)
    for number, ((chat, day), said) in enumerate(days.items()):
        if number >= limits.max_messages:
            gathered.note(f"only the first {limits.max_messages:,} days are read")
            break
        gathered.read(f"{chat} {day}".strip(), lambda c=chat, d=day, s=said: _day(c, d, s, people[c], limits))  # type: ignore[misc]
        if gathered.full:
            break
    return gathered.extraction()


def _day(chat: str, day: str, said: list[ChatMessage], people: Iterable[str], limits: Limits) -> Extraction:
    lines = [f"{one.when:%H:%M} {one.sender}: {one.text}" if one.sender else one.text for one in said]
    text, truncated = cut("\n".join(lines), limits.max_text_bytes)
    document = ExtractedDocument(
        text=text,
        type="chat",
        title=one_line(f"{chat}, {day}" if chat else day),
        author=_people(dict.fromkeys(one.sender for one in said)),
        recipients=_people(people),
        modified=max(one.when for one in said).timestamp(),
        truncated=truncated,
    )
    return Extraction(documents=(document,))


def _people(names: Iterable[str]) -> str:
    return "; ".join([name for name in names if name][:MAX_PEOPLE])


_WHATSAPP = re.compile(
    r"^\[?(\d{1,4})[./-](\d{1,2})[./-](\d{1,4}),? (\d{1,2})[:.](\d\d)(?:[:.]\d\d)?(?: ?([AaPp])\.? ?[Mm]\.?)?(?:\]| -) "
)
_CHAT_NAME = re.compile(r"WhatsApp Chat(?: with| -)? (.*)\.(?:txt|zip)$")


def read_whatsapp(source: Source, limits: Limits) -> Extraction | None:
    """The days of one chat; None for a text that is no chat. Day or month first: as all dates of the file allow."""
    text, truncated = read_text(source, limits)
    text = re.sub("[\u200e\u200f\u202a-\u202c]", "", text).replace("\u202f", " ").replace("\u00a0", " ")
    lines = text.split("\n")
    begins = [match for line in lines if (match := _WHATSAPP.match(line))]
    if not begins:
        return None
    is_month_first = _is_month_first(begins)
    name = _CHAT_NAME.search(base_name(source.name)) or _CHAT_NAME.search(Path(source.path).parent.name + ".zip")
    found = _days(_whatsapp_messages(lines, clean(name[1]) if name else "", is_month_first), limits)
    more = (f"only the {truncated}",) if truncated else ()
    return Extraction(documents=found.documents, notes=(*found.notes, *more))


def _is_month_first(begins: list[re.Match[str]]) -> bool:
    if any(int(match[1]) > 12 for match in begins):
        return False
    return any(int(match[2]) > 12 for match in begins) or any(match[6] for match in begins)


def _whatsapp_messages(lines: list[str], chat: str, is_month_first: bool) -> Iterator[ChatMessage]:
    when, sender, text = None, "", list[str]()
    for line in [*lines, None]:
        match = _WHATSAPP.match(line) if line is not None else None
        if line is not None and match is None:
            text.append(line)
            continue
        if when is not None:
            yield ChatMessage(chat, when, sender, "\n".join(text).strip())
        if line is not None and match is not None:
            when, text = _whatsapp_date(match, is_month_first) or when, []
            name, colon, said = line[match.end() :].partition(": ")
            sender, first = (name, said) if colon else ("", name)
            text.append(first)


def _whatsapp_date(match: re.Match[str], is_month_first: bool) -> datetime | None:
    first, second, third, hour = (int(match[i]) for i in (1, 2, 3, 4))
    if len(match[1]) == 4:
        year, month, day = first, second, third
    else:
        year, (month, day) = third, (first, second) if is_month_first else (second, first)
    if match[6]:
        hour = hour % 12 + (12 if match[6] in "pP" else 0)
    try:
        return datetime(year + 2000 if year < 100 else year, month, day, hour, int(match[5]))
    except ValueError:
        return None


def _json(data: bytes, what: str) -> Any:
    if len(data) > MAX_BYTES:
        raise ExtractionError("too-large", f"{what} of more than {shown_size(MAX_BYTES)}")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ExtractionError("malformed", f"wanted {what} as JSON") from error


def read_telegram(source: Source, limits: Limits) -> Extraction | None:
    """The days of each chat in a result.json; None where another program made it."""
    found = _json(source.read(MAX_BYTES + 1), "an export of Telegram")
    if not isinstance(found, dict):
        return None
    listed = [found[part].get("list", []) for part in ("chats", "left_chats") if isinstance(found.get(part), dict)]
    chats = [found] if "messages" in found and "type" in found else [chat for part in listed for chat in part]
    return _days(_telegram_messages(chats), limits) if chats else None


def _telegram_messages(chats: list[Any]) -> Iterator[ChatMessage]:
    for chat in (chat for chat in chats if isinstance(chat, dict)):
        name = _line(chat.get("name")) or _line(chat.get("type"))
        for one in chat.get("messages", ()):
            if isinstance(one, dict) and one.get("type") == "message" and (when := _iso(one.get("date"))):
                text = _telegram_text(one.get("text")) or _line(one.get("file_name"))
                yield ChatMessage(name, when, _line(one.get("from")), text)


def _telegram_text(text: Any) -> str:
    """Plain, or a list of plain pieces and of those with a style."""
    pieces = text if isinstance(text, list) else [text]
    return clean("".join(str(one.get("text", "")) if isinstance(one, dict) else str(one or "") for one in pieces))


_MENTION = re.compile(r"<@(\w+)(?:\|[^>]*)?>")
_SLACK_DAY = re.compile(r"^([^/]+)/\d{4}-\d\d-\d\d\.json$")


def read_slack(source: Source, limits: Limits) -> Extraction | None:
    """The days of each channel of an export; None for another ZIP file."""
    with open_zip(source, limits) as parts:
        if "users.json" not in parts:
            return None
        infos = {info.filename: info for info in parts.infos()}
        users = _json(parts.read(infos["users.json"]), "the users of Slack")
        names = {one.get("id", ""): _slack_name(one) for one in users if isinstance(one, dict)}

        def messages() -> Iterator[ChatMessage]:
            for file in sorted(infos):
                if day := _SLACK_DAY.match(file):
                    for one in _json(parts.read(infos[file]), "a day of Slack"):
                        if isinstance(one, dict) and (when := _epoch(one.get("ts"))):
                            sender = names.get(one.get("user", "")) or _slack_name(one.get("user_profile") or one)
                            said = _MENTION.sub(lambda m: "@" + names.get(m[1], m[1]), str(one.get("text", "")))
                            yield ChatMessage(f"#{clean(day[1])}", when, sender, clean(said))

        return _days(messages(), limits)


def _slack_name(user: Any) -> str:
    profile = user.get("profile") if isinstance(user.get("profile"), dict) else {}
    named = (user.get("real_name"), profile.get("real_name"), user.get("name"), user.get("username"))
    return next((_line(one) for one in named if one), "")


def read_discord(source: Source, limits: Limits) -> Extraction | None:
    """What the owner of the account wrote in one channel, by days."""
    data = source.read(MAX_BYTES + 1)
    if source.name.endswith(".csv"):
        rows: Any = list(csv.DictReader(io.StringIO(data.decode("utf-8", "replace"))))
    else:
        rows = _json(data, "a channel of Discord")
    rows = [row for row in rows if isinstance(row, dict) and "Timestamp" in row and "Contents" in row]
    if not rows:
        return None
    chat = _discord_channel(source)
    messages = [
        ChatMessage(chat, when, ME, clean(str(row["Contents"] or row.get("Attachments") or "")))
        for row in rows
        if (when := _iso(row["Timestamp"]))
    ]
    return _days(sorted(messages, key=lambda one: one.when), limits)


def _discord_channel(source: Source) -> str:
    """The name of the channel, which stands in a file beside the messages; its number where that is not there."""
    folder = source.name.replace("\\", "/").split("/")[-2]
    try:
        about = json.loads(Path(source.path).with_name("channel.json").read_bytes()) if source.path else {}
        guild = about.get("guild") or {}
        return " ".join(part for part in (_line(guild.get("name")), _line(about.get("name"))) if part) or folder
    except (OSError, ValueError, AttributeError):
        return folder


def read_imessage(source: Source, limits: Limits) -> Extraction | None:
    """The days of each chat of a chat.db."""
    with opened(source) as file:
        rows = file.execute(
            "SELECT coalesce(nullif(c.display_name, ''), c.chat_identifier, ''), m.date, m.is_from_me, h.id, m.text,"
            " m.attributedBody FROM message m LEFT JOIN chat_message_join j ON j.message_id = m.ROWID"
            " LEFT JOIN chat c ON c.ROWID = j.chat_id LEFT JOIN handle h ON h.ROWID = m.handle_id ORDER BY m.date"
        )
        messages = [
            ChatMessage(_line(chat), when, ME if from_me else _line(sender), text)
            for chat, date, from_me, sender, plain, styled in rows
            if (text := clean(plain or _styled_text(styled))) and (when := _epoch(_mac_seconds(date)))
        ]
    return _days(messages, limits)


def _mac_seconds(date: Any) -> float:
    """Since 1970, from seconds or (since macOS 10.13) nanoseconds since 2001."""
    number = float(date or 0)
    return (number / 1e9 if abs(number) > 1e11 else number) + _SINCE_2001


def _styled_text(blob: Any) -> str:
    """The string in an archived NSAttributedString: after its class name, a `+`, the length and UTF-8."""
    if not isinstance(blob, bytes):
        return ""
    data = blob.partition(b"NSString")[2].partition(b"+")[2]
    width = {0x81: 2, 0x82: 4}.get(data[0] if data else 0, 0)
    length = int.from_bytes(data[1 : 1 + width], "little") if width else data[0] if data else 0
    return data[1 + width : 1 + width + length].decode("utf-8", "replace")


def _line(value: Any) -> str:
    return one_line(clean(value)) if isinstance(value, str) else ""


def _iso(value: Any) -> datetime | None:
    """A moment in local time."""
    try:
        return datetime.fromisoformat(str(value)).astimezone().replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return None


def _epoch(value: Any) -> datetime | None:
    try:
        return datetime.fromtimestamp(float(value))
    except (TypeError, ValueError, OverflowError, OSError):
        return None
