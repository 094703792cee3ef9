"""Which paths are passed over: hidden names, ignore files, the user's patterns and a table of generated folders.

Strongest first: the user's `exclude` patterns, then .ignore and .gitignore from the nearest folder up to the root,
then the tables below and the rule for hidden names. The first that says anything decides, so `!build/` in any
pattern list brings back what a weaker rule leaves out.

Files of keys and passwords are found by their names alone, and known by them, for to look into one is what is to be
avoided. A pattern of such names has `*` and `?`, and capitals do not matter; one with a slash is the end of a path.
The last that meets a path decides, so that `!notes.key` brings one file back.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import pathspec

IGNORE_FILES = (".ignore", ".gitignore")
"""read in every folder; the first is the stronger"""

MAX_IGNORE_FILE_BYTES = 1_000_000

GENERATED_FOLDERS: dict[str, str] = {
    ".git": "version control data",
    ".hg": "version control data",
    ".svn": "version control data",
    ".bzr": "version control data",
    "_darcs": "version control data",
    "CVS": "version control data",
    "RCS": "version control data",
    "node_modules": "packages that npm installed",
    "bower_components": "packages that bower installed",
    "jspm_packages": "packages that jspm installed",
    "site-packages": "packages that pip installed",
    "venv": "a Python virtual environment",
    ".venv": "a Python virtual environment",
    ".tox": "environments made by tox",
    ".nox": "environments made by nox",
    ".eggs": "packages that setuptools fetched",
    ".direnv": "environments made by direnv",
    "Pods": "packages that CocoaPods installed",
    ".bundle": "packages that bundler installed",
    ".cargo": "packages that cargo fetched",
    ".rustup": "Rust tool chains",
    ".npm": "npm's cache",
    ".yarn": "yarn's cache",
    ".pnpm-store": "pnpm's store",
    ".m2": "packages that Maven fetched",
    ".gradle": "gradle's cache",
    ".ivy2": "packages that ivy fetched",
    "__pycache__": "compiled Python",
    ".mypy_cache": "mypy's cache",
    ".pytest_cache": "pytest's cache",
    ".ruff_cache": "ruff's cache",
    ".hypothesis": "hypothesis' examples",
    ".ipynb_checkpoints": "older copies of notebooks",
    ".cache": "a cache",
    ".ccache": "a cache",
    ".sass-cache": "a cache",
    ".parcel-cache": "a cache",
    ".next": "built by Next.js",
    ".nuxt": "built by Nuxt",
    ".svelte-kit": "built by SvelteKit",
    ".terraform": "fetched by Terraform",
    ".Trash": "the waste bin",
    "$RECYCLE.BIN": "the waste bin",
    "System Volume Information": "kept by Windows",
    "lost+found": "kept by the file system",
}
"""Folder names that nobody gives to a folder of their own: what such a folder holds was fetched or generated."""

_PYTHON = ("pyproject.toml", "setup.py", "setup.cfg")
_JAVASCRIPT = ("package.json",)
_JAVA = ("pom.xml", "build.gradle", "build.gradle.kts", "build.sbt")
_NATIVE = ("CMakeLists.txt", "Makefile", "makefile", "configure", "meson.build")
_DOTNET = ("packages.config", "Directory.Build.props", "global.json")

BUILD_FOLDERS: dict[str, tuple[str, ...]] = {
    "build": (*_PYTHON, *_JAVASCRIPT, *_JAVA, *_NATIVE, "conf.py", "pubspec.yaml"),
    "_build": ("conf.py", "Makefile", "mix.exs", "dune-project"),
    "dist": (*_PYTHON, *_JAVASCRIPT),
    "out": (*_JAVASCRIPT, *_JAVA, *_NATIVE),
    "target": ("Cargo.toml", *_JAVA),
    "vendor": ("go.mod", "composer.json", "Gemfile", "Cargo.toml"),
    "deps": ("mix.exs", "rebar.config"),
    "obj": _DOTNET,
    "env": ("requirements.txt", *_PYTHON),
    "htmlcov": (*_PYTHON, ".coveragerc", "tox.ini"),
    "coverage": _JAVASCRIPT,
    "cmake-build-debug": ("CMakeLists.txt",),
    "cmake-build-release": ("CMakeLists.txt",),
}
"""Folder names that are also ordinary words: build output only beside one of these project files."""

MARKERS: dict[str, str] = {
    "CACHEDIR.TAG": "its CACHEDIR.TAG says that it is a cache",
    "pyvenv.cfg": "its pyvenv.cfg says that it is a Python virtual environment",
}
"""Files that say what the folder is in which they lie."""

GENERATED_FILES: dict[str, str] = {
    "~$": "the lock of an open Office document",
    ".~lock.": "the lock of an open LibreOffice document",
    ".#": "the lock of an open Emacs file",
}
"""Beginnings of file names."""

GENERATED_ENDINGS: dict[str, str] = {
    "~": "an editor's backup copy",
    ".min.js": "minified",
    ".min.css": "minified",
    ".js.map": "a source map",
    ".css.map": "a source map",
}
"""Ends of file names."""

_BEGINNINGS = tuple(GENERATED_FILES)
_ENDINGS = tuple(GENERATED_ENDINGS)


class IgnoreVerdict(Struct, frozen=True):
    """Why a path is passed over; `rule` as in `indexer.documents.Skipped`."""

    rule: str
    reason: str


class PatternList(Struct, frozen=True):
    """The patterns of one list, in force for everything below one folder."""

    folder: str
    """with its closing slash"""
    source: str
    """the name of the list, for a person: the path of the file, or the name of the setting"""
    spec: pathspec.GitIgnoreSpec
    lines: tuple[str, ...]
    """the line behind each pattern of `spec`"""

    def check(self, path: str, is_folder: bool) -> tuple[bool | None, str]:
        """Whether the last pattern that matches `path` leaves it out (None: no pattern matches), and that pattern."""
        relative = path[len(self.folder) :]
        if "\n" in relative:  # the compiled patterns have `.` for any character of a folder's name
            relative = relative.replace("\n", "\v")
        result = self.spec.check_file(relative + "/" if is_folder else relative)
        if result.include is None or result.index is None:
            return None, ""
        line = self.lines[result.index]
        if is_folder and line.endswith("/**") and self.spec.check_file(relative).include is None:
            return None, ""  # `a/**` is all that lies in a, not a itself: `!a/keep` must stay reachable
        return result.include, line


class Scope(Struct, frozen=True):
    """The pattern lists in force in one folder, the strongest first."""

    user: tuple[PatternList, ...] = ()
    files: tuple[PatternList, ...] = ()
    """ignore files, the nearest first"""


def compile_patterns(lines: Sequence[str], *, folder: str, source: str) -> PatternList | None:
    """The patterns among `lines`, None when there are none; an invalid line is left out, as git does."""
    if not lines:
        return None
    import pathspec  # in most folders none is needed
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    patterns: list[GitIgnoreSpecPattern] = []
    kept: list[str] = []
    for line in lines:
        try:
            pattern = GitIgnoreSpecPattern(line)
        except (ValueError, re.error, OverflowError, RecursionError):
            continue
        if pattern.include is not None and pattern.regex is not None:
            if line.count("*") > 2:
                pattern.regex = re.compile(_without_retries(pattern.regex.pattern))
            patterns.append(pattern)
            kept.append(line.strip())
    if not patterns:
        return None
    spec = pathspec.GitIgnoreSpec(patterns, backend="simple")
    return PatternList(folder=os.path.join(folder, ""), source=source, spec=spec, lines=tuple(kept))


_STAR, _FOLDERS = "[^/]*", "(?:/.+)?"
"""what pathspec makes of a star, and of two between slashes"""


def _without_retries(regex: str) -> str:
    """The same pattern; what stands between two stars is looked for once, for the first place will do."""
    first, *names = regex.replace("[^", "[^/").replace("[^//]", "[^/]").split(_STAR)  # [!a] is no slash, either
    once = (f"{_STAR}{one}" if "/" in one.replace("[^/", "") else f"(?>{_STAR}?{one})" for one in names[:-1])
    first, *folders = "".join((first, *once, *(_STAR + one for one in names[-1:]))).split(_FOLDERS)
    once = (f"(?>(?:/.+?)??{one}(?=/))" for one in folders[:-1])
    return "".join((first, *once, *(_FOLDERS + one for one in folders[-1:])))


def read_ignore_file(path: str) -> PatternList | None:
    """The patterns of one ignore file; None when it is missing, unreadable, too large or no regular file."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_IGNORE_FILE_BYTES:
            return None
        text = os.fsdecode(Path(path).read_bytes())
    except OSError:
        return None
    return compile_patterns(text.removeprefix("\ufeff").splitlines(), folder=os.path.dirname(path), source=path)


class IgnoreRules(Struct, frozen=True):
    """What the user chose about ignoring."""

    exclude: tuple[str, ...] = ()
    hidden: bool = False
    """index hidden names too"""
    ignore_files: bool = True

    def root_scope(self, root: str) -> Scope:
        """The lists in force at a root before its own ignore files are read."""
        mine = compile_patterns(self.exclude, folder=root, source="the setting index.exclude")
        return Scope() if mine is None else Scope(user=(mine,))

    def scope_of(self, folder: str, outer: Scope) -> Scope:
        """The lists in force in `folder`: those of the folder above it and its own ignore files."""
        if not self.ignore_files:
            return outer
        found = [read_ignore_file(os.path.join(folder, name)) for name in IGNORE_FILES]
        own = tuple(patterns for patterns in found if patterns is not None)
        return Scope(user=outer.user, files=(*own, *outer.files)) if own else outer

    def judge(self, scope: Scope, path: str, name: str, *, is_folder: bool) -> IgnoreVerdict | None:
        """Why the path called `name` is passed over, None when it is not; says nothing about what lies in it."""
        for patterns in (*scope.user, *scope.files):
            left_out, line = patterns.check(path, is_folder)
            if left_out:
                return IgnoreVerdict("ignored", f"pattern {line!r} in {patterns.source}")
            if left_out is not None:
                return None
        verdict = _generated_folder(path, name) if is_folder else _generated_file(name)
        if verdict is None and name[0] == "." and not self.hidden:
            return IgnoreVerdict("hidden", "its name begins with a dot, and index.hidden is off")
        return verdict


def _generated_folder(path: str, name: str) -> IgnoreVerdict | None:
    why = GENERATED_FOLDERS.get(name)
    if why is not None:
        return IgnoreVerdict("default-ignore", f"a folder called {name!r}: {why}")
    for neighbour in BUILD_FOLDERS.get(name, ()):
        if os.path.lexists(os.path.join(os.path.dirname(path), neighbour)):
            return IgnoreVerdict("default-ignore", f"a folder called {name!r} beside {neighbour}: made by a build")
    for marker, why in MARKERS.items():
        if os.path.lexists(os.path.join(path, marker)):
            return IgnoreVerdict("default-ignore", why)
    return None


def _generated_file(name: str) -> IgnoreVerdict | None:
    if name.startswith(_BEGINNINGS):
        begin = next(begin for begin in GENERATED_FILES if name.startswith(begin))
        return IgnoreVerdict("default-ignore", f"its name begins with {begin!r}: {GENERATED_FILES[begin]}")
    if name.endswith(_ENDINGS):
        end = next(end for end in GENERATED_ENDINGS if name.endswith(end))
        return IgnoreVerdict("default-ignore", f"its name ends with {end!r}: {GENERATED_ENDINGS[end]}")
    return None


SECRETS = (
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "id_xmss", "*.pem", "*.key", "*.ppk",
    "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.keychain", "*.keychain-db", "*.kdb", "*.kdbx", "*.ovpn",
    ".env", ".env.*", "*.env", "!.env.example", "!.env.sample", "!.env.template", ".netrc", "_netrc", ".pgpass",
    ".my.cnf", ".git-credentials", ".npmrc", ".pypirc", ".htpasswd", ".vault-token", "credentials*.json",
    "client_secret*.json", "service-account*.json", "service_account*.json", ".aws/credentials", ".docker/config.json",
    ".kube/config", "kubeconfig", "secring.gpg", ".gnupg/*", "*private*.asc", "*secret*.asc", "*private*.gpg",
    "*secret*.gpg", "wallet.dat", "*.tfstate", "logins.json", "key3.db", "key4.db", "cookies.sqlite", "Login Data",
    "Cookies",
)  # fmt: skip
"""The default. Public keys (`id_rsa.pub`) are read; certificates in *.pem are not: their names are those of keys."""


def why_unread(pattern: str) -> str:
    """What is said of a file that this pattern meets."""
    return f"its name is that of keys or passwords: {pattern!r} in index.secrets, where `!NAME` makes an exception"


def pattern_of(path: str, patterns: tuple[str, ...]) -> str:
    """The pattern by which the file at `path` is a secret; "" where none says so."""
    n_names, any_of = _any_of(patterns)
    names = path.lower().replace(os.sep, "/").rsplit("/", n_names)
    end = "/".join(names[1:] if len(names) > 1 else names)
    if patterns and any_of.search(end):
        for pattern in reversed(patterns):
            if _any_of((pattern,))[1].search(end):
                return "" if pattern.startswith("!") else pattern
    return ""


@lru_cache(maxsize=1_000)
def _any_of(patterns: tuple[str, ...]) -> tuple[int, re.Pattern[str]]:
    """How many names at the end of a path the longest of them looks at, and what meets any."""
    plain = (re.escape(one.removeprefix("!").lower()) for one in patterns)
    ends = "|".join(one.replace(r"\*", "[^/]*").replace(r"\?", "[^/]") for one in plain)
    return 1 + max((one.count("/") for one in patterns), default=0), re.compile(rf"(?:^|/)(?:{ends})\Z")
