"""The themes that `screen.theme` may name."""

from __future__ import annotations

import difflib

THEMES = {"dark": "textual-dark", "light": "textual-light", "ansi": "ansi-dark"}
"""short names for `screen.theme`; every other name is Textual's own"""


def theme_named(wanted: str, *, is_light: bool) -> str:
    """Textual's name of a theme; `auto` is light where the terminal is."""
    wanted = ("light" if is_light else "dark") if wanted == "auto" else wanted
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
