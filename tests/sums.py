"""Sum figures of one kind."""

from dataclasses import fields
from typing import Any


def add_to(total: Any, more: Any) -> None:
    """Add the numbers, lists and counters of one dataclass to another; texts stay."""
    for each in fields(total):
        value = getattr(total, each.name)
        if not isinstance(value, str):
            setattr(total, each.name, value + getattr(more, each.name))
