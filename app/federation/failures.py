"""Why a device and its server could not do what was asked.

FederationError
├── Unreachable    no answer, or a server that is busy: trying again later may help
├── Distrusted     the server said something that no honest server says
├── Declined       the server refused, with its own reason code
├── SpentError     sending would go past this device's privacy budget, or without any protection
└── ConsentError   the user has not agreed to the present terms or members
"""

from __future__ import annotations

from foltr.errors import FoltrError

MOVED = "if the server has moved, its operator has a link for `foltr-search federation move`, or a new invite"
"""advice where nobody answers, or somebody else does"""


class FederationError(FoltrError):
    """The root of all these, raised itself for what has no class of its own; its message is for a person."""


class Unreachable(FederationError):
    """No answer in time."""


class Distrusted(FederationError):
    """A signature, an identity or a number that does not fit; nothing of the answer was used."""


GONE = ("unknown-device", "revoked")
"""refusals by a server for which this device is no longer a member"""

ADVICE = {
    "needed": "; sync until the round is over, then leave; or leave now, with --now",
    "clock": "; correct the clock that is wrong; nothing is lost",
}


class Declined(FederationError):
    """The server refused."""

    def __init__(self, reason: str, message: str) -> None:
        advice = "; `foltr-search leave` ends the membership here, too" if reason in GONE else ADVICE.get(reason, "")
        super().__init__(f"the server refused: {message} ({reason}){advice}")
        self.reason = reason


class SpentError(FederationError):
    """The privacy budget forbids sending."""


class ConsentError(FederationError):
    """The user has not agreed to this."""
