"""Chats, exported or kept by a program: a document for each chat and day, with the people who wrote in it.

WhatsApp's text, Telegram's result.json, Slack's ZIP, Discord's package, the chat.db of macOS. Times without a zone are
local, Discord's aside, which are UTC. Signal keeps its messages encrypted and is not read. The long lists of a JSON
file are read one item after another, so that a large file is never held as a whole.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, tzinfo
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from indexer.confined.given_files import open_file
from indexer.documents import MEGABYTE, ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.kinds import base_name
from indexer.extract.markup.html import one_line
from indexer.extract.markup.texts import read_text
from indexer.extract.source import TIME_IS_UP, Gathered, Limits, Source, cut, shown_size
from indexer.extract.sources.known import channel_of
from indexer.extract.sources.sqlite_file import opened
from indexer.extract.zipped import open_zip

MAX_BYTES = 256 * MEGABYTE
"""of an export that must be held as a whole"""
MAX_PEOPLE = 50
"""named with one document"""
ME = "me"
"""the owner of an account, where an export does not name him"""
_SINCE_2001 = 978_307_200
"""seconds from 1970 to 2001, where the clock of macOS begins"""


class ChatMessage(Struct, frozen=True):
    chat: str
    when: datetime
    """local"""
    sender: str
    text: str


class _Day(Struct):
    """What was said in one chat on one day."""

    lines: list[str]
    senders: dict[str, None]
    last: datetime


_LOOKS = 1_000
"""messages between two looks at the clock"""


def _days(messages: Iterable[ChatMessage], limits: Limits) -> Extraction:
    """A document for each chat and day, in the order in which they began; what is beyond the limits is left out."""
    days: dict[tuple[str, str], _Day] = {}
    people: dict[str, dict[str, None]] = {}
    n_bytes, notes = 0, list[str]()
    for number, one in enumerate(_up_to_damage(messages, notes)):
        line = f"{one.when:%H:%M} {one.sender}: {one.text}" if one.sender else one.text
        n_bytes += len(line) + 1
        if n_bytes > limits.max_total_text_bytes:
            notes.append(f"only the first {shown_size(limits.max_total_text_bytes)} of text are kept")
            break
        if number % _LOOKS == 0 and limits.is_late:
            notes.append(TIME_IS_UP)
            break
        day = days.setdefault((one.chat, f"{one.when:%Y-%m-%d}"), _Day([], {}, one.when))
        day.lines.append(line)
        day.senders[one.sender] = None
        day.last = max(day.last, one.when)
        people.setdefault(one.chat, {})[one.sender] = None
    gathered = Gathered(limits)
    for number, ((chat, date), day) in enumerate(days.items()):
        if number >= limits.max_messages:
            gathered.note(f"only the first {limits.max_messages:,} days are read")
            break
        gathered.add(_document(chat, date, day, people[chat], limits).alone(), f"{chat} {date}".strip())
        if gathered.full:
            break
    for note in notes:
        gathered.note(note)
    return gathered.extraction()


def _up_to_damage(messages: Iterable[ChatMessage], notes: list[str]) -> Iterator[ChatMessage]:
    """`messages` up to where the export is damaged, which goes to `notes`; all damage where nothing comes before it."""
    n_good = 0
    try:
        for n_good, one in enumerate(messages, 1):  # noqa: B007  # counted for the handler
            yield one
    except ExtractionError as error:
        if not n_good:
            raise
        notes.append(f"read up to message {n_good:,}: {error}")


def _document(chat: str, date: str, day: _Day, people: Iterable[str], limits: Limits) -> ExtractedDocument:
    text, truncated = cut("\n".join(day.lines), limits.max_text_bytes)
    return ExtractedDocument(
        text=text,
        type="chat",
        title=one_line(f"{chat}, {date}" if chat else date),
        author=_people(day.senders),
        recipients=_people(people),
        modified=day.last.timestamp(),
        truncated=truncated,
    )


def _people(names: Iterable[str]) -> str:
    return "; ".join([name for name in names if name][:MAX_PEOPLE])


_WHATSAPP = re.compile(
    r"^\[?(\d{1,4})[./-](\d{1,2})[./-](\d{1,4}),? (\d{1,2})[:.](\d\d)(?:[:.]\d\d)?(?: ?([AaPp])\.? ?[Mm]\.?)?(?:\]| -) "
)
_CHAT_NAME = re.compile(r"WhatsApp(?:[ -][Cc]hat)?(?: with| mit| con| avec| com| met| с| -)? (.*)\.(?:txt|zip)$")


def read_whatsapp(source: Source, limits: Limits) -> Extraction | None:
    """The days of one chat; None for a text that is no chat. Day or month first: as all dates of the file allow."""
    text, truncated = read_text(source, limits)
    text = re.sub("[\u200e\u200f\u202a-\u202c]", "", text).replace("\u202f", " ").replace("\u00a0", " ")
    lines = text.split("\n")
    begins = [match for line in lines if (match := _WHATSAPP.match(line))]
    if not begins:
        return None
    day_first = any(int(match[1]) > 12 for match in begins)
    is_month_first = not day_first and any(int(match[2]) > 12 or match[6] for match in begins)
    name = _CHAT_NAME.search(base_name(source.name)) or _CHAT_NAME.search(Path(source.path).parent.name + ".zip")
    found = _days(_whatsapp_messages(lines, clean(name[1]) if name else "", is_month_first), limits)
    more = (f"only the {truncated}",) if truncated else ()
    return Extraction(documents=found.documents, notes=(*found.notes, *more))


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
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ExtractionError("malformed", f"wanted {what} as JSON") from error


def read_telegram(source: Source, limits: Limits) -> Extraction | None:
    """The days of each chat in a result.json, read as a stream; None where another program made it."""
    with source.open() as stream:
        chats = lists_under("messages", stream)
        first = next(chats, None)
        if first is None or "type" not in first[0]:
            return None
        return _days(_telegram_messages(chain((first,), chats)), limits)


def _telegram_messages(chats: Iterable[tuple[dict[str, str], Iterator[Any]]]) -> Iterator[ChatMessage]:
    for about, messages in chats:
        name = _line(about.get("name")) or _line(about.get("type"))
        for one in messages:
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
        names = {str(one.get("id", "")): _slack_name(one) for one in users if isinstance(one, dict)}

        def messages() -> Iterator[ChatMessage]:
            for file in sorted(infos):
                if day := _SLACK_DAY.match(file):
                    for one in _json(parts.read(infos[file]), "a day of Slack"):
                        if isinstance(one, dict) and (when := _epoch(one.get("ts"))):
                            profile = one.get("user_profile")
                            sender = names.get(str(one.get("user", "")))
                            sender = sender or _slack_name(profile if isinstance(profile, dict) else one)
                            said = _MENTION.sub(lambda m: "@" + names.get(m[1], m[1]), str(one.get("text", "")))
                            yield ChatMessage(f"#{clean(day[1])}", when, sender, clean(said))

        return _days(messages(), limits)


def _slack_name(user: Any) -> str:
    profile = user.get("profile") if isinstance(user.get("profile"), dict) else {}
    named = (user.get("real_name"), profile.get("real_name"), user.get("name"), user.get("username"))
    return next((_line(one) for one in named if one), "")


def read_discord(source: Source, limits: Limits) -> Extraction | None:
    """What the owner of the account wrote in one channel, by days."""
    data = source.read_whole(MAX_BYTES, "a channel of Discord")
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
        if (when := _iso(row["Timestamp"], zone=UTC))
    ]
    return _days(sorted(messages, key=lambda one: one.when), limits)


def _discord_channel(source: Source) -> str:
    """The name of the channel, which stands in a file beside the messages; its number where that is not there."""
    folder = source.name.replace("\\", "/").split("/")[-2]
    try:
        if not source.path:
            return folder
        with open_file(channel_of(source.path)) as stream:
            about = json.load(stream)
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


def _iso(value: Any, *, zone: tzinfo | None = None) -> datetime | None:
    """A moment in local time; one without a zone is of `zone`, or local itself."""
    try:
        moment = datetime.fromisoformat(str(value))
        return moment.replace(tzinfo=moment.tzinfo or zone).astimezone().replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return None


def _epoch(value: Any) -> datetime | None:
    try:
        return datetime.fromtimestamp(float(value))
    except (TypeError, ValueError, OverflowError, OSError):
        return None


CHUNK = 1 << 20
"""bytes read at a time"""
MAX_ITEM = 16 * MEGABYTE
"""characters of one item"""
HEAD = 4_096
"""characters before a list in which the values beside it are looked for"""

_BESIDE = re.compile(r'"(\w+)"\s*:\s*("(?:[^"\\]|\\.)*")')
_DECODER = json.JSONDecoder()

About = dict[str, str]
"""the strings that stand before a list, the last of each name"""


def lists_under(name: str, stream: BinaryIO) -> Iterator[tuple[About, Iterator[Any]]]:
    """Each list that an object holds under `name`: (what stands before it, its items).

    The items of one list are to be read before the next list. Raises ExtractionError "malformed" at damage.
    """
    text = _Text(stream)
    begin = re.compile(rf'(?<!\\)"{re.escape(name)}"\s*:\s*\[')
    while True:
        while (found := begin.search(text.held)) is None:
            text.drop(max(len(text.held) - HEAD, 0))
            if not text.more():
                return
        before = text.held[max(found.start() - HEAD, 0) : found.start()]
        about = {match[1]: json.loads(match[2], strict=False) for match in _BESIDE.finditer(before)}
        text.drop(found.end())
        yield about, text.items()


class _Text:
    """The part of a stream that was read and not yet used."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._at = 0
        self._read = ""

    @property
    def held(self) -> str:
        """What is not used yet."""
        if self._at:
            self._read, self._at = self._read[self._at :], 0
        return self._read

    def drop(self, n_chars: int) -> None:
        self._at += n_chars

    def more(self) -> bool:
        """Read on; False at the end."""
        data = self._stream.read(CHUNK)
        self._read = self.held + self._decoder.decode(data, final=not data)
        return bool(data)

    def items(self) -> Iterator[Any]:
        """The items up to the end of the list that has begun."""
        while True:
            self._at = _NO_SIGN.match(self._read, self._at).end()  # type: ignore[union-attr]  # it matches nothing, too
            if self._read.startswith("]", self._at):
                self._at += 1
                return
            try:
                item, end = _DECODER.raw_decode(self._read, self._at)
            except (ValueError, RecursionError) as error:
                if len(self.held) > MAX_ITEM or not self.more():
                    what = f"at most {shown_size(MAX_ITEM)} for one item" if len(self.held) > MAX_ITEM else "JSON"
                    raise ExtractionError("malformed", f"wanted {what}, got {self.held[:40]!r}") from error
                continue
            if end == len(self._read) and self.more():  # a number may go on
                continue
            yield item
            self._at = end


_NO_SIGN = re.compile(r"[\s,]*")
