"""The command that adds an extra to the environment of the running program; few need it, so little is loaded."""

from __future__ import annotations

import os
import re
import shlex
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import Distribution

NAME = "foltr-search"
CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TOOLS = {"pipx_metadata.json": "pipx", "uv-receipt.toml": "uv tool"}
"""the receipt that a tool leaves in the environments it makes"""


def how_to_add(extra: str) -> str:
    """The command to paste: for the tool that installed the program, from where it was installed.

    If that place is unknown or gone, it names the packages of the extra, never the program itself: in a package index
    that name may belong to anybody.
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        installed = distribution(NAME)
    except PackageNotFoundError:
        return _by_pip("-e", f"{CHECKOUT}[{extra}]")
    place = str(installed.locate_file("")).rstrip(os.sep)
    if os.path.basename(place) not in ("site-packages", "dist-packages"):
        return f"install a copy with [{extra}]; nothing can be added to this one"
    record = json.loads(installed.read_text("direct_url.json") or "{}")
    parts = _parts(installed)
    tool = next((tool for name, tool in _TOOLS.items() if os.path.exists(os.path.join(sys.prefix, name))), "")
    wanted = {extra, *filter(lambda name: _is_here(parts[name]), parts)} if tool else {extra}  # a tool begins anew
    editable = ["-e"] if record.get("dir_info", {}).get("editable") else []
    if not (source := _source(record, ",".join(sorted(wanted)))):
        return _by_pip(*parts.get(extra, ()), tool=tool, place=place)
    if tool:
        return shlex.join([*tool.split(), "install", "--force", *editable, source])
    return _by_pip(*editable, source, place=place)


def _by_pip(*what: str, tool: str = "", place: str = sys.prefix) -> str:
    """The command that installs into `place`; pipx has its own for that, and environments of uv have no pip."""
    if tool == "pipx":
        return shlex.join(["pipx", "inject", NAME, *what])
    command = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:
        command = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*([] if os.access(place, os.W_OK) else ["sudo"]), *command, *what])


def _source(record: dict[str, Any], extras: str) -> str:
    """Where the program came from (PEP 610), as pip takes it; "" if that is unknown or gone."""
    url = record.get("url", "")
    if "vcs_info" in record:
        return f"{NAME}[{extras}] @ {record['vcs_info']['vcs']}+{url}@{record['vcs_info']['commit_id']}"
    if not url.startswith("file://"):
        return f"{NAME}[{extras}] @ {url}" if url else ""
    path = os.fsdecode(re.sub(rb"%([0-9A-Fa-f]{2})", lambda code: bytes([int(code[1], 16)]), os.fsencode(url[7:])))
    return f"{path}[{extras}]" if os.path.exists(path) else ""


def _parts(installed: Distribution) -> dict[str, list[str]]:
    """Extra -> the packages it consists of, as pip takes them."""
    found: dict[str, list[str]] = {}
    for one in installed.requires or ():
        if (extra := re.search(r"extra == ['\"]([\w-]+)['\"]", one)) is not None:
            found.setdefault(extra[1], []).append(one.partition(";")[0].strip())
    return found


def _is_here(parts: list[str]) -> bool:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return all(version(re.split(r"[^\w.-]", part, maxsplit=1)[0]) for part in parts)
    except PackageNotFoundError:
        return False
