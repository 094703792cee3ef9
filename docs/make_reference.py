"""Writes the parts of the documentation that the program itself knows: run it after changing a command or a setting.

    python docs/make_reference.py

docs/man holds what `foltr-search man` and `foltr-server man` print; docs/configuration.md what `foltr-search config
default` prints, between its two markers; docs/privacy.md the records that leave a device, docs/keys.md the keys of the
screen. Tests compare them with the program.
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
BEGIN, END = "<!-- begin of `foltr-search config default` -->", "<!-- end -->"
KEYS = "<!-- begin of the keys -->"
RECORDS = "<!-- begin of the records that leave a device -->"


def manual_page() -> str:
    """The manual page of the present commands."""
    from app.cli import NAME, program
    from app.commands.man import page

    return page(program.make_context(NAME, [], resilient_parsing=True))


def server_page() -> str:
    """The manual page of the server's present commands."""
    from federation_server.cli import NAME, program
    from federation_server.commands.man import page

    return page(program.make_context(NAME, [], resilient_parsing=True))


def configuration(text: str) -> str:
    """docs/configuration.md with the present default file between its markers."""
    from app.settings import SCHEME

    return _between(text, BEGIN, f"```toml\n{SCHEME.default_file()}```")


def privacy(text: str) -> str:
    """docs/privacy.md with the present records between its markers."""
    from app.federation.terms import HEADERS, records

    lines: list[str] = []
    for sent in records():
        lines += [f"**{sent.name}**: {sent.meaning}", "", "| field | type | meaning |", "|---|---|---|"]
        lines += [*(f"| `{field.name}` | {field.type} | {field.meaning} |" for field in sent.fields), ""]
    lines += ["Headers that sign each request:", "", "| header | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in HEADERS.items()]
    return _between(text, RECORDS, "\n".join(lines))


def keys(text: str) -> str:
    """docs/keys.md with the present table of actions between its markers."""
    from app.tui.keys import ACTIONS, PLACES

    rows = ["| name | keys | what it does | where |", "|---|---|---|---|"]
    for action in ACTIONS:
        shown = " ".join(f"`{key}`" for key in action.keys.split(","))
        rows.append(f"| {action.id} | {shown} | {action.description} | {PLACES[action.scope]} |")
    return _between(text, KEYS, "\n".join(rows))


def _between(text: str, begin: str, content: str) -> str:
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(END)
    return f"{before}{begin}\n\n{content}\n\n{END}{after}"


def main() -> None:
    sys.path.insert(0, str(DOCS.parent))
    (DOCS / "man").mkdir(exist_ok=True)
    (DOCS / "man" / "foltr-search.1").write_text(manual_page(), encoding="utf-8")
    (DOCS / "man" / "foltr-server.1").write_text(server_page(), encoding="utf-8")
    for name, renewed in (("configuration.md", configuration), ("privacy.md", privacy), ("keys.md", keys)):
        file = DOCS / name
        file.write_text(renewed(file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
