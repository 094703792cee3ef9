"""The actions of the screen and their keys, in one table.

The bindings, the help, the command palette and the check of `screen.keys` in the settings all come from it. A single
letter works wherever no text is being typed; one with Alt works everywhere. With Alt only letters other than b and f:
most terminals send Alt as Escape, which Textual takes together only with a letter, and Alt+b and Alt+f are a step of a
word. This module does not need Textual.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """Something a key can do."""

    id: str
    """the name in `screen.keys`"""
    keys: str
    """default keys, separated by commas, as Textual names them"""
    title: str
    """as the footer shows it"""
    description: str
    """one sentence for the help and the command palette"""
    shown: bool = False
    """in the footer"""
    scope: str = "search"
    """search: the whole search screen; list: the result list; preview: the preview pane"""


ACTIONS: tuple[Action, ...] = (
    Action("open", "enter", "Open", "Open the selected result with the system's program."),
    Action("edit", "e,alt+e", "Edit", "Open it in the editor, at the line of the match."),
    Action("page", "v,alt+v", "Pager", "Show its text in the pager."),
    Action("folder", "o,alt+o", "Folder", "Open the folder it lies in."),
    Action("copy", "y,alt+y", "Copy", "Copy its path to the clipboard."),
    Action("order", "ctrl+s,s", "Order", "The next order: learned, BM25, newest first, by name.", shown=True),
    Action("preview", "f2,p,alt+p", "Preview", "Show or hide the preview.", shown=True),
    Action("explain", "f3,x,alt+x", "Why", "Say why the selected result stands where it stands.", shown=True),
    Action("facets", "f4,f,alt+t", "Filter", "Narrow the results by type, folder and time.", shown=True),
    Action("refresh", "f5,r,alt+r", "Refresh", "Ask again, with the newest state of the index."),
    Action("sizes", "z,alt+z", "Sizes", "Show or hide the sizes of the files."),
    Action("thread", "t,alt+i", "Thread", "Show the mails of the selected one's thread; there, go back to the query."),
    Action("stats", "f6,S,alt+s", "Statistics", "Show whether the learned order helps."),
    Action("help", "f1,question_mark", "Help", "Explain the part of the screen that has the focus.", shown=True),
    Action("suggestion", "f8,alt+g", "Spelling", "Search for the suggested spelling, or for the words as typed."),
    Action("next-match", "n,alt+n", "Next match", "Go to the next match in the preview."),
    Action("previous-match", "N,alt+m", "Previous match", "Go to the previous match in the preview."),
    Action("source", "u,alt+u", "Source", "Show the preview as written, or rendered: Markdown, tables, colours."),
    Action("wider", "less_than_sign,alt+h", "Wider preview", "Make the preview larger."),
    Action("narrower", "greater_than_sign,alt+l", "Smaller preview", "Make the preview smaller."),
    Action("search", "slash,ctrl+l", "Search", "Go to the search box."),
    Action("back", "escape", "Back", "Go back to the search box; there, clear it."),
    Action("quit", "ctrl+q", "Quit", "Leave the program.", shown=True),
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
)
BY_ID = {action.id: action for action in ACTIONS}


def actions_of(scope: str) -> tuple[Action, ...]:
    """The actions of one scope, in the order of the table."""
    return tuple(action for action in ACTIONS if action.scope == scope)


def keys_of(action: Action, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of an action after the user's own choice, which replaces all the default ones."""
    return tuple(key.strip() for key in keymap.get(action.id, action.keys).split(",") if key.strip())


def problems_of(keymap: Mapping[str, str]) -> tuple[str, ...]:
    """One line for each action id that does not exist and each key that two actions of one scope would share."""
    found = [_unknown(name) for name in keymap if name not in BY_ID]
    for scope in ("search", "list", "preview"):
        owner: dict[str, str] = {}
        for action in actions_of(scope):
            for key in keys_of(action, keymap):
                other = owner.setdefault(key, action.id)
                if other != action.id:
                    found.append(f"screen.keys: {key} is the key of {other} and of {action.id}")
    return tuple(found)


def usable(keymap: Mapping[str, str]) -> dict[str, str]:
    """The part of the user's choice that names actions that exist and keys at all."""
    return {name: keys for name, keys in keymap.items() if name in BY_ID and keys.strip(" ,")}


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, BY_ID, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"screen.keys: there is no action {name}{hint}"
