"""What a user can set, where it is kept, and which folders the program uses.

The structs below are the one source of every key (`console.configuration` says how). Precedence: flag, then environment
variable, then config.toml, then the default.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from app.paths import Paths as Paths
from app.paths import SettingsError as SettingsError
from app.paths import typed_path
from console.configuration import Assignment, Effective, Scheme, Section
from console.durable import content_of
from indexer.documents import MAX_FILE_BYTES, MEGABYTE, TYPES

Folders = Annotated[list[str], "Folders to index; `foltr-search index FOLDER` adds to them."]
MACHINE = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""a name that ssh cannot take for anything else"""
Megabytes = Annotated[float, Meta(gt=0, le=1_000_000)]


def default_secrets() -> list[str]:
    """The names of files that nobody wants to be read aloud."""
    from indexer.files.ignore_rules import SECRETS

    return list(SECRETS)


class IndexSettings(Section, frozen=True):
    """What is indexed, and with which resources."""

    roots: Folders = field(default_factory=list)
    exclude: Annotated[list[str], "Patterns to exclude, as in .gitignore, relative to each root."] = field(
        default_factory=list
    )
    hidden: Annotated[bool, "Index files and folders whose name begins with a dot."] = False
    ignore_files: Annotated[bool, "Respect .gitignore and .ignore files."] = True
    follow_symlinks: Annotated[bool, "Follow symbolic links; loops are visited once."] = False
    cross_mounts: Annotated[bool, "Enter other file systems mounted below a root."] = False
    max_file_mb: Annotated[
        dict[str, Megabytes], "Skip files larger than this, in MB by type. Types not listed here keep their default."
    ] = field(default_factory=lambda: {kind: n_bytes / MEGABYTE for kind, n_bytes in MAX_FILE_BYTES.items()})
    max_text_mb: Annotated[
        float, Meta(gt=0, le=1024), "Most text to index of one document, in MB; the rest is cut off, and marked so."
    ] = 4.0
    archives: Annotated[bool, "Index plain files in ZIP and TAR archives; in 7z and RAR if bsdtar is installed."] = True
    sources: Annotated[
        list[str],
        "Other programs whose data is indexed: firefox, chromium, thunderbird, maildir, imessage, whatsapp, "
        "telegram, slack, discord; `foltr-search index --source NAME` adds to them.",
    ] = field(default_factory=list)
    names: Annotated[bool, "Also find by name what is not read: pictures, music, programs, failures."] = True
    secrets: Annotated[
        list[str],
        "Files with keys and passwords: found by name, but not read; `!NAME` makes an exception. "
        "Agents (mcp) never get files on the default list.",
    ] = field(default_factory=default_secrets)
    workers: Annotated[int, Meta(ge=0, le=256), "Processes that read files; 0 chooses by the number of cores."] = 0
    seconds_per_file: Annotated[
        float, Meta(gt=0, le=3600), "Processor time for one file, in seconds; what was read by then is kept."
    ] = 30.0
    memory_mb: Annotated[int, Meta(ge=128, le=1_000_000), "Memory for reading one file, in MB."] = 1024
    scan_minutes: Annotated[float, Meta(gt=0, le=10_080), "Minutes between scans if changes cannot be watched."] = 15.0


class SearchSettings(Section, frozen=True):
    """How queries are answered."""

    limit: Annotated[int, Meta(ge=1, le=1000), "Documents that are ranked; a query has at most so many results."] = 100
    page_size: Annotated[int, Meta(ge=1, le=100), "Results on one page; learning uses these."] = 10
    languages: Annotated[
        list[str], 'Languages to stem, as in ["english", "german"]; empty: recognised for each document.'
    ] = field(default_factory=list)
    debounce_ms: Annotated[int, Meta(ge=0, le=2000), "Pause in typing before the screen searches, in milliseconds."] = (
        60
    )


class MeaningSettings(Section, frozen=True):
    """Search by meaning, not only by words; needs the extra `meaning`."""

    enabled: Annotated[bool, "Compute vectors of texts on this device, and rank by them, too."] = True
    model: Annotated[
        str, "Folder of another encoder (model.onnx, and vocab.txt or tokenizer.json); empty: the shipped one."
    ] = ""
    one_shot: Annotated[
        bool,
        "Also in single commands, which then take .4 s longer (1.7 s with texts in several languages and "
        "the extra `languages`), unless a resident process answers.",
    ] = True
    languages: Annotated[bool, "Also find texts in other languages than the query; needs the extra `languages`."] = True
    pause_on_battery: Annotated[bool, "Compute no vectors while on battery."] = True


class Recognition(Section, frozen=True):
    """Text that is recognised in pictures, scans and recordings, in the background."""

    minutes_per_day: Annotated[
        float, Meta(ge=0, le=1440), "Processor time per day in the background, in minutes; 0: no limit."
    ] = 60.0
    pause_on_battery: Annotated[bool, "Pause in the background while on battery."] = True
    max_file_mb: Annotated[float, Meta(gt=0, le=100_000), "Skip files larger than this, in MB."] = 100.0

    @property
    def max_bytes(self) -> int:
        return int(self.max_file_mb * 1_000_000)


class OcrSettings(Recognition, frozen=True):
    """Text in pictures and scanned PDFs; needs the extra `ocr`, or tesseract."""

    background: Annotated[bool, "Recognise in the background, after all else; otherwise only `index --ocr` does."] = (
        False
    )
    engine: Annotated[Literal["auto", "rapidocr", "tesseract"], "auto: tesseract if installed, else rapidocr."] = "auto"
    languages: Annotated[list[str], 'Languages for tesseract, as in ["eng", "deu"]; rapidocr needs none.'] = field(
        default_factory=lambda: ["eng"]
    )
    max_pages: Annotated[int, Meta(ge=1, le=10_000), "Most pages of one PDF to recognise."] = 30
    seconds_per_file: Annotated[
        float, Meta(gt=0, le=3600), "Processor time for one file, in seconds; what was read by then is kept."
    ] = 60.0


class SpeechSettings(Recognition, frozen=True):
    """Speech in recordings and films; needs the extra `speech`."""

    background: Annotated[
        bool, "Recognise in the background, after all else; otherwise only `index --speech` does."
    ] = False
    max_file_mb: Annotated[float, Meta(gt=0, le=100_000), "Skip files larger than this, in MB."] = 4_000.0
    max_minutes: Annotated[int, Meta(ge=1, le=10_000), "Most minutes of one recording to recognise."] = 240


class LearningSettings(Section, frozen=True):
    """How the ranking learns from what you open."""

    enabled: Annotated[bool, "Learn from opened results; off: order by the shipped ranker."] = True
    strength: Annotated[float, Meta(ge=0, le=2), "How far learning may move results: 0 not at all, 1 as usual."] = 1.0
    exploration: Annotated[
        float, Meta(ge=0, le=10), "Temperature at which close results swap places at random; 0: never."
    ] = 0.0
    ranker: Annotated[Literal["linear", "neural"], "linear, or neural: one hidden layer of 64 units."] = "linear"
    learning_rate: Annotated[
        float,
        Meta(gt=0, le=10),
        "Step size of each lesson of the neural ranker (pairwise differentiable gradient descent).",
    ] = 0.5
    bound: Annotated[
        float, Meta(ge=0, le=100), "Learning swaps two results only if their text scores are closer than this."
    ] = 2.5
    remember_picks: Annotated[bool, "Remember what you opened for which query (as keyed hashes), and raise it."] = True
    interleave: Annotated[bool, "Mix the learned order with plain BM25 to measure which is better (see stats)."] = False
    max_interactions: Annotated[
        int, Meta(ge=0, le=1_000_000), "Most result pages kept to learn from (features, ranking, clicks; no text)."
    ] = 10_000


class HistorySettings(Section, frozen=True):
    """Past queries; none are kept unless you turn this on."""

    enabled: Annotated[bool, "Keep the text of past queries on this device."] = False
    max_entries: Annotated[int, Meta(ge=0, le=1_000_000), "Most queries kept; the oldest are deleted first."] = 1000


class ScreenSettings(Section, frozen=True):
    """The terminal screen."""

    theme: Annotated[str, "auto: light or dark like the terminal; or a theme of the palette, as nord."] = "auto"
    preview: Annotated[bool, "Show the preview pane beside the results."] = True
    pictures: Annotated[
        Literal["auto", "kitty", "sixel", "blocks", "off"],
        "Pictures and PDF pages. auto: kitty's protocol or sixels if available, else blocks.",
    ] = "auto"
    remember: Annotated[bool, "Start with the theme, panes, rows and filters of the last time."] = True
    keys: Annotated[
        dict[str, str], 'Keys by action, as in { open = "enter", preview = "ctrl+o" }; `?` lists the actions.'
    ] = field(default_factory=dict)


class OpenSettings(Section, frozen=True):
    """Programs that open a result; {path}, {line}, {page} and {seconds} are filled in, and no shell is involved."""

    editor: Annotated[str, 'Editor, as in "code --goto {path}:{line}"; empty: $VISUAL, then $EDITOR.'] = ""
    pager: Annotated[str, 'Pager, as in "less +{line} {path}"; empty: $PAGER, then less.'] = ""
    opener: Annotated[str, "Program for any file; empty: the system's own (xdg-open, open, the Windows shell)."] = ""
    pdf: Annotated[str, 'PDF viewer, as in "zathura -P {page} {path}"; empty: a known one, to open at a page.'] = ""
    player: Annotated[
        str, 'Media player, as in "mpv --start={seconds} {path}"; empty: a known one, to start at a moment.'
    ] = ""
    mail: Annotated[
        str,
        'Mail program, as in "thunderbird {path}", "neomutt -f {mailbox}" or "xdg-open mid:{message_id}"; {path} is'
        " a file with only this mail; empty: as any file, else the pager.",
    ] = ""
    folder: Annotated[str, 'File manager, as in "yazi {path}" or "mc {folder}"; empty: the system\'s own.'] = ""
    addresses: Annotated[list[str], 'Address schemes to open besides the web\'s, as in ["joplin"].'] = field(
        default_factory=list
    )
    enter: Annotated[Literal["system", "editor", "pager", "folder"], "What opens a result by default."] = "system"


class ResidentSettings(Section, frozen=True):
    """The resident process (`foltr-search serve`), with which commands answer at once."""

    start: Annotated[
        Literal["when asked", "on demand"],
        "when asked: only `serve` starts it; on demand: `search` does, to answer only, until idle.",
    ] = "when asked"
    idle_minutes: Annotated[float, Meta(gt=0, le=10_080), "Minutes without a query before it exits (serve --idle)."] = (
        10.0
    )


class FederationSettings(Section, frozen=True):
    """Sharing a common ranker with a group (`foltr-search join LINK`); docs/privacy.md says what leaves this device."""

    sync: Annotated[
        Literal["off", "daily", "hourly"], "How often the screen syncs by itself, once you agreed to it."
    ] = "off"
    epsilon_budget: Annotated[
        float, Meta(gt=0, le=1000), "Send nothing that would exceed this epsilon within budget_days."
    ] = 10.0
    budget_days: Annotated[int, Meta(ge=1, le=36_500), "Days in a row to which epsilon_budget applies."] = 365
    delta: Annotated[float, Meta(gt=0, le=0.01), "Delta at which epsilon is stated and the budget is counted."] = 1e-5
    allow_unprotected: Annotated[
        bool, "Also send updates from which the server can read what was opened; for research."
    ] = False
    timeout_seconds: Annotated[float, Meta(gt=0, le=600), "Longest time for one request to the server, in seconds."] = (
        20.0
    )
    retries: Annotated[int, Meta(ge=0, le=10), "How many times a failed request is repeated."] = 3
    proxy: Annotated[str, 'Address of a proxy; empty: none; "environment": as HTTPS_PROXY says.'] = ""
    ca: Annotated[str, "PEM file of certificate authorities for the group's server; empty: the usual ones."] = ""


class DevicesSettings(Section, frozen=True):
    """Several computers as one (`foltr-search devices`); docs/devices.md says what is shared."""

    share: Annotated[list[str], "Settings to share among your computers; config.toml overrides them on each."] = field(
        default_factory=lambda: ["learning.strength", "learning.bound", "search.languages", "search.page_size"]
    )
    ask: Annotated[list[str], "Machines, by their ssh names, that each search asks, too; `search --on` asks once."] = (
        field(default_factory=list)
    )
    ask_seconds: Annotated[float, Meta(gt=0, le=60), "Seconds to wait for a machine that does not answer."] = 3.0
    ssh: Annotated[str, 'The ssh program with options, as in "ssh -F ~/.ssh/home".'] = "ssh"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting, checked; made once at the edge and passed inward."""

    index: IndexSettings = IndexSettings()
    search: SearchSettings = SearchSettings()
    meaning: MeaningSettings = MeaningSettings()
    ocr: OcrSettings = OcrSettings()
    speech: SpeechSettings = SpeechSettings()
    learning: LearningSettings = LearningSettings()
    history: HistorySettings = HistorySettings()
    screen: ScreenSettings = ScreenSettings()
    open: OpenSettings = OpenSettings()
    resident: ResidentSettings = ResidentSettings()
    federation: FederationSettings = FederationSettings()
    devices: DevicesSettings = DevicesSettings()

    @classmethod
    def load(
        cls, paths: Paths, env: Mapping[str, str] | None = None, *, flags: Mapping[str, str] | None = None
    ) -> Settings:
        """The settings in force: flags over environment over config.toml over defaults.

        `flags` maps dotted keys to text, as `--set index.workers=2` gives them. Raises SettingsError.
        """
        return resolve(paths, os.environ if env is None else env, flags=flags or {}).settings


def _each(is_usable: Callable[[str], object], names: list[str], wanted: str) -> list[str]:
    for name in names:
        if not is_usable(name):
            raise ValueError(f"{wanted}, got {name!r}")
    return names


def _absolute(folders: list[str]) -> list[str]:
    _each(lambda folder: os.path.isabs(os.path.expanduser(folder)), folders, "absolute folders (or ~/...)")
    return [str(typed_path(folder)) for folder in folders]


def _known_languages(languages: list[str]) -> list[str]:
    from indexer.text.language import STEMMERS

    known = {*STEMMERS, *STEMMERS.values()}
    return _each(lambda name: name.lower() in known, languages, f"of {', '.join(STEMMERS.values())}")


def _known_sources(sources: list[str]) -> list[str]:
    from indexer.extract.sources.known import SOURCES

    return _each(SOURCES.__contains__, sources, f"of {', '.join(SOURCES)}")


def _names_of_machines(names: list[str]) -> list[str]:
    return _each(MACHINE.fullmatch, names, "names of machines, as in desk or anna@nas.local")


def _known_keys(keys: list[str]) -> list[str]:
    return _each(SCHEME.keys.__contains__, keys, "names of settings")


SCHEME = Scheme(
    struct=Settings,
    prefix="FOLTR",
    others=("FOLTR_SERVER_",),
    error=SettingsError,
    entries={"index.max_file_mb": TYPES},
    checks={
        "search.languages": _known_languages,
        "index.roots": _absolute,
        "index.sources": _known_sources,
        "devices.share": _known_keys,
        "devices.ask": _names_of_machines,
    },
    header="""\
# The settings of foltr-search. Every line that begins with `#` is a default: take the `#` away to change it.
#
# A flag wins over an environment variable, that over this file, and that over the default:
#     foltr-search --set index.workers=2 ...   >   FOLTR_INDEX__WORKERS=2   >   this file   >   default
# `foltr-search config show` tells which value is in force and where it comes from; `config check` checks this file.
""",
)


def resolve(paths: Paths, env: Mapping[str, str], *, flags: Mapping[str, str]) -> Effective[Settings]:
    """The settings in force and where each comes from; SettingsError for the first problem, counting the others."""
    file, text = str(paths.config_file), _text(paths)
    return SCHEME.resolve(file, text, env, flags=flags, hint="foltr-search config check", below=_of_others(paths))


def examine(paths: Paths, env: Mapping[str, str], *, flags: Mapping[str, str]) -> tuple[Effective[Settings], list[str]]:
    """The settings in force without the values that cannot be used, and one line for each of those."""
    try:
        text, unread = _text(paths), []
    except SettingsError as error:
        text, unread = "", [str(error)]
    effective, problems = SCHEME.examine(str(paths.config_file), text, env, flags=flags, below=_of_others(paths))
    return effective, [*unread, *problems]


def _of_others(paths: Paths) -> list[Assignment]:
    """What was set on this person's other devices; nothing where that cannot be read."""
    try:
        shared = msgspec.json.decode(content_of(paths.shared_settings), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return []
    return [Assignment(name, value, "another device", is_text=False) for name, value in shared.items()]


def written_settings(paths: Paths, keys: Sequence[str]) -> dict[str, str]:
    """Of these settings what config.toml says, as JSON."""
    written = SCHEME.from_file(str(paths.config_file), _text(paths))
    return {one.name: msgspec.json.encode(one.value).decode() for one in written if one.name in keys}


def _text(paths: Paths) -> str:
    """What config.toml holds, "" where there is none."""
    try:
        return content_of(paths.config_file).decode("utf-8-sig")  # Windows' editors put a mark before the text
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{paths.config_file}: wanted a TOML file, got: {error}") from error
