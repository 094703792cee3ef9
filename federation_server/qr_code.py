"""An invite link as a QR code in the terminal, for a telephone's or a laptop's camera; needs the extra `qr`."""

from __future__ import annotations

import io

from foltr.errors import FoltrError

BORDER = 2
"""light modules around it: half of what the standard asks for, so that a link fits 80 columns; cameras read it"""
WHITE_ON_BLACK, RESET = "\x1b[97;40m", "\x1b[0m"


class MissingExtraError(FoltrError):
    """The package that draws codes is not installed."""


def qr_code(text: str) -> str:
    """Lines of half blocks, two rows of modules in each, white on black whatever the terminal's own colours are."""
    try:
        import segno
    except ModuleNotFoundError as error:
        raise MissingExtraError("segno is missing; install it with: pip install 'foltr-search[qr]'") from error
    drawn = io.StringIO()
    segno.make_qr(text, error="l", boost_error=False).terminal(drawn, border=BORDER, compact=True)
    return "\n".join(f"{WHITE_ON_BLACK}{line}{RESET}" for line in drawn.getvalue().splitlines())
