"""Exported chats and those that a program keeps."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from indexer.documents import Extraction
from indexer.extract.kinds import extract_source
from indexer.extract.source import Limits, Source
from indexer.extract.sources.chats import CHUNK, read_discord, read_imessage, read_slack, read_telegram, read_whatsapp


def of(name: str, text: str | bytes) -> Source:
    return Source(name=name, data=text.encode() if isinstance(text, str) else text)


WHATSAPP = """\
[13/05/2024, 09:05:01] Anna Berg: Shall we go\r
to the heronry?
[13/05/2024, 09:06:00] Ben: Yes: at ten
[14/05/2024, 21:00:00] Anna Berg: \u200eimage omitted
"""


def test_whatsapp_gives_a_document_for_each_day() -> None:
    """Lines without a date belong to the message before them; 13 can only be a day."""
    found = read_whatsapp(of("WhatsApp Chat with Anna.txt", WHATSAPP), Limits())
    assert found is not None
    first, second = found.documents
    assert (first.title, first.part, first.type) == ("Anna, 2024-05-13", "Anna 2024-05-13", "chat")
    assert first.text == "09:05 Anna Berg: Shall we go\nto the heronry?\n09:06 Ben: Yes: at ten"
    assert (first.author, first.recipients) == ("Anna Berg; Ben", "Anna Berg; Ben")
    assert first.modified == datetime(2024, 5, 13, 9, 6).timestamp()
    assert second.text == "21:00 Anna Berg: image omitted"


@pytest.mark.parametrize(
    "name",
    [
        "WhatsApp Chat - Anna.txt",
        "WhatsApp-Chat mit Anna.txt",
        "Chat de WhatsApp con Anna.txt",
        "Чат WhatsApp с Anna.txt",
    ],
)
def test_the_name_of_a_chat_in_other_languages(name: str) -> None:
    found = read_whatsapp(of(name, WHATSAPP), Limits())
    assert found is not None
    assert found.documents[0].title == "Anna, 2024-05-13"


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("5/1/24, 9:05\u202fPM - Ben: hi", "2024-05-01"),
        ("01.05.24, 21:05 - Ben: hi", "2024-05-01"),
        ("2024-05-01, 21:05 - Ben: hi", "2024-05-01"),
    ],
)
def test_dates_of_whatsapp_in_each_country(line: str, day: str) -> None:
    found = read_whatsapp(of("_chat.txt", line), Limits())
    assert found is not None
    assert (found.documents[0].title, found.documents[0].text) == (day, "21:05 Ben: hi")


TELEGRAM = {
    "name": "Ben", "type": "personal_chat", "id": 7, "messages": [
        {"type": "service", "date": "2024-05-01T08:00:00", "text": ""},
        {"type": "message", "date": "2024-05-01T08:01:00", "from": "Ben",
         "text": ["see ", {"type": "bold", "text": "this"}]},
        {"type": "message", "date": "2024-05-02T08:01:00", "from": "Anna", "text": "heron"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("export", [TELEGRAM, {"chats": {"list": [TELEGRAM]}}])
def test_telegram_with_one_chat_or_all(export: object) -> None:
    """Styled pieces are put together; who joined is no message."""
    found = read_telegram(of("result.json", json.dumps(export)), Limits())
    assert found is not None
    assert [one.text for one in found.documents] == ["08:01 Ben: see this", "08:01 Anna: heron"]
    assert found.documents[0].recipients == "Ben; Anna"


def test_a_result_json_of_another_program_is_read_as_json() -> None:
    """The reader gives it back to the ordinary one, also where the source is named."""
    source = of("result.json", '{"heron": 5}')
    assert read_telegram(source, Limits()) is None
    (document,) = extract_source(source, Limits(sources=frozenset({"telegram"}))).documents
    assert (document.type, "heron" in document.text) == ("data", True)


def test_slack_with_names_for_numbers() -> None:
    """Users by their names, in the text too, whatever a message says of them; a document for each channel and day."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        users = [{"id": "U1", "real_name": "Anna Berg"}, {"id": "U2", "name": "ben"}]
        archive.writestr("users.json", json.dumps(users))
        archive.writestr("channels.json", "[]")
        odd = {"user": {}, "user_profile": "gone", "username": "bot"}
        day = [
            {**who, "ts": str(datetime(2024, 5, 1, 9, 5).timestamp()), "text": "hello <@U2>"}
            for who in ({"user": "U1"}, odd)
        ]
        archive.writestr("birds/2024-05-01.json", json.dumps(day))
    found = read_slack(of("Club Slack export May 1 2024.zip", packed.getvalue()), Limits())
    assert found is not None
    (document,) = found.documents
    assert (document.title, document.text) == (
        "#birds, 2024-05-01",
        "09:05 Anna Berg: hello @ben\n09:05 bot: hello @ben",
    )


def test_discord_with_the_name_of_its_channel(tmp_path: Path) -> None:
    """The name stands in the file beside the messages."""
    folder = tmp_path / "messages" / "c55"
    folder.mkdir(parents=True)
    (folder / "channel.json").write_text(json.dumps({"id": "55", "name": "birds", "guild": {"name": "Club"}}))
    path = folder / "messages.json"
    path.write_text(json.dumps([{"ID": 1, "Timestamp": "2024-05-01 09:05:00", "Contents": "a heron"}]))
    found = read_discord(Source(name=str(path), path=str(path)), Limits())
    assert found is not None
    here = datetime(2024, 5, 1, 9, 5, tzinfo=UTC).astimezone()
    assert found.documents[0].title == f"Club birds, {here:%Y-%m-%d}"
    assert found.documents[0].text == f"{here:%H:%M} me: a heron"
    assert found.documents[0].modified == here.timestamp()


def test_a_long_export_is_read_as_far_as_the_limits_go(tmp_path: Path) -> None:
    """Items that lie across the parts in which it is read; too much text; and an end in the middle of a message."""
    said = [
        {"type": "message", "date": "2024-05-01T10:00:00", "from": "Anna", "text": f'no {number}: "messages": ['}
        for number in range(30_000)
    ]
    whole = json.dumps({"name": "Birds", "type": "private_group", "messages": said})
    assert len(whole) > 2 * CHUNK

    def read(content: str, limits: Limits) -> Extraction:
        path = tmp_path / "result.json"
        path.write_text(content)
        found = read_telegram(Source(name=str(path), path=str(path)), limits)
        assert found is not None
        return found

    (day,) = read(whole, Limits()).documents
    assert day.text.split("\n") == [f'10:00 Anna: no {number}: "messages": [' for number in range(30_000)]
    first = read(whole, Limits(max_total_text_bytes=100_000))
    assert first.notes == ("only the first 100 kB of text are kept",)
    assert day.text.startswith(first.documents[0].text)
    half = read(whole[: len(whole) // 2], Limits())
    assert "read up to message 1" in half.notes[0]
    assert day.text.startswith(half.documents[0].text)


def test_imessage_with_plain_and_styled_text(tmp_path: Path) -> None:
    """Nanoseconds since 2001; a text that is only there as an archived object is taken out of it."""
    path = tmp_path / "Messages" / "chat.db"
    path.parent.mkdir()
    file = sqlite3.connect(path)
    file.executescript(
        "CREATE TABLE message (ROWID INTEGER PRIMARY KEY, text TEXT, attributedBody BLOB, date INTEGER,"
        " is_from_me INTEGER, handle_id INTEGER);"
        "CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, display_name TEXT, chat_identifier TEXT);"
        "CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);"
        "CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT);"
        "INSERT INTO chat VALUES (1, '', '+4670'); INSERT INTO handle VALUES (1, '+4670');"
        "INSERT INTO chat_message_join VALUES (1, 1), (1, 2);"
    )
    date = int((datetime(2024, 5, 1, 9, 5).timestamp() - 978_307_200) * 1e9)
    styled = b"\x04\x0bstreamtyped\x84\x84\x84\x08NSString\x01\x94\x84\x01+\x09the heron\x86\x84"
    file.execute("INSERT INTO message VALUES (1, 'hi', NULL, ?, 1, 0)", (date,))
    file.execute("INSERT INTO message VALUES (2, NULL, ?, ?, 0, 1)", (styled, date))
    file.commit()
    file.close()
    found = read_imessage(Source(name=str(path), path=str(path)), Limits())
    assert found is not None
    assert found.documents[0].title == "+4670, 2024-05-01"
    assert found.documents[0].text == "09:05 me: hi\n09:05 +4670: the heron"
