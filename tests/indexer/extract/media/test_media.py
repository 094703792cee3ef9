"""Pictures and recordings made by hand: what describes them is read, and damage costs no more than that."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

import pytest

from indexer.extract.kinds import document_type
from indexer.extract.media.media import _duration
from indexer.properties import shown

Value = str | int | list[int] | tuple[tuple[int, int], ...]


def tiff(
    image: Mapping[int, Value], exif: Mapping[int, Value] | None = None, gps: Mapping[int, Value] | None = None
) -> bytes:
    """A TIFF file (little-endian) of up to three lists of tags: text, numbers, fractions."""
    beside = {pointer: one for pointer, one in ((0x8769, exif), (0x8825, gps)) if one}
    lists: list[dict[int, Value]] = [dict(image) | dict.fromkeys(beside, 0), *(dict(one) for one in beside.values())]
    starts = [8]
    for one in lists:
        starts.append(starts[-1] + 2 + 12 * len(one) + 4)
    lists[0] |= dict(zip(beside, starts[1:], strict=False))
    data, blob = b"", b""
    for one in lists:
        data += struct.pack("<H", len(one))
        for number, value in sorted(one.items()):
            kind, count, raw = _packed(value)
            if len(raw) > 4:
                blob, raw = blob + raw, struct.pack("<I", starts[-1] + len(blob))
            data += struct.pack("<HHI", number, kind, count) + raw.ljust(4, b"\0")
        data += bytes(4)
    return b"II*\0" + struct.pack("<I", 8) + data + blob


def _packed(value: Value) -> tuple[int, int, bytes]:
    if isinstance(value, str):
        return 2, len(value.encode()) + 1, value.encode() + b"\0"
    if isinstance(value, int):
        return 4, 1, struct.pack("<I", value)
    if isinstance(value, list):
        return 1, len(value), bytes(value)
    return 5, len(value), b"".join(struct.pack("<II", *one) for one in value)


def jpeg(exif: bytes = b"", *, width: int = 4000, height: int = 3000) -> bytes:
    """The head of a JPEG picture: EXIF, a frame, and no more."""
    app1 = b"Exif\0\0" + exif
    part = b"\xff\xe1" + struct.pack(">H", len(app1) + 2) + app1 if exif else b""
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 8 + 3, 8, height, width, 1) + bytes(3)
    return b"\xff\xd8" + part + frame + b"\xff\xda" + bytes(10) + b"\xff\xd9"


def png(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IEND", b"")
    )


def id3(**frames: str) -> bytes:
    """An ID3v2.3 tag and a silent frame of MP3."""
    body = b"".join(
        name.encode() + struct.pack(">IH", len(text.encode("utf-16")) + 1, 0) + b"\1" + text.encode("utf-16")
        for name, text in frames.items()
    )
    size = bytes(len(body) >> shift & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\3\0\0" + size + body + (b"\xff\xfb\x90\x00" + bytes(413)) * 50


def flac(**comments: str) -> bytes:
    info = (
        struct.pack(">HH", 4096, 4096)
        + bytes(6)
        + (44_100 << 44 | 1 << 41 | 15 << 36 | 44_100 * 245).to_bytes(8, "big")
        + bytes(16)
    )
    texts = [f"{name}={text}".encode() for name, text in comments.items()]
    vorbis = struct.pack("<II", 0, len(texts)) + b"".join(struct.pack("<I", len(text)) + text for text in texts)
    return b"fLaC\0" + len(info).to_bytes(3, "big") + info + b"\x84" + len(vorbis).to_bytes(3, "big") + vorbis


def m4a(title: str, artist: str) -> bytes:
    def atom(name: bytes, *inside: bytes) -> bytes:
        data = b"".join(inside)
        return struct.pack(">I", len(data) + 8) + name + data

    def tag(name: bytes, text: str) -> bytes:
        return atom(name, atom(b"data", struct.pack(">II", 1, 0), text.encode()))

    meta = atom(b"meta", bytes(4), atom(b"ilst", tag(b"\xa9nam", title), tag(b"\xa9ART", artist)))
    return atom(b"ftyp", b"M4A \0\0\0\0") + atom(b"moov", atom(b"udta", meta))


PHOTO = tiff(
    {0x10E: "Boats at the quay", 0x10F: "Canon", 0x110: "Canon EOS 5D", 0x132: "2027:01:01 00:00:00", 0x13B: "Ann"},
    {0x9003: "2026:05:01 10:00:00", 0x9011: "+02:00"},
    {1: "N", 2: ((38, 1), (43, 1), (9, 1)), 3: "W", 4: ((9, 1), (8, 1), (2364, 100))},
)


def test_a_photo_says_when_where_and_by_what_it_was_taken(single) -> None:
    """Make and model once, the moment of the shutter with its zone, degrees, the size of the frame."""
    document = single("a.jpg", jpeg(PHOTO))
    assert (document.text, document.type, document.title, document.author) == ("", "image", "Boats at the quay", "Ann")
    assert shown(document.properties) == {
        "camera": ["Canon EOS 5D"],
        "taken": ["2026-05-01T10:00:00+02:00"],
        "place": [f"{38 + 43 / 60 + 9 / 3600:.4f} N, {9 + 8 / 60 + 23.64 / 3600:.4f} W"],
        "pixels": ["4000x3000"],
    }


def test_tiff_and_png(single) -> None:
    """A TIFF file is its tags; a PNG has a size; the keywords of Windows are tags."""
    words = list("boats; quay".encode("utf-16-le"))
    document = single("a.TIFF", tiff({0x10F: "Nikon", 0x110: "D90", 0x9C9E: words}))
    assert shown(document.properties)["camera"] == ["Nikon D90"]
    assert shown(document.properties)["tag"] == ["boats", "quay"]
    assert single("a.png", png(640, 480)).properties == (("pixels", "640x480"),)


def test_the_comment_that_windows_shows_is_read(single) -> None:
    """In UTF-16, where the picture has no title."""
    assert single("a.jpg", jpeg(tiff({0x9C9C: list("zebra seen".encode("utf-16-le"))}))).title == "zebra seen"


def test_what_a_camera_writes_into_every_picture_is_no_title(single) -> None:
    """Nor is a date of zeros a date."""
    document = single("a.jpg", jpeg(tiff({0x10E: "OLYMPUS DIGITAL CAMERA", 0x132: "0000:00:00 00:00:00"}), width=0))
    assert (document.title, document.properties) == ("", (("taken", "0000-00-00T00:00:00"),))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.mp3", id3(TIT2="Sinnerman", TPE1="Nina Simone", TALB="Pastel Blues", TYER="1965", TCON="Jazz")),
        (
            "a.flac",
            flac(TITLE="Sinnerman", ARTIST="Nina Simone", ALBUM="Pastel Blues", DATE="1965-10-01", GENRE="Jazz"),
        ),
    ],
)
def test_a_song_says_who_plays_what(single, name: str, data: bytes) -> None:
    """ID3 and Vorbis comments give the same."""
    document = single(name, data)
    assert (document.type, document.title, document.text) == ("audio", "Sinnerman", "")
    found = shown(document.properties)
    assert [found[one] for one in ("artist", "album", "genre", "year")] == [
        ["Nina Simone"], ["Pastel Blues"], ["Jazz"], ["1965"],
    ]  # fmt: skip


def test_atoms_of_mp4(single) -> None:
    """Songs and films alike."""
    for name, type_ in (("a.m4a", "audio"), ("a.mp4", "video")):
        document = single(name, m4a("Sinnerman", "Nina Simone"))
        assert (document.type, document.title, document.properties) == (
            type_,
            "Sinnerman",
            (("artist", "Nina Simone"),),
        )


def element(number: int, *inside: bytes) -> bytes:
    """One element of Matroska."""
    data = b"".join(inside)
    return number.to_bytes((number.bit_length() + 7) // 8, "big") + (1 << 56 | len(data)).to_bytes(8, "big") + data


def mkv() -> bytes:
    """A minute and five seconds, made on New Year's Day of 2001, with two tags; the title stands behind a picture."""
    tag = element(0x67C8, element(0x45A3, b"DIRECTOR"), element(0x4487, "Agn\u00e8s Varda".encode()))
    year = element(0x67C8, element(0x45A3, b"DATE_RELEASED"), element(0x4487, b"1962-04-11"))
    info = element(
        0x1549A966, element(0x2AD7B1, (1_000_000).to_bytes(3, "big")), element(0x4489, struct.pack(">d", 65_000.0)),
        element(0x4461, (3_600 * 10**9).to_bytes(8, "big")), element(0x7BA9, b"Cleo from 5 to 7"),
    )  # fmt: skip
    inside = element(0x1F43B675, bytes(5_000)) + info + element(0x1254C367, element(0x7373, tag, year))
    return element(0x1A45DFA3, element(0x4282, b"matroska")) + element(0x18538067, inside)


def riff(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)


def avi() -> bytes:
    """Three hundred frames of 40 ms, whose list INFO stands behind the pictures."""
    header = riff(b"LIST", b"hdrl" + riff(b"avih", struct.pack("<IIIII", 40_000, 0, 0, 0, 300) + bytes(36)))
    info = riff(b"LIST", b"INFO" + riff(b"INAM", b"Harbour\0") + riff(b"ICRD", b"2004-05-01\0"))
    return riff(b"RIFF", b"AVI " + header + riff(b"LIST", b"movi" + bytes(5_001)) + info)


def gif(*comments: bytes) -> bytes:
    """Two pixels by one with a table of two colours, one frame, and comments."""
    said = b"".join(b"!\xfe" + bytes([len(one)]) + one + b"\0" for one in comments)
    frame = b"," + bytes(4) + struct.pack("<HH", 2, 1) + b"\0" + b"\2" + b"\2\x44\1" + b"\0"
    return b"GIF89a" + struct.pack("<HH", 2, 1) + b"\x80\0\0" + bytes(6) + frame + said + b";"


def test_films_of_other_containers(single) -> None:
    """Title, who made it, year, length and date, wherever in the file they stand."""
    film = single("a.webm", mkv())
    assert (film.type, film.title) == ("video", "Cleo from 5 to 7")
    assert shown(film.properties) == {
        "artist": ["Agn\u00e8s Varda"], "year": ["1962"], "created": ["2001-01-01T01:00:00+00:00"],
        "duration": ["1:05"],
    }  # fmt: skip
    film = single("a.avi", avi())
    assert (film.type, film.title) == ("video", "Harbour")
    assert shown(film.properties) == {"created": ["2004-05-01"], "duration": ["0:12"]}


def test_a_gif_has_a_size_and_comments(single) -> None:
    """Also those that stand behind its frames."""
    document = single("a.gif", gif(b"Made for Ann", b"at the quay"))
    assert (document.type, document.text) == ("image", "")
    assert shown(document.properties) == {"pixels": ["2x1"], "comment": ["Made for Ann", "at the quay"]}


XMP = b"""<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
 xmlns:lr="http://ns.adobe.com/lightroom/1.0/">
<rdf:Description photoshop:City="Lisbon" photoshop:DateCreated="2026-05-02T09:00:00" photoshop:Unknown="no">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Boats</rdf:li></rdf:Alt></dc:title>
<dc:description><rdf:Alt><rdf:li>Red boats &amp; nets</rdf:li></rdf:Alt></dc:description>
<dc:creator><rdf:Seq><rdf:li>Ann</rdf:li><rdf:li>Bo</rdf:li></rdf:Seq></dc:creator>
<dc:subject><rdf:Bag><rdf:li>boats</rdf:li><rdf:li>harbour</rdf:li></rdf:Bag></dc:subject>
<lr:hierarchicalSubject><rdf:Bag><rdf:li>places|Portugal</rdf:li></rdf:Bag></lr:hierarchicalSubject>
</rdf:Description></rdf:RDF></x:xmpmeta>"""


def photoshop(*records: tuple[int, bytes]) -> bytes:
    """The resource of Photoshop that holds IPTC records, behind one that holds something else."""
    data = b"".join(b"\x1c\2" + bytes([number]) + struct.pack(">H", len(value)) + value for number, value in records)
    resources = b"8BIM\x04\x25\0\0" + struct.pack(">I", 2) + b"xx"
    resources += b"8BIM\x04\x04\3abc" + struct.pack(">I", len(data)) + data
    return b"\xff\xed" + struct.pack(">H", len(resources) + 16) + b"Photoshop 3.0\0" + resources


def test_what_people_wrote_about_a_picture(single) -> None:
    """XMP in any kind of picture, IPTC in a JPEG: title, description, author, keywords, place names, and the date."""
    document = single("a.png", png(640, 480) + XMP)
    assert (document.title, document.author) == ("Boats", "Ann; Bo")
    assert shown(document.properties) == {
        "taken": ["2026-05-02T09:00:00"], "place": ["Lisbon"], "pixels": ["640x480"],
        "tag": ["boats", "harbour", "places/Portugal"], "description": ["Red boats & nets"],
    }  # fmt: skip
    old = photoshop((5, b"Quay"), (25, b"boats"), (25, "K\u00e4hne".encode("cp1252")), (90, b"Porto"), (80, b"Bo"))
    document = single("a.jpg", b"\xff\xd8" + old + jpeg(PHOTO)[2:])
    found = shown(document.properties)
    assert (document.title, document.author, found["description"]) == ("Quay", "Ann", ["Boats at the quay"])
    assert (found["tag"], found["place"][1:]) == (["boats", "K\u00e4hne"], ["Porto"])


@pytest.mark.parametrize("cut", [30, 500, 900])
def test_a_damaged_packet_gives_what_comes_before_the_damage(single, cut: int) -> None:
    """Cut in the middle and closed by force, or with a bomb of entities inside."""
    document = single("a.png", png(1, 1) + XMP[:cut] + b"</x:xmpmeta>")
    assert dict(document.properties).get("place", "") == ("Lisbon" if cut > 30 else "")
    bomb = b'<!DOCTYPE x [<!ENTITY a "b">]>' + XMP.replace(b"Boats", b"&a;")
    assert single("a.png", png(1, 1) + bomb).type == "image"


def test_many_packets_begun_and_many_values_are_bounded(single) -> None:
    """Half a megabyte of beginnings without an end has no packet; of thousands of tags the first 200 are kept."""
    assert single("a.png", png(1, 1) + b"<x:xmpmeta " * 46_000).properties == (("pixels", "1x1"),)
    tags = b"".join(b'<a subject="%d"/>' % number for number in range(20_000))
    found = shown(single("a.png", png(1, 1) + b"<x:xmpmeta>" + tags + b"</x:xmpmeta>").properties)
    assert found["tag"] == [str(number) for number in range(200)]
    film = b"RIFF\0\0\0\0AVI " + b"".join(riff(b"IKEY", b"%d" % number) for number in range(1_000))
    assert shown(single("a.avi", film).properties)["tag"] == [str(number) for number in range(200)]


def test_a_scale_that_is_too_long_leaves_the_rest(single) -> None:
    """The title of a Matroska file stays; its length is counted in milliseconds, as it is without a scale."""
    facts = element(0x2AD7B1, b"\xff" * 300), element(0x4489, struct.pack(">d", 65_000.0)), element(0x7BA9, b"Cleo")
    film = single("a.mkv", element(0x1A45DFA3) + element(0x18538067, element(0x1549A966, *facts)))
    assert (film.title, film.properties) == ("Cleo", (("duration", "1:05"),))


DAMAGED = {
    "empty": b"", "beginning": b"\xff\xd8\xff", "garbage": b"garbage" * 300, "half a photo": jpeg(PHOTO)[:60],
    "half a song": id3(TIT2="x")[:25], "half a film": m4a("x", "y")[:40],
    "half a Matroska": mkv()[:5_100], "endless sizes": mkv()[:60] + b"\xff" * 90, "half an AVI": avi()[:150],
    "half a GIF": gif(b"x")[:20], "wrong IPTC": photoshop((5, b"Quay"))[:60],
    "no list": b"RIFF\0\0\0\0AVI LIST\0\0\0\0",
}  # fmt: skip


ENDINGS = ("jpg", "tif", "png", "heic", "webp", "gif", "mp3", "flac", "ogg", "m4a", "mp4", "wav", "mkv", "avi")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_damage_leaves_a_document(extract, ending: str, data: bytes) -> None:
    """A broken, empty or misnamed file is a document of its type that its name alone describes, perhaps with a note."""
    found = extract(f"a.{ending}", data)
    assert [document.type for document in found.documents] == [document_type(f"a.{ending}")]
    assert len(found.notes) <= 1


@pytest.mark.parametrize("size", [b"\xff", b"\x01" + b"\xff" * 7])
def test_pictures_of_a_film_that_is_still_recorded_hold_no_tags(single, size: bytes) -> None:
    """Their size is written at the end: what comes behind it are pictures, whatever they look like."""
    tag = element(0x1254C367, element(0x7373, element(0x67C8, element(0x45A3, b"TITLE"), element(0x4487, b"Noise"))))
    live = element(0x18538067, b"\x1f\x43\xb6\x75" + size + bytes(127) + tag)
    assert single("a.webm", element(0x1A45DFA3, element(0x4282, b"webm")) + live).title == ""


def test_a_damaged_description_is_said_in_plain_words(extract) -> None:
    """A part of a PNG without a name in ASCII ends its reader; the size is read all the same, and one line says why."""
    whole = png(40, 30)
    damaged = whole[:33] + struct.pack(">I4sBI", 1, b"\xff\xfe\xfd\xfc", 0, 0) + whole[33:]
    found = extract("a.png", damaged)
    assert found.notes == ("its description (EXIF) is damaged",)
    assert ("pixels", "40x30") in found.documents[0].properties


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, ""), (5.4, "0:05"), (245.0, "4:05"), (3_750.0, "1:02:30"), (36_000.0, "10:00:00")]
)
def test_durations(seconds: float, text: str) -> None:
    """Minutes and seconds, hours where there are any."""
    assert _duration(seconds) == text
