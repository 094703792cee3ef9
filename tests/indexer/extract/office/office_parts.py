"""Parts of office files."""

from __future__ import annotations

RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def related(*targets: tuple[str, str]) -> str:
    rows = "".join(
        f'<Relationship Id="r{number}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f"<Relationships>{rows}</Relationships>"
