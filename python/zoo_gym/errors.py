"""Every error that the engine, a network or this package reports.

All are a :class:`GymError`. Its ``code`` is the stable name of the reason, its ``message`` says what
happened, where, and what to do about it.
"""

from __future__ import annotations

from typing import ClassVar


class GymError(Exception):
    """An expected failure.

    Attributes:
        code: the reason, such as ``"not_found"``; the same names as in the command line's ``--json``.
        message: what happened, where, and what to do about it.
    """

    code: ClassVar[str] = "internal"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidArgumentError(GymError, ValueError):
    """An argument, a file's key or a value breaks a documented rule."""

    code = "invalid_argument"


class MalformedError(GymError, ValueError):
    """Bytes or text do not decode: a damaged file, a wrong answer."""

    code = "malformed"


class ShapeMismatchError(GymError, ValueError):
    """Tensors do not fit the model."""

    code = "shape_mismatch"


class NotFoundError(GymError, LookupError):
    """What was named does not exist."""

    code = "not_found"


class AlreadyExistsError(GymError):
    """The name is taken by something else."""

    code = "already_exists"


class ConflictError(GymError):
    """The state of a job, dataset or file forbids the request."""

    code = "conflict"


class UnauthenticatedError(GymError):
    """No key, or a wrong one."""

    code = "unauthenticated"


class PermissionDeniedError(GymError):
    """The caller may not do this."""

    code = "permission_denied"


class InsufficientFundsError(GymError):
    """The account cannot cover the amount."""

    code = "insufficient_funds"


class OutOfRangeError(GymError, ValueError):
    """A number is beyond a documented bound, or this machine's memory."""

    code = "out_of_range"


class MismatchError(GymError):
    """Content does not hash to its root, or results differ."""

    code = "mismatch"


class DivergedError(GymError):
    """A training's loss became NaN or infinite."""

    code = "diverged"


class UnavailableError(GymError):
    """A peer does not answer; trying again may help."""

    code = "unavailable"


class TimedOutError(GymError):
    """The time for an answer has passed."""

    code = "timeout"


class CancelledError(GymError):
    """The work was stopped on request."""

    code = "cancelled"


class IoError(GymError):
    """The operating system refused a file or connection."""

    code = "io"


class InternalError(GymError):
    """A library failed in a way that the input does not explain."""

    code = "internal"


_BY_CODE: dict[str, type[GymError]] = {
    kind.code: kind
    for kind in (
        InvalidArgumentError,
        MalformedError,
        ShapeMismatchError,
        NotFoundError,
        AlreadyExistsError,
        ConflictError,
        UnauthenticatedError,
        PermissionDeniedError,
        InsufficientFundsError,
        OutOfRangeError,
        MismatchError,
        DivergedError,
        UnavailableError,
        TimedOutError,
        CancelledError,
        IoError,
        InternalError,
    )
}


def error_of(code: str, message: str) -> GymError:
    """The error of a code; the extension modules raise through this."""
    return _BY_CODE.get(code, InternalError)(message)
