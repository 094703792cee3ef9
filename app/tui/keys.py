"""The actions of the screen and their keys, in one table.

The bindings, the line of keys at the bottom, the help, the command palette, the panel after the leader key and the
check of `screen.keys` in the settings all come from it. A single letter works wherever no text is being typed, and
after the leader key everywhere; one with Alt works everywhere. With Alt only letters other than b and f: most terminals
send Alt as Escape, which Textual combines only with a letter, and Alt+b and Alt+f move by a word.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from textual.binding import BindingType


class Action(Struct, frozen=True):
    """Something a key can do."""

    id: str
    """the name in `screen.keys`"""
    keys: str
    """default keys, separated by commas, as Textual names them"""
    title: str
    """as the line of keys shows it"""
    description: str
    """one sentence for the help and the command palette"""
    rank: int = 0
    """its priority for a place in the line of keys, 1 for the first; 0: never there"""
    scope: str = "search"
    """search: the whole search screen; list: the result list; preview: the preview pane; filter: the filters"""


ACTIONS: tuple[Action, ...] = (
    Action("open", "enter", "Open", "Open the selected result with the system's program.", rank=3),
    Action("edit", "e,alt+e", "Edit", "Open it in the editor, at the line of the match."),
    Action("page", "v,alt+v", "Pager", "Show its text in the pager."),
    Action("folder", "o,alt+o", "Folder", "Open the folder it lies in."),
    Action("copy", "ctrl+y,y,alt+y", "Copy", "Copy its path to the clipboard, or those of the marked ones.", rank=9),
    Action("mark", "tab,m", "Mark", "Mark or unmark the selected result, and go to the next.", rank=4),
    Action("mark-back", "shift+tab", "Mark back", "The same, and go to the previous one."),
    Action("unmark", "U", "No marks", "Remove all marks."),
    Action("open-all", "O", "Open all", "Open the marked results, after asking."),
    Action("copy-files", "C", "Copy files", "Copy the marked files to a folder; nothing is overwritten."),
    Action("move-files", "M", "Move files", "Move the marked files to a folder; nothing is overwritten."),
    Action("trash", "D", "Trash", "Put the marked files into the trash, after asking."),
    Action("next", "ctrl+n,ctrl+j", "Next", "Next result."),
    Action("previous", "ctrl+p,ctrl+k", "Previous", "Previous result."),
    Action("order", "ctrl+s,s", "Order", "Next order: learned, by words alone, newest first, by name.", rank=6),
    Action("preview", "f2,p,alt+p", "Preview", "Show or hide the preview.", rank=7),
    Action("explain", "f3,x,alt+x", "Why", "Explain why the selected result ranks where it does.", rank=8),
    Action("facets", "f4,f,alt+t", "Filter", "Narrow the results by type, folder and time.", rank=10),
    Action("refresh", "f5,r,alt+r", "Refresh", "Search again, in the newest state of the index."),
    Action("sizes", "z,alt+z", "Sizes", "Show or hide the sizes of the files."),
    Action("rows", "d,alt+d", "Dense rows", "Show each result in one line, or with its passage."),
    Action("thread", "t,alt+i", "Thread", "Show the mails of the selected one's thread; there, go back to the query."),
    Action("like", "L,alt+k", "Like this", "Search for documents like the selected one; there, go back to the query."),
    Action("stats", "f6,S,alt+s", "Statistics", "Show whether the learned order helps."),
    Action("folders", "f7,a,alt+a", "Folders", "Show the folders that are searched; add or remove some."),
    Action("failures", "F", "Failures", "Show the files that could not be read, and why; read them again."),
    Action("review", "A", "To the end", "Review every document that may matter for the query, one by one."),
    Action("suggestion", "f8,c,alt+g", "Spelling", "Search for the suggested spelling, or for the words as typed."),
    Action("next-match", "n,alt+n", "Next match", "Go to the next match in the preview."),
    Action("previous-match", "N,alt+m", "Previous match", "Go to the previous match in the preview."),
    Action("text-down", "shift+down,J", "Preview down", "Scroll the preview, or the explanation, half a page down."),
    Action("text-up", "shift+up,K", "Preview up", "Scroll the preview, or the explanation, half a page up."),
    Action("source", "u,alt+u", "Source", "Show the preview as written, or rendered: Markdown, tables, colours."),
    Action("pages", "i", "Pages", "Show the pages of a PDF in the preview as pictures, or its text."),
    Action("wider", "less_than_sign,alt+h", "Wider preview", "Make the preview larger."),
    Action("narrower", "greater_than_sign,alt+l", "Smaller preview", "Make the preview smaller."),
    Action("next-part", "ctrl+o,w", "Next part", "Go on to the next part: search box, filters, results, preview."),
    Action("to-preview", "l", "To the preview", "Go to the preview."),
    Action("to-results", "h", "To the results", "Go to the results."),
    Action("search", "ctrl+l,slash", "Search", "Go to the search box; what is typed then replaces the text."),
    Action("palette", "ctrl+t,colon", "Commands", "Show all commands and themes by name."),
    Action("forget-screen", "R", "Reset screen", "Reset theme, panes, rows, order and filters to the settings."),
    Action("leader", "ctrl+g,ctrl+@,ctrl+space,comma", "Keys", "Show all keys; letters work after this one.", rank=2),
    Action("help", "f1,question_mark", "Help", "Explain the part of the screen that has the focus.", rank=5),
    Action("back", "escape", "Back", "Go to the search box; there clear it, remove filters, then leave."),
    Action("quit", "ctrl+q", "Quit", "Leave the program.", rank=1),
    Action("list-down", "down,j", "Down", "Next result.", scope="list"),
    Action("list-up", "up,k", "Up", "Previous result.", scope="list"),
    Action("list-top", "home,g", "First", "First result.", scope="list"),
    Action("list-bottom", "end,G", "Last", "Last result.", scope="list"),
    Action("list-half-down", "ctrl+d", "Half a page down", "Half a page down.", scope="list"),
    Action("list-half-up", "ctrl+u", "Half a page up", "Half a page up.", scope="list"),
    Action("list-page-down", "pagedown,ctrl+f,space", "Page down", "One page down.", scope="list"),
    Action("list-page-up", "pageup,ctrl+b", "Page up", "One page up.", scope="list"),
    Action("preview-down", "down,j", "Down", "Scroll down a line.", scope="preview"),
    Action("preview-up", "up,k", "Up", "Scroll up a line.", scope="preview"),
    Action("preview-left", "left,h", "Left", "Scroll a wide table to the left.", scope="preview"),
    Action("preview-right", "right,l", "Right", "Scroll a wide table to the right.", scope="preview"),
    Action("preview-top", "home,g", "Start", "Go to the start of the text.", scope="preview"),
    Action("preview-bottom", "end,G", "End", "Go to the end of the text.", scope="preview"),
    Action("preview-half-down", "ctrl+d", "Half a page down", "Half a page down.", scope="preview"),
    Action("preview-half-up", "ctrl+u", "Half a page up", "Half a page up.", scope="preview"),
    Action("preview-page-down", "pagedown,ctrl+f,space", "Page down", "One page down.", scope="preview"),
    Action("preview-page-up", "pageup,ctrl+b", "Page up", "One page up.", scope="preview"),
    Action("filter-left", "left,h", "Left", "The previous value.", scope="filter"),
    Action("filter-right", "right,l", "Right", "The next value.", scope="filter"),
    Action("filter-up", "up,k", "Up", "The filter above.", scope="filter"),
    Action("filter-down", "down,j", "Down", "The filter below.", scope="filter"),
    Action("filter-choose", "enter,space", "Narrow", "Narrow to this value; again: remove the filter.", scope="filter"),
)
BY_ID = {action.id: action for action in ACTIONS}
PLACES = {"search": "everywhere", "list": "results", "preview": "preview", "filter": "filters"}
"""the scopes, as the documentation calls them"""
TYPED = frozenset({"space", "comma", "colon", "slash", "question_mark", "less_than_sign", "greater_than_sign"})
"""keys of the table that have a name of their own but type a character"""


def typed_action(action: str) -> str:
    """An action of the search screen as Textual's `run_action` takes it; quitting works everywhere."""
    return "app.quit" if action == "quit" else f"screen.do('{action}')"


def actions_of(scope: str) -> tuple[Action, ...]:
    """The actions of one scope, in the order of the table."""
    return tuple(action for action in ACTIONS if action.scope == scope)


def bindings_of(scope: str) -> list[BindingType]:
    """The bindings of a part of the screen, which pass their actions to its `action_go`."""
    from textual.binding import Binding

    return [Binding(one.keys, f"go('{one.id}')", one.description, show=False, id=one.id) for one in actions_of(scope)]


def keys_of(action: Action, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of an action after the user's own choice, which replaces all the default ones."""
    return tuple(key.strip() for key in keymap.get(action.id, action.keys).split(",") if key.strip())


def actions_there(scope: str, keymap: Mapping[str, str], *, typing: bool) -> list[tuple[Action, list[str]]]:
    """What works in a part of the screen, its own actions first, with their keys; no letters where text is typed."""
    actions = (*(actions_of(scope) if scope != "search" else ()), *actions_of("search"))
    keys = ([key for key in keys_of(action, keymap) if not (typing and is_letter(key))] for action in actions)
    return [(action, some) for action, some in zip(actions, keys, strict=True) if some]


def is_letter(key: str) -> bool:
    """Whether a key types something: then it acts only where no text is typed, and after the leader key."""
    return len(key) == 1 or key in TYPED


def letter_of(action: Action, keymap: Mapping[str, str]) -> str:
    """The key of an action that is pressed after the leader key: its letter, else its first key; "" for none."""
    keys = keys_of(action, keymap)
    return next(filter(is_letter, keys), keys[0] if keys else "")


def after_leader(keymap: Mapping[str, str]) -> dict[str, Action]:
    """What each key does after the leader key, in the order of the table: as in the list of results."""
    found: dict[str, Action] = {}
    for action in (*actions_of("list"), *actions_of("search")):
        if action.id not in ("leader", "back"):
            found.update(dict.fromkeys(keys_of(action, keymap), action))
    return found


def problems_of(keymap: Mapping[str, str]) -> tuple[str, ...]:
    """One line for each action or key that does not exist, and each key that two actions of one place would share.

    As shipped, an action of a part may share a key with one of the whole screen: the part goes first.
    """
    found = [_unknown(name) for name in keymap if name not in BY_ID]
    chosen = ((name, key) for name in usable(keymap) for key in keys_of(BY_ID[name], keymap))
    found += [
        f"screen.keys: {name}: {key} is no key; write ctrl+x, f5, a letter" for name, key in chosen if not _is(key)
    ]
    for scope in PLACES:
        owner: dict[str, Action] = {}
        for action in (*actions_of("search"), *(actions_of(scope) if scope != "search" else ())):
            for key in keys_of(action, keymap):
                other = owner.setdefault(key, action)
                shipped = other.id not in keymap and action.id not in keymap and other.scope != action.scope
                if other is not action and not shipped:
                    found.append(f"screen.keys: {key} is the key of {other.id} and of {action.id}")
    return tuple(dict.fromkeys(found))


def usable(keymap: Mapping[str, str]) -> dict[str, str]:
    """The part of the user's choice that names existing actions and at least one key."""
    return {name: keys for name, keys in keymap.items() if name in BY_ID and keys.strip(" ,")}


def _is(key: str) -> bool:
    """Whether a key has this name in Textual, as "ctrl+x", "f5" or "less_than_sign"."""
    *modifiers, name = key.split("+")
    return (len(name) == 1 or name in _names()) and {"ctrl", "alt", "shift", "super"}.issuperset(modifiers)


@cache
def _names() -> frozenset[str]:
    from textual.keys import KEY_NAME_REPLACEMENTS, Keys

    signs = {re.sub("[ -]", "_", unicodedata.name(chr(code), "").lower()) for code in range(ord("ſ"))}
    return frozenset({one.value.rpartition("+")[2] for one in Keys} | signs | set(KEY_NAME_REPLACEMENTS.values()))


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, BY_ID, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"screen.keys: there is no action {name}{hint}"
