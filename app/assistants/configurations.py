"""The files in which assistants list the programs that they may use, and this program's entry in them.

No other entry changes, though JSON is written anew; a file that is not plain JSON (or TOML) is left as it is.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from console.durable import replace_durably
from foltr.errors import FoltrError

ENTRY = "foltr-search"
"""what this program is called in the lists"""


class ConfigurationError(FoltrError):
    """An assistant's configuration cannot be changed; the message says why, and what to put there by hand."""


class Configuration(Struct, frozen=True):
    """One assistant's file."""

    place: str
    """below the home"""
    key: str
    """the key under which its programs are listed"""
    fields: dict[str, Any] = {}
    """what an entry holds beside the command"""
    is_one_list: bool = False
    """whether the command and its arguments are one list"""

    def path(self, home: Path) -> Path:
        """The file, links resolved: it may be kept elsewhere."""
        return Path(os.path.realpath(home / self.place))

    def text(self, home: Path) -> str:
        """The content of the file, "" where there is none."""
        return _text(self.path(home))

    def command(self, home: Path) -> list[str]:
        """The command listed there for this program; [] for none."""
        entry = self._listed(self.path(home)).get(ENTRY)
        if not isinstance(entry, dict):
            return []
        first = entry.get("command", [])
        return list(map(str, first if isinstance(first, list) else [first, *entry.get("args", [])]))

    def with_entry(self, home: Path, command: Sequence[str]) -> str:
        """The file's text with this program in it, started by `command`."""
        head = {"command": list(command)} if self.is_one_list else {"command": command[0], "args": list(command[1:])}
        entry = {**self.fields, **head}
        if self._is_toml:
            lines = [f"[{self.key}.{ENTRY}]", *(f"{name} = {json.dumps(value)}" for name, value in entry.items())]
            return "\n".join([*filter(None, [self.without_entry(home).rstrip("\n")]), "", *lines, ""]).lstrip("\n")
        return self._changed(self.path(home), entry)

    def without_entry(self, home: Path) -> str:
        path = self.path(home)
        if self._is_toml:
            self._listed(path)
            import tomllib

            own = rf"\n*^\[{re.escape(self.key)}\.(['\"]?){ENTRY}\1(?:\.[^\]\n]*)?\]\n(?:(?!\[).*\n?)*"
            text = re.sub(own, "\n", _text(path), flags=re.MULTILINE).removeprefix("\n")
            try:
                is_left = ENTRY in tomllib.loads(text).get(self.key, {})
            except tomllib.TOMLDecodeError:  # its lines did not end where they seemed to
                is_left = True
            if is_left:
                raise ConfigurationError(f"{path}: {ENTRY} is under {self.key} in another form; change it by hand")
            return text
        return self._changed(path, None)

    def write(self, home: Path, text: str) -> None:
        """Make this the file's text, durably."""
        path = self.path(home)
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode if path.exists() else 0o600
        replace_durably(path, text.encode())
        path.chmod(mode & 0o777)

    @property
    def _is_toml(self) -> bool:
        return self.place.endswith(".toml")

    def _listed(self, path: Path) -> dict[str, Any]:
        listed = self._read(path).get(self.key, {})
        if not isinstance(listed, dict):
            raise ConfigurationError(f"{path}: wanted a list of programs by name under {self.key}, got {listed!r}")
        return listed

    def _read(self, path: Path) -> dict[str, Any]:
        import tomllib

        text = _text(path)
        try:
            whole = tomllib.loads(text) if self._is_toml else json.loads(text or "{}")
        except ValueError as error:
            kind = "TOML" if self._is_toml else "JSON without comments"
            by_hand = f"put {ENTRY} under {self.key} by hand"
            raise ConfigurationError(f"{path}: wanted {kind}, got: {error}; {by_hand}") from error
        if not isinstance(whole, dict):
            raise ConfigurationError(f"{path}: wanted settings by name, got {type(whole).__name__}")
        return whole

    def _changed(self, path: Path, entry: dict[str, Any] | None) -> str:
        whole, listed = self._read(path), dict(self._listed(path))
        if entry is None and ENTRY not in listed:
            return _text(path)
        listed.pop(ENTRY, None) if entry is None else listed.update({ENTRY: entry})
        whole[self.key] = listed
        indent = re.search(r'\n([ \t]+)"', _text(path))
        return json.dumps(whole, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: wanted a text file that can be read, got: {error}") from error


_MAC = "Library/Application Support"
ASSISTANTS = {
    "claude-code": Configuration(".claude.json", "mcpServers", {"type": "stdio"}),
    "claude-desktop": Configuration(
        f"{_MAC if sys.platform == 'darwin' else '.config'}/Claude/claude_desktop_config.json", "mcpServers"
    ),
    "codex": Configuration(".codex/config.toml", "mcp_servers"),
    "cursor": Configuration(".cursor/mcp.json", "mcpServers"),
    "gemini": Configuration(".gemini/settings.json", "mcpServers"),
    "opencode": Configuration(
        ".config/opencode/opencode.json", "mcp", {"type": "local", "enabled": True}, is_one_list=True
    ),
    "vscode": Configuration(
        f"{_MAC if sys.platform == 'darwin' else '.config'}/Code/User/mcp.json", "servers", {"type": "stdio"}
    ),
    "windsurf": Configuration(".codeium/windsurf/mcp_config.json", "mcpServers"),
    "zed": Configuration(".config/zed/settings.json", "context_servers", {"source": "custom"}),
}
"""Name -> where it keeps its list, as their manuals say."""
