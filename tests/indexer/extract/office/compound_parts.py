"""Office files of before 2007, built byte by byte: the container, and small files of four programs."""

from __future__ import annotations

import struct
from datetime import timedelta

SECTOR = 512
_END, _FAT, _FREE = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
_SMALLEST = 4096
"""bytes below which a stream would go into the mini stream; the streams here are filled up with zeros instead"""


def compound(streams: dict[str, bytes]) -> bytes:
    """A compound file with `streams` by path; folders come from the paths."""
    names = sorted({"/".join(path.split("/")[: i + 1]) for path in streams for i in range(path.count("/") + 1)})
    numbers = {name: number for number, name in enumerate(names, 1)}
    sectors: list[bytes] = []
    table: list[int] = []

    def add(data: bytes) -> int:
        first, n = len(sectors), len(data) // SECTOR
        sectors.extend(data[i : i + SECTOR] for i in range(0, len(data), SECTOR))
        table.extend([*range(first + 1, first + n), _END])
        return first

    entries = []
    for name in ["", *names]:
        inside = [one for one in names if one.rpartition("/")[0] == name and one != name]
        if not name:
            inside = [one for one in names if "/" not in one]
        beside = [one for one in names if one.rpartition("/")[0] == name.rpartition("/")[0]] if name else []
        right = next((numbers[one] for one in beside if one > name), _FREE)
        child = numbers[inside[0]] if inside else _FREE
        kind = 5 if not name else 2 if name in streams else 1
        start, size = (_END if not name else 0), 0
        if name in streams:
            size = max(len(streams[name]), _SMALLEST)
            start = add(streams[name].ljust(-(-size // SECTOR) * SECTOR, b"\0"))
        label = (name.rpartition("/")[2] or "Root Entry").encode("utf-16-le")
        entry = label.ljust(64, b"\0") + struct.pack("<HBBIII", len(label) + 2, kind, 1, _FREE, right, child)
        entries.append(entry + bytes(36) + struct.pack("<IQ", start, size))
    while len(entries) % 4:
        entries.append(bytes(66) + b"\0\0" + struct.pack("<III", _FREE, _FREE, _FREE) + bytes(48))
    directory = add(b"".join(entries))
    n_fat = 1
    while n_fat * 128 < len(table) + n_fat:
        n_fat += 1
    first_fat = len(sectors)
    table += [_FAT] * n_fat
    table += [_FREE] * (n_fat * 128 - len(table))
    places = [first_fat + i for i in range(n_fat)] + [_FREE] * (109 - n_fat)
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, n_fat, directory, 0, _SMALLEST, _END, 0, _END, 0)
    head += struct.pack("<109I", *places)
    return head + b"".join(sectors) + struct.pack(f"<{len(table)}I", *table)


def summary(title: str, author: str) -> bytes:
    """A \x05SummaryInformation stream in code page 1252."""
    values = [(1, struct.pack("<II", 2, 1252))]
    for number, text in ((2, title), (4, author)):
        data = text.encode("cp1252") + b"\0"
        values.append((number, struct.pack("<II", 30, len(data)) + data.ljust(-(-len(data) // 4) * 4, b"\0")))
    at, table, content = 8 + 8 * len(values), b"", b""
    for number, data in values:
        table += struct.pack("<II", number, at + len(content))
        content += data
    section = struct.pack("<II", at + len(content), len(values)) + table + content
    return struct.pack("<HHI16sI", 0xFFFE, 0, 0, bytes(16), 1) + bytes(16) + struct.pack("<I", 48) + section


def word(
    *pieces: bytes | str, flags: int = 0, title: str = "", author: str = "", properties: dict[int, bytes] | None = None
) -> bytes:
    """A Word 97 file; bytes are pieces of one byte a character, str of two. They lie in the file back to front.

    `properties` are those of the characters of a piece, by its number.
    """
    text, places, runs = b"", [], list[tuple[int, int, bytes]]()
    for piece in reversed(pieces):
        data = piece if isinstance(piece, bytes) else piece.encode("utf-16-le")
        start = 0x400 + len(text)
        places.insert(0, start * 2 | 0x4000_0000 if isinstance(piece, bytes) else start)
        text += data + bytes(len(data) % 2)
        runs.append((start, 0x400 + len(text), (properties or {}).get(len(pieces) - len(places), b"")))
    bounds = [sum(len(piece) for piece in pieces[:i]) for i in range(len(pieces) + 1)]
    plc = struct.pack(f"<{len(bounds)}I", *bounds) + b"".join(struct.pack("<HIH", 0, place, 0) for place in places)
    clx = b"\x01\x02\x00ab" + b"\x02" + struct.pack("<I", len(plc)) + plc
    block = bytearray(0x400)
    struct.pack_into("<HHHHHH", block, 0, 0xA5EC, 0x00C1, 0, 0x0409, 0, 0x0200 | flags)
    struct.pack_into("<II", block, 0x01A2, 0, len(clx))
    text += bytes(-len(text) % 512)
    pages = struct.pack("<III", 0x400, runs[-1][1], (0x400 + len(text)) // 512) if properties else b""
    struct.pack_into("<II", block, 0x00FA, len(clx), len(pages))
    return compound(
        {
            "WordDocument": bytes(block) + text + _page_of_runs(runs), "1Table": clx + pages,
            "\x05SummaryInformation": summary(title, author),
        }
    )  # fmt: skip


def _page_of_runs(runs: list[tuple[int, int, bytes]]) -> bytes:
    """A page of the properties of characters: (first byte, end, properties) of runs that follow each other."""
    page, at = bytearray(512), 510
    bounds = [run[0] for run in runs] + [runs[-1][1]]
    struct.pack_into(f"<{len(bounds)}I", page, 0, *bounds)
    for number, (_, _, properties) in enumerate(runs):
        at -= 2 * (len(properties) // 2 + 1)
        page[at : at + 1 + len(properties)] = bytes([len(properties)]) + properties
        page[4 * len(bounds) + number] = at // 2 if properties else 0
    page[511] = len(runs)
    return bytes(page)


def word_6(text: bytes) -> bytes:
    """A Word 6 file saved whole."""
    block = bytearray(0x400)
    struct.pack_into("<HHHHHH", block, 0, 0xA5DC, 0x0065, 0, 0x0409, 0, 0)
    struct.pack_into("<II", block, 0x18, 0x400, 0x400 + len(text))
    return compound({"WordDocument": bytes(block) + text})


def record(kind: int, content: bytes, *, instance: int = 0, is_container: bool = False) -> bytes:
    """A record of PowerPoint."""
    return struct.pack("<HHI", instance << 4 | (0xF if is_container else 0), kind, len(content)) + content


def presentation(slides: list[dict[str, str]], *, old: str = "", token: int = 0xE391C05F) -> bytes:
    """A presentation; a slide has `outline`, `shape`, `notes` and `comment`. `old` is a slide of an earlier state."""
    data = record(0x03EE, record(0x0FA0, old.encode("utf-16-le")), is_container=True) if old else b""
    places: dict[int, int] = {}
    lists: dict[int, bytes] = {0: b"", 2: b""}

    def text(value: str) -> bytes:
        return record(0x0FA0, value.encode("utf-16-le"))

    for number, slide in enumerate(slides):
        own, notes_id = 10 + 2 * number, 500 + number
        lists[0] += record(0x03F3, struct.pack("<IIIII", own, 0, 0, 256 + number, 0))
        lists[0] += record(0x0FA8, slide.get("outline", "").encode("latin-1"))
        content = record(0x03EF, bytes(16) + struct.pack("<II", notes_id if "notes" in slide else 0, 0))
        content += record(0x040C, text(slide.get("shape", "")), is_container=True)
        if "comment" in slide:
            parts = [("Ann", 0), (slide["comment"], 1), ("A", 2)]
            strings = b"".join(record(0x0FBA, one.encode("utf-16-le"), instance=i) for one, i in parts)
            content += record(0x2EE0, strings, is_container=True)
        places[own] = len(data)
        data += record(0x03EE, content, is_container=True)
        if "notes" in slide:
            lists[2] += record(0x03F3, struct.pack("<IIIII", own + 1, 0, 0, notes_id, 0))
            places[own + 1] = len(data)
            data += record(0x03F0, text(slide["notes"]), is_container=True)
    places[1] = len(data)
    inside = b"".join(record(0x0FF0, content, instance=one, is_container=True) for one, content in lists.items())
    data += record(0x03E8, inside, is_container=True)
    directory = len(data)
    entries = b"".join(struct.pack("<II", 1 << 20 | number, place) for number, place in places.items())
    data += record(0x1772, entries)
    edit = len(data)
    data += record(0x0FF5, struct.pack("<IHBBIIIIHH", 0, 0, 0, 3, 0, directory, 1, 99, 0, 0))
    user = record(0x0FF6, struct.pack("<III", 20, token, edit) + bytes(12))
    return compound({"PowerPoint Document": data, "Current User": user})


def workbook(
    sheets: dict[str, list[list[str | float | timedelta | bytes]]],
    *,
    is_protected: bool = False,
    since_1904: bool = False,
) -> bytes:
    """An Excel 97 workbook of labels, numbers, truth values and dates, which are days since its first one; bytes are
    what is left of a damaged number."""

    def biff(kind: int, content: bytes) -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    def begin(kind: int) -> bytes:
        return biff(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0x0DBB, 0x07CC, 0, 6))

    bodies = []
    for rows in sheets.values():
        body = begin(0x0010)
        for y, row in enumerate(rows):
            for x, value in enumerate(row):
                if isinstance(value, str):
                    text = struct.pack("<HB", len(value), 1) + value.encode("utf-16-le")
                    body += biff(0x0204, struct.pack("<HHH", y, x, 0) + text)
                elif isinstance(value, bytes):
                    body += biff(0x0203, value)
                elif isinstance(value, bool):
                    body += biff(0x0205, struct.pack("<HHHBB", y, x, 0, value, 0))
                elif isinstance(value, timedelta):
                    body += biff(0x0203, struct.pack("<HHHd", y, x, 1, value / timedelta(days=1)))
                else:
                    body += biff(0x0203, struct.pack("<HHHd", y, x, 0, value))
        bodies.append(body + biff(0x000A, b""))
    head = begin(0x0005) + (biff(0x002F, struct.pack("<HHHH", 0, 0, 1, 2)) if is_protected else b"")
    head += biff(0x0022, struct.pack("<H", since_1904))
    head += b"".join(
        biff(0x00E0, struct.pack("<HH16x", 0, number)) for number in (0, 14)
    )  # formats of cells: any, date
    names = [struct.pack("<BB", len(name), 1) + name.encode("utf-16-le") for name in sheets]
    at = len(head) + sum(4 + 6 + len(name) for name in names) + 4
    table = b""
    for name, body in zip(names, bodies, strict=True):
        table += biff(0x0085, struct.pack("<IH", at, 0) + name)
        at += len(body)
    return compound({"Workbook": head + table + biff(0x000A, b"") + b"".join(bodies)})


def properties(numbers: dict[int, bytes], *, header: int) -> bytes:
    """A __properties_version1.0 stream: values of eight bytes by tag."""
    entries = b"".join(struct.pack("<HHI", 3, tag, 6) + value.ljust(8, b"\0") for tag, value in numbers.items())
    return bytes(header) + entries


def message(
    texts: dict[str, str],
    *,
    numbers: dict[int, bytes] | None = None,
    people: list[tuple[str, str, int]] | None = None,
    files: dict[str, bytes | dict[str, str]] | None = None,
    streams: dict[str, bytes] | None = None,
) -> bytes:
    """An Outlook message: texts by tag, recipients (name, address, type), attachments (bytes, or a message's texts)."""

    def inside(folder: str, values: dict[str, str], fixed: dict[int, bytes], header: int) -> dict[str, bytes]:
        found = {f"{folder}__properties_version1.0": properties(fixed, header=header)}
        found |= {f"{folder}__substg1.0_{tag}001F": value.encode("utf-16-le") for tag, value in values.items()}
        return found

    found = inside("", texts, numbers or {}, 32) | (streams or {})
    for number, (name, address, kind) in enumerate(people or []):
        folder = f"__recip_version1.0_#{number:08X}/"
        found |= inside(folder, {"3001": name, "39FE": address}, {0x0C15: struct.pack("<I", kind)}, 8)
    for number, (name, content) in enumerate((files or {}).items()):
        folder = f"__attach_version1.0_#{number:08X}/"
        found |= inside(folder, {"3707": name}, {}, 8)
        if isinstance(content, bytes):
            found[f"{folder}__substg1.0_37010102"] = content
        else:
            found |= inside(f"{folder}__substg1.0_3701000D/", content, {}, 24)
    return compound(found)
