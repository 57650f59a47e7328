"""Amounts of a network's money, exactly."""

from __future__ import annotations

from decimal import Context, Decimal, InvalidOperation

from .errors import InvalidArgumentError

Money = int | float | str | Decimal
"""An amount in whole tokens of money, such as ``12.5``. A float means what it prints."""


_DIGITS_SHOWN = 6


def short_text(amount: Decimal) -> str:
    """``amount`` for people, to six digits, as the command line prints it."""
    digits = max(_DIGITS_SHOWN, amount.adjusted() + 1)
    return format(Context(prec=digits).plus(amount).normalize(), "f")


def decimal_text(amount: Money, name: str) -> str:
    """``amount`` in plain digits.

    Raises:
        InvalidArgumentError: for what is not a number, is below zero, or not finite.
    """
    try:
        value = Decimal(repr(amount) if isinstance(amount, float) else amount)
    except InvalidOperation:
        raise InvalidArgumentError(f"{name}: {amount!r} is not an amount like 12.5") from None
    if not value.is_finite() or value < 0:
        raise InvalidArgumentError(f"{name}: {amount!r} is not an amount of at least 0")
    return format(value, "f")
