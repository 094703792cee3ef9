"""The errors of the learning core.

FoltrError
├── ShapeError        an array lacks the shape that the docstring asks for
├── ValueRangeError   a number is outside its range, or not finite
├── ModelError        a stored or imported model does not fit this program
└── RecordError       a stored record cannot be read

Front ends turn any of them into one line and exit code 2.
"""


class FoltrError(Exception):
    """The root: every error of the learning core, with a message for a person."""


class ShapeError(FoltrError):
    """An array lacks the shape that the docstring asks for."""


class ValueRangeError(FoltrError):
    """A number is outside its range, or not finite."""


class ModelError(FoltrError):
    """A stored or imported model does not fit this program."""


class RecordError(FoltrError):
    """A stored record cannot be read."""
