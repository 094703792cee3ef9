"""The themes that `screen.theme` may name: night and day of our own, the terminal's colours, and those of Textual.

Night is ink with one amber; day is paper, with ink and one red, not an inverted night. The nearest of 256 colours keep
paper looking like paper, neither pink nor olive. A terminal of sixteen colours would turn amber into its red, so there
the terminal's own colours are used.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from textual.color import BLACK, WHITE, Color
from textual.theme import Theme

NIGHT = Theme(
    "night", primary="#7aa2d6", secondary="#5f87b8", accent="#f0b45c", warning="#e6c07b", error="#e5747e",
    success="#8fc08a", foreground="#dfe3ea", background="#14171c", surface="#1c2128", panel="#323a46", dark=True,
)  # fmt: skip
DAY = Theme(
    "day", primary="#22577a", secondary="#38718f", accent="#a83a15", warning="#855a00", error="#a3203a",
    success="#2f6b3a", foreground="#22262b", background="#fbf8f1", surface="#f3eee0", panel="#d6d0c4", dark=False,
)  # fmt: skip
THEMES = {"dark": "night", "light": "day", "ansi": "ansi-dark"}
"""short names for `screen.theme`; every other name is Textual's own"""


def theme_named(wanted: str, *, is_light: bool, few_colours: bool = False) -> str:
    """The full name of a theme; `auto` is light where the terminal is, and its own colours where these are few."""
    wanted = ("light" if is_light else "dark") if wanted == "auto" else wanted
    if few_colours and wanted in ("dark", "light"):
        return f"ansi-{wanted}"
    return THEMES.get(wanted, wanted)


CONTRAST = 4.5
"""least contrast of text by WCAG"""


def readable(variables: Mapping[str, str], *, is_dark: bool) -> dict[str, str]:
    """The colours of matches, warnings and errors, moved to white or black until each can be read on this theme."""
    behind = [Color.parse(variables[name]) for name in ("background", "surface")]
    found = {}
    for name in ("accent", "warning", "error"):
        colour, end = Color.parse(variables[name]), WHITE if is_dark else BLACK
        steps = (colour.blend(end, step / 20) for step in range(21))
        found[name] = next((one for one in steps if min(contrast(one, back) for back in behind) >= CONTRAST), end).hex
    return found


def contrast(one: Color, other: Color) -> float:
    """The ratio by WCAG 2.1, from 1 to 21."""
    darker, lighter = sorted(map(_luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def problem_of(theme: str) -> str:
    """Why there is no such theme, as one line with the nearest name; "" when there is one."""
    from textual.theme import BUILTIN_THEMES

    known = ("auto", *THEMES, *sorted(BUILTIN_THEMES))
    if theme in known:
        return ""
    near = difflib.get_close_matches(theme, known, n=1)
    hint = (
        f"the nearest one is {near[0]}"
        if near
        else f"there are {', '.join(known[:4])} and those that the palette lists"
    )
    return f"screen.theme: there is no theme {theme!r}; {hint}"
