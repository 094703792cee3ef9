"""How programs that many people use are told a line or a page."""

from __future__ import annotations

from collections.abc import Mapping

EDITOR_LINE: Mapping[str, str] = {
    **dict.fromkeys(
        ("vi", "vim", "nvim", "view", "vis", "gvim", "nvi", "elvis", "nano", "pico", "emacs", "emacsclient", "mg"),
        "+{line} {path}",
    ),
    **dict.fromkeys(("micro", "kak", "joe", "jed", "ne", "gedit", "pluma", "gnome-text-editor"), "+{line} {path}"),
    **dict.fromkeys(("hx", "helix", "subl", "zed", "zeditor"), "{path}:{line}"),
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor"), "--goto {path}:{line}"),
    **dict.fromkeys(("kate", "kwrite", "mousepad", "idea", "pycharm"), "--line {line} {path}"),
    "sensible-editor": "+{line} {path}",
    "notepad++": "-n{line} {path}",
}
"""The arguments by the editor's name."""

SCREEN_EDITORS = frozenset({
    "gvim", "gedit", "pluma", "gnome-text-editor", "subl", "zed", "zeditor", "code", "code-insiders", "codium",
    "cursor", "kate", "kwrite", "mousepad", "idea", "pycharm", "notepad", "notepad++",
})  # fmt: skip
"""Editors with a window of their own; any other is taken to need this terminal."""

PAGER_LINE: Mapping[str, str] = {
    "less": "+{line} {path}",
    "more": "+{line} {path}",
    "most": "+{line} {path}",
    "bat": "--paging=always --highlight-line {line} {path}",
    "batcat": "--paging=always --highlight-line {line} {path}",
}

PDF_PAGE: Mapping[str, str] = {
    "zathura": "-P {page} {path}",
    "evince": "-i {page} {path}",
    "papers": "-i {page} {path}",
    "atril": "-i {page} {path}",
    "xreader": "-i {page} {path}",
    "okular": "-p {page} {path}",
    "qpdfview": "{path}#{page}",
    "sioyek": "--page {page} {path}",
    "mupdf": "{path} {page}",
    "xpdf": "{path} {page}",
}
"""The arguments by the viewer's name, which is also in the name of its desktop entry."""
