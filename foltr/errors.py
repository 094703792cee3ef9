"""The errors of the learning core.

FoltrError
├── ShapeError        an array has another shape than the docstring asks for
├── ValueRangeError   a number is outside its range, or not finite
├── ModelError        a stored or imported model does not fit this program
└── RecordError       a stored record cannot be read

Front ends turn any of them into one line and exit code 2.
"""

from math import inf


class FoltrError(Exception):
    """The root: every error of the learning core, with a message for a person."""


class ShapeError(FoltrError):
    """An array has another shape than the docstring asks for."""


class ValueRangeError(FoltrError):
    """A number is outside its range, or not finite."""


class ModelError(FoltrError):
    """A stored or imported model does not fit this program."""


class RecordError(FoltrError):
    """A stored record cannot be read."""


def check_positive(**settings: float) -> None:
    """ValueRangeError names the first setting that is not above 0, or is not finite."""
    for name, value in settings.items():
        if not 0 < value < inf:
            raise ValueRangeError(f"{name} must be positive, not {value}")
