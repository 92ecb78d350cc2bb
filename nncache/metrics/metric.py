"""A row of the table of metrics: what a figure is called outside, and where it is read. (nncache/metrics/metric.py)"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Daemon: TypeAlias = Literal["proxy", "publisher"]

ROOMS: Mapping[str, tuple[Daemon, ...]] = {
    "admin": ("proxy", "publisher"),
    "cache": ("proxy",),
    "fast_path": ("proxy",),
    "forward": ("proxy",),
    "front_end": ("proxy",),
    "loop": ("proxy", "publisher"),
    "pool": ("proxy", "publisher"),
    "polling": ("proxy", "publisher"),
    "publisher": ("publisher",),
    "records": ("proxy",),
    "server": ("proxy",),
    "stream": ("proxy",),
    "zookeeper": ("proxy", "publisher"),
}
"""Whose figures there are, and which daemons have them. Each is one Stats value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One row."""

    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    source: str
    """One of ROOMS, and the field of its Stats: `cache.serves`."""
    meaning: str
    label: str | None = None
    """The field is a mapping; its keys become values of this label."""

    @property
    def room(self) -> str:
        """One of ROOMS."""
        return self.source.partition(".")[0]

    @property
    def daemons(self) -> tuple[Daemon, ...]:
        """The daemons that have it."""
        return ROOMS[self.room]


def counter(source: str, name: str, unit: str, meaning: str, label: str | None = None) -> Metric:
    """Return the row of a figure that only grows."""
    return Metric(
        name=f"nncache_{name}_total", kind="counter", unit=unit, source=source, meaning=meaning, label=label
    )


def gauge(source: str, name: str, unit: str, meaning: str, label: str | None = None) -> Metric:
    """Return the row of a figure that comes and goes."""
    return Metric(
        name=f"nncache_{name}", kind="gauge", unit=unit, source=source, meaning=meaning, label=label
    )
