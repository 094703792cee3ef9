"""Which files are indexed, what they are, and who reads them: by the name, and by the first bytes where it misleads.

A *kind* names an extractor ("docx"), a *type* is what a user filters by ("document"); a row of `KINDS` holds both.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from functools import cache
from pkgutil import resolve_name
from typing import Any, NamedTuple

import msgspec

from indexer.documents import Extraction, storable
from indexer.errors import ExtractionError
from indexer.extract.source import Limits, Source, some_of
from indexer.extract.sources.known import not_named, source_of
from indexer.files.ignore_rules import pattern_of, why_unread


class FileKind(NamedTuple):
    type: str
    reader: str
    """module and name of an `Extractor`, below indexer.extract"""
    extensions: str = ""
    """lower case"""
    holds_files: bool = False
    """which are read as any other: its reader is a `NestedExtractor`"""
    is_added: bool = False
    """by an installed package: `reader` is a module and name of its own"""


KINDS: dict[str, FileKind] = {
    "text": FileKind("text", "markup.texts:extract_text", "txt text log nfo lst out err diz list changelog"),
    "manual": FileKind("text", "markup.texts:extract_manual", "1 2 3 4 5 6 7 8 9 1m 3pm man mdoc"),
    "subtitles": FileKind("text", "markup.texts:extract_subtitles", "srt vtt ass ssa"),
    "markdown": FileKind("markdown", "markup.notes:extract_markdown", "md markdown mdown mkd mkdn mdx rmd qmd"),
    "rst": FileKind("markdown", "markup.texts:extract_rst", "rst rest"),
    "org": FileKind("markdown", "markup.notes:extract_org", "org"),
    "latex": FileKind("document", "markup.texts:extract_latex", "tex latex ltx bib"),
    "pod": FileKind("markdown", "markup.texts:extract_pod", "pod"),
    "asciidoc": FileKind("markdown", "markup.texts:extract_asciidoc", "adoc asciidoc asc"),
    "source": FileKind(
        "source",
        "markup.texts:extract_source_code",
        """
        py pyi pyx pxd c h cc cpp cxx c++ hpp hh hxx h++ inl m mm cs java kt kts scala groovy gradle go rs
        swift js mjs cjs jsx ts tsx vue svelte rb erb php pl pm t r jl lua tcl sh bash zsh fish ksh csh bat
        cmd ps1 psm1 awk sed sql hs lhs ml mli fs fsx fsi elm clj cljs cljc edn lisp lsp cl el scm ss rkt erl
        hrl ex exs dart d nim zig v vhd vhdl sv svh asm s f for f77 f90 f95 f03 pas pp ada adb ads cob cbl vb
        vbs bas cu cl cuh glsl hlsl vert frag proto thrift graphql gql cmake mk mak makefile am ac m4 in tf
        hcl nix dockerfile vim css scss sass less styl ini cfg conf cnf config toml yaml yml properties env
        service timer socket desktop reg diff patch po pot gd sol cr hx odin raku prolog pro ipp tpp bzl bazel
        coffee sty cls pug jade haml ejs hbs mustache jinja j2 tpl""",
    ),
    "html": FileKind("html", "markup.html:extract", "html htm xhtml xht shtml"),
    "mht": FileKind("html", "mail.mail:extract_mht", "mht mhtml"),
    "xml": FileKind(
        "data",
        "markup.xml:extract",
        """
        xml xbrl xsd xsl xslt rss atom opml svg kml gpx dbk docbook tei wsdl plist rdf owl xmp dita""",
    ),
    "evernote": FileKind("markdown", "markup.xml:extract_notes", "enex"),
    "pdf": FileKind("pdf", "office.pdf:extract", "pdf"),
    "docx": FileKind("document", "office.open_xml:extract_docx", "docx docm dotx dotm"),
    "wordml": FileKind("document", "office.open_xml:extract_wordml"),
    "odt": FileKind("document", "office.opendocument:extract_text", "odt ott odm"),
    "fodt": FileKind("document", "office.opendocument:extract_flat_text", "fodt"),
    "fods": FileKind("spreadsheet", "office.opendocument:extract_flat_sheets", "fods"),
    "fodp": FileKind("presentation", "office.opendocument:extract_flat_slides", "fodp fodg"),
    "rtf": FileKind("document", "office.rtf:extract", "rtf"),
    "pptx": FileKind("presentation", "office.open_xml:extract_pptx", "pptx pptm ppsx ppsm potx potm"),
    "odp": FileKind("presentation", "office.opendocument:extract_slides", "odp otp odg"),
    "xlsx": FileKind("spreadsheet", "office.xlsx:extract", "xlsx xlsm xltx xltm"),
    "xls": FileKind("spreadsheet", "office.xls:extract"),
    "ods": FileKind("spreadsheet", "office.opendocument:extract_sheets", "ods ots"),
    "epub": FileKind("ebook", "office.ebooks:extract_epub", "epub"),
    "fb2": FileKind("ebook", "markup.xml:extract_book", "fb2"),
    "mobi": FileKind("ebook", "office.ebooks:extract_mobi", "mobi azw azw3 prc"),
    "djvu": FileKind("ebook", "office.ebooks:extract_djvu", "djvu djv"),
    "eml": FileKind("mail", "mail.mail:extract", "eml emlx", holds_files=True),
    "mbox": FileKind("mail", "mail.mail:extract_mbox", "mbox mbx", holds_files=True),
    "delimited": FileKind("data", "markup.texts:extract_delimited", "csv tsv tab psv"),
    "json": FileKind("data", "markup.texts:extract_json", "json jsonl ndjson geojson json5 jsonc webmanifest har"),
    "notebook": FileKind("notebook", "markup.notebook:extract", "ipynb"),
    "calendar": FileKind("calendar", "mail.calendar:extract", "ics ical ifb vcs"),
    "cards": FileKind("text", "mail.calendar:extract_cards", "vcf vcard"),
    "zip": FileKind("archive", "archives:extract_zip", "zip jar war ear whl xpi", holds_files=True),
    "tar": FileKind("archive", "archives:extract_tar", "tar tgz tbz tbz2 txz tzst", holds_files=True),
    "compressed": FileKind("archive", "archives:extract_packed", "gz bz2 xz lzma zst", holds_files=True),
    "libarchive": FileKind("archive", "archives:extract_by_bsdtar", "7z rar", holds_files=True),
    "ole": FileKind(
        "document", "office.compound:extract", "doc dot wiz xls xlt xla ppt pps pot msg oft", holds_files=True
    ),
    "picture": FileKind("image", "media.media:extract_picture", "png jpg jpeg jpe tif tiff webp heic heif avif gif"),
    "recording": FileKind("audio", "media.media:extract_recording", "mp3 m4a m4b ogg oga opus flac wav aif aiff wma"),
    "film": FileKind("video", "media.media:extract_film", "mp4 m4v mov wmv mkv webm avi"),
}
"""By name."""

TYPE_OF_KIND: dict[str, str] = {name: kind.type for name, kind in KINDS.items()}
KIND_OF_EXTENSION: dict[str, str] = {end: name for name, kind in KINDS.items() for end in kind.extensions.split()}

READERS = "foltr_search.readers"
"""Entry points of packages that add readers: NAME is an extension, or with a dot a file's name"""
ADDED: dict[str, str] = {}
"""Extension or name of a file -> the kind that a package added"""


@cache
def take_readers() -> None:
    """Add what installed packages read; what the program reads itself stays as it is.

    Nothing of a package is loaded here: that is for the process that reads a file, which has no rights.
    """
    if not any(map(_adds_readers, sys.path)):
        return
    from importlib.metadata import entry_points  # takes a tenth of a scan to load, and few have any

    for point in entry_points(group=READERS):
        name = point.name.lower()
        known = KIND_OF_NAME if "." in name else KIND_OF_EXTENSION
        if name not in known and name not in NOT_READ:
            ADDED[name] = known[name] = kind = f"{point.value} for {name}"
            KINDS[kind] = FileKind("document", point.value, is_added=True)
            TYPE_OF_KIND[kind] = "document"


def _adds_readers(folder: str) -> bool:
    """Whether a package that is installed in a folder says so."""
    try:
        with os.scandir(folder) as listing:
            installed = [entry.path for entry in listing if entry.name.endswith(".dist-info")]
    except OSError:
        return False
    for path in installed:
        with suppress(OSError), open(os.path.join(path, "entry_points.txt"), "rb") as file:
            if READERS.encode() in file.read():
                return True
    return False


_SOURCE_NAMES = """
    makefile gnumakefile dockerfile containerfile vagrantfile rakefile gemfile procfile justfile jenkinsfile
    cmakelists.txt meson.build .bashrc .zshrc .profile .gitconfig .vimrc"""

KIND_OF_NAME: dict[str, str] = dict.fromkeys(_SOURCE_NAMES.split(), "source") | dict.fromkeys(
    ("mbox", "inbox", "sent"), "mbox"
)
"""Whole file names, lower case, that decide before the extension does."""

_BY_NAME: dict[str, str] = {
    "image": """
        bmp ico icns psd xcf raw cr2 nef arw dng eps ai sketch fig""",
    "audio": "aac mid midi",
    "video": "flv mpg mpeg 3gp vob",
    "archive": "cab lz4 lz br zpaq iso img dmg deb rpm apk ipa snap flatpak appimage",
    "mail": "pst ost",
    "other": """
        indd ttf otf woff woff2 eot pfb pfm afm exe dll so dylib a lib ko elf bin com msi sys pyd wasm pdb map
        db sqlite sqlite3 db3 mdb accdb frm ibd myd myi vdi vmdk qcow2 vhdx ova npy npz pkl pickle pt pth onnx
        h5 hdf5 hdf parquet feather arrow avro orc mat rds rdata sav dta safetensors gguf ggml tflite pb ckpt
        torrent pem key crt cer der p12 pfx jks gpg pgp sig ps kdbx mo gmo qm pak blend fbx stl glb 3ds dwg skp""",
}
"""Extensions of files of which nothing is read: they are found by their names, and what they are."""

_PASSED_OVER = """
    pyc pyo class o obj rlib rmeta idb ilk exp pch gch ldb wal shm swp swo swn tmp part crdownload lock lck pid sock
    cache msf"""

TYPE_BY_NAME: dict[str, str] = {name: kind for kind, names in _BY_NAME.items() for name in names.split()}
PASSED_OVER: frozenset[str] = frozenset(_PASSED_OVER.split())
"""Extensions of what programs leave behind for themselves and nobody looks for: not even the name is indexed."""

NOT_READ: frozenset[str] = PASSED_OVER | TYPE_BY_NAME.keys()
"""Extensions of files that are never opened."""

PACKED = frozenset({"gz", "bz2", "xz", "lzma", "zst"})


def base_name(path: str) -> str:
    """The last component of `path`, also of a member name written with backslashes."""
    return path.rpartition("/")[2].rpartition("\\")[2]


_MAILDIR = re.compile(r"(?:^|[/\\])(?:cur|new)[/\\]1\d{8,9}\.\w+[.,][^/\\]+$|[:;!]2,[A-Za-z]*$")
"""Names of mails in a Maildir: seconds since the epoch, something unique and a host; or with flags."""


def is_in_maildir(path: str) -> bool:
    """Whether `path` is one that a Maildir gives to a mail."""
    hints = "2," in path or "cur" in path or "new" in path  # looking for these is much faster than the pattern
    return hints and _MAILDIR.search(path) is not None


def extension(path: str) -> str:
    """The extension of `path` without its dot, lower case; "" when there is none ("README", ".bashrc")."""
    return _ending(base_name(path)).lower()


def _ending(name: str) -> str:
    stem, _, last = name.rpartition(".")
    return last if stem else ""


def kind_of(path: str) -> str | None:
    """The kind that the name of `path` says: "" when the name says nothing, None when it is not read."""
    name = base_name(path).lower()
    if name in KIND_OF_NAME:
        return KIND_OF_NAME[name]
    if is_in_maildir(path):
        return "eml"
    last = _ending(name)
    if last in NOT_READ or (last.isdecimal() and ".so." in name):
        return None
    if last in PACKED and extension(name[: -len(last) - 1]) == "tar":
        return "tar"
    return KIND_OF_EXTENSION.get(last, "")


def added_kind(path: str) -> str:
    """The kind that a package added and that the name of `path` says; "" for none."""
    kind = kind_of(path) if ADDED else ""
    return kind if kind and KINDS[kind].is_added else ""


def holds_text(path: str) -> bool:
    """Whether a member of an archive or a mail is worth reading: pictures and recordings are not."""
    return kind_of(path) not in (None, "picture", "recording", "film")


def document_type(path: str) -> str | None:
    """The type of the file at `path` by its name: one of `documents.TYPES`, or None when it is not read.

    A name that says nothing counts as "text": the content decides when the file is read, and a binary file
    is then found by its name as "other". `notes.txt.gz` has the type of `notes.txt`.
    """
    kind = kind_of(path)
    if kind is None:
        return None
    if kind == "compressed":
        name = base_name(path)
        inner = name[: -len(extension(name)) - 1]
        return TYPE_OF_KIND[kind_of(inner) or "text"] if holds_text(inner) else None
    if kind == "ole":
        return _TYPE_OF_OLD_OFFICE.get(extension(path), "document")
    return TYPE_OF_KIND[kind or "text"]


def type_by_name(path: str) -> str | None:
    """What a file is of which nothing could be read; None for what is passed over whatever it holds."""
    last = extension(path)
    if last in PASSED_OVER:
        return None
    found = document_type(path) if kind_of(path) else None
    return found or TYPE_BY_NAME.get(last, "other")


_TYPE_OF_OLD_OFFICE = {"msg": "mail", "oft": "mail"} | {
    end: type_
    for type_, ends in (("spreadsheet", "xls xlt xla"), ("presentation", "ppt pps pot"))
    for end in ends.split()
}

HEAD = 4_096
"""bytes that are looked at"""

_PREFIXES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "pdf"),
    (b"{\\rtf", "rtf"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
    (b"\x1f\x8b\x08", "compressed"),
    (b"BZh", "compressed"),
    (b"\xfd7zXZ\x00", "compressed"),
    (b"\x28\xb5\x2f\xfd", "compressed"),
    (b"7z\xbc\xaf\x27\x1c", "libarchive"),
    (b"Rar!\x1a\x07", "libarchive"),
    (b"AT&TFORM", "djvu"),
    (b"\x78\x9f\x3e\x22", "eml"),  # winmail.dat
)
_ZIPPED = frozenset({"docx", "odt", "pptx", "odp", "xlsx", "ods", "epub", "zip"})
_PACKED = frozenset({"tar", "compressed"})
_MEDIA_TYPES: dict[bytes, str] = {
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
    b"application/vnd.oasis.opendocument.presentation": "odp",
    b"application/vnd.oasis.opendocument.graphics": "odp",
    b"application/epub+zip": "epub",
}
_WORD_XML = re.compile(rb"<(?:w:wordDocument|pkg:package)\b|progid=\"Word\.Document\"")
"""Word in one XML file, of 2003 and since 2006."""
_EARLY_WORKBOOK = re.compile(rb"\x09[\x00\x02\x04\x08][\x04-\x10]\x00")
"""The first record of Excel 2 to 5 outside of a container."""
_MAIL_HEADER = re.compile(rb"(?:^|\n)(?:Message-ID|Received|MIME-Version|Return-Path|Subject):", re.IGNORECASE)
_FIRST_HEADER = re.compile(rb"[A-Za-z][A-Za-z0-9-]*:[ \t]")
_SURE_HEADERS = re.compile(rb"^(Message-ID|Received|MIME-Version|Return-Path|From|To|Date|Subject):", re.I | re.M)
_MAILBOX = re.compile(rb"^From (?:\S[^\n]{0,500}\d\d:\d\d[^\n]*|\r?)\n(?:>?[A-Za-z-]+:|>From )")


def kind_by_content(kind: str | None, head: bytes) -> str:
    """The kind of a file that begins with `head` and whose name says `kind`: "" nothing, None not read.

    Raises ExtractionError "unsupported" for kinds that are not read.
    """
    if kind is None:
        raise ExtractionError("unsupported", "a kind of file whose text cannot be read")
    if kind in KINDS and KINDS[kind].is_added:
        return kind
    found = next((wanted for prefix, wanted in _PREFIXES if head.startswith(prefix)), "")
    if not found and b"%PDF-" in head[:1024] and kind in ("pdf", ""):
        found = "pdf"
    if found == "zip":
        return kind if kind in _ZIPPED else _zipped_kind(head)
    if found == "compressed":
        return kind if kind in _PACKED else "compressed"
    if found:
        return found
    if kind in ("xml", "ole", "docx", "") and _WORD_XML.search(head):
        return "wordml"
    if kind == "":
        return _unnamed(head)
    if kind == "ole" and _EARLY_WORKBOOK.match(head):
        return "xls"
    if kind in ("rtf", "ole", "docx", "xlsx"):
        return "html" if _looks_like_html(head) else ("text" if kind == "ole" else kind)
    return kind


def _unnamed(head: bytes) -> str:
    """The kind of a file whose name says nothing."""
    if _looks_like_html(head):
        return "html"
    if _MAILBOX.match(head):
        return "mbox"
    if head[257:262] == b"ustar":
        return "tar"
    if head.startswith(b"#!"):
        return "source"
    if head.lstrip().startswith(b"<?xml"):
        return "xml"
    if _looks_like_mail(head):
        return "eml"
    return "calendar" if head.startswith(b"BEGIN:VCALENDAR") else "text"


def _looks_like_mail(head: bytes) -> bool:
    """Whether `head` begins with a header, and what stands up to the first empty line has those that mails have."""
    if head.startswith((b"Return-Path:", b"Received:", b"Delivered-To:", b"From:")):
        return len(_MAIL_HEADER.findall(head)) > 1
    headers = head.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    found = {name.lower() for name in _SURE_HEADERS.findall(headers)}
    return _FIRST_HEADER.match(head) is not None and found >= {b"from", b"date"} and len(found) > 3


def _looks_like_html(head: bytes) -> bool:
    start = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype html", b"<html"))


def _zipped_kind(head: bytes) -> str:
    """The kind of a ZIP file by its first member: office formats and EPUB say what they are there."""
    name_length = int.from_bytes(head[26:28], "little")
    name = head[30 : 30 + name_length]
    content = head[30 + name_length + int.from_bytes(head[28:30], "little") :]
    if name == b"mimetype":
        for media_type in sorted(_MEDIA_TYPES, key=len, reverse=True):
            if content.startswith(media_type):
                return _MEDIA_TYPES[media_type]
    if name in (b"[Content_Types].xml", b"_rels/.rels"):
        for part, kind in ((b"word/", "docx"), (b"xl/", "xlsx"), (b"ppt/", "pptx")):
            if part in head:
                return kind
    return "zip"


@cache
def load(extractor: str, where: str = "indexer.extract.") -> Any:
    """The function of that name, its module loaded for the first file that wants it: most are never wanted.

    ExtractionError where that fails, as in a process that lives through an upgrade: no damage of the file.
    """
    try:
        return resolve_name(where + extractor)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise ExtractionError("crashed", f"its reader could not be loaded: {error}") from error


def _of_named_source(source: Source, limits: Limits) -> Extraction | None:
    """What the reader of a named source finds; None for an ordinary file, "unsupported" for one of another source."""
    found = source_of(source.name)
    if found is None:
        return None
    if found.name in limits.sources:
        named: Extraction | None = load(found.reader)(source, limits)
        return named
    if found.is_own:
        raise ExtractionError("unsupported", not_named(found))
    return None


def extract_source(source: Source, limits: Limits) -> Extraction:
    """What `source` holds; raises ExtractionError and nothing else but MemoryError."""
    try:
        if source.depth and (secret := pattern_of(source.name, limits.secrets)):
            raise ExtractionError("unsupported", why_unread(secret))
        if (named := _of_named_source(source, limits)) is not None:
            return _storable(named, some_of(named.notes))
        kind = kind_by_content(kind_of(source.name), head := source.read(HEAD))
        known = KINDS.get(kind, KINDS["text"])
        if len(head) < HEAD and not (known.holds_files or known.is_added):  # that is all of it
            source = msgspec.structs.replace(source, data=head)
        if known.holds_files and kind != "ole" and source.depth >= limits.max_depth:  # mails aside, "ole" holds none
            raise ExtractionError("too-large", f"packed more than {limits.max_depth} times over")
        members = (extract_source,) if known.holds_files else ()
        reader = load(known.reader, "") if known.is_added else load(known.reader)
        found: Extraction = reader(source, limits, *members)
    except (ExtractionError, MemoryError):
        raise
    except OSError as error:
        raise ExtractionError("unreadable", error.strerror or _brief(error)) from error
    except Exception as error:  # whatever a parser raises on damaged data is that file's failure
        raise ExtractionError("malformed", _brief(error)) from error
    notes = some_of(found.notes)
    silent = (one.type in _WITH_TEXT and not one.text.strip() for one in found.documents)
    if not notes and found.documents and all(silent):
        notes = (NO_TEXT,)
    return _storable(found, notes)


NO_TEXT = "no text was found in it"
"""what is said of a file that should have text and has none; its name is found all the same"""
_WITH_TEXT = frozenset({"document", "presentation", "ebook", "pdf", "spreadsheet"})
"""Types of which an empty one is worth a word; an empty text file is what it is."""


def extract_file(path: str, limits: Limits) -> Extraction:
    """What the file at `path` holds; raises ExtractionError with a line for a person, or MemoryError."""
    take_readers()
    return extract_source(Source(name=path, path=path), limits)


def _storable(found: Extraction, notes: tuple[str, ...]) -> Extraction:
    """The documents with texts that UTF-8 can hold, whatever an extractor let through."""
    documents = []
    for one in found.documents:
        texts = {name: storable(getattr(one, name)) for name in ("text", "part", "title", "author", "recipients")}
        pairs = tuple((storable(name), storable(value)) for name, value in one.properties)
        documents.append(msgspec.structs.replace(one, properties=pairs, **texts))
    return Extraction(documents=tuple(documents), notes=notes)


def _brief(error: Exception) -> str:
    """The first line of what a library says, with its class when it says little."""
    message = " ".join(str(error).split())[:150]
    return f"damaged or not what its name says ({type(error).__name__}{': ' if message else ''}{message})"
