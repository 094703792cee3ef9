"""The themes that `screen.theme` may name: night and day of our own, the terminal's colours, and those of Textual.

Night is ink with one amber; day is paper, with ink and one red: no night turned inside out. What paper is made of
stays paper, and does not become pink or olive, in the nearest of 256 colours. A terminal of sixteen would turn amber
into its red, so that there the terminal's own colours are used.
"""

from __future__ import annotations

import difflib

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
