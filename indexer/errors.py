"""The errors of the indexer.

IndexerError
├── ExtractionError   one file could not be read; it is listed, never fatal
├── LockedError       another process is writing to the index; names it
└── IndexDamaged      the index cannot be opened and must be rebuilt

Front ends turn any of them into one line and exit code 2.
"""


class IndexerError(Exception):
    """The root: every error of the indexer, with a message for a person."""


class ExtractionError(IndexerError):
    """One file could not be read; `kind` is a fixed word for lists and counts.

    kinds: unreadable, encrypted, malformed, too-large, too-slow, timeout, memory, crashed, unsupported.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return (type(self), (self.kind, str(self)))


class LockedError(IndexerError):
    """Another process is writing to the index; the message names it."""


class IndexDamaged(IndexerError):
    """The index cannot be opened and must be rebuilt."""
