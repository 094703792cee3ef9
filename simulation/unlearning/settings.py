"""What every way of unlearning is: settings, what it needs of the past, and the rankers that it goes through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from simulation.unlearning.past import Past, Step

Count = Annotated[int, msgspec.Meta(ge=1)]


class UnlearningSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="unlearning"):
    """What the settings of all ways are: strict records that name themselves in the field `unlearning`."""

    level: bool = False
    """whether only the last ranker makes a row: a level to compare curves with"""

    def kept(self, together: range) -> range:
        """Of which rounds the server keeps what was reported; `together`: those that the leavers took part in.

        Rounds count from 1.
        """
        return range(0)

    def rounds(self, together: range) -> int:
        """How many rounds unlearning takes."""
        raise NotImplementedError

    def forget(self, past: Past) -> Iterator[Step]:
        """The ranker that unlearning begins with, and the one after each of its rounds."""
        raise NotImplementedError
