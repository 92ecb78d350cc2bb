"""A row of the table of metrics: what a figure is called outside, and where it is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Daemon: TypeAlias = Literal["proxy", "publisher", "dns", "namenode", "datanode"]

ROOMS: Mapping[str, tuple[Daemon, ...]] = {
    "admin": ("proxy", "publisher", "dns", "namenode", "datanode"),
    "audit": ("proxy",),
    "balancers": ("proxy",),
    "cache": ("proxy",),
    "dns": ("dns",),
    "events": ("proxy",),
    "fast_path": ("proxy",),
    "forward": ("proxy",),
    "front_end": ("proxy",),
    "journal": ("proxy", "publisher"),
    "loop": ("proxy", "publisher", "dns"),
    "pool": ("proxy", "publisher"),
    "namespace": ("namenode",),
    "polling": ("proxy", "publisher"),
    "publisher": ("publisher",),
    "records": ("proxy",),
    "registration": ("proxy", "publisher"),
    "registry": ("proxy",),
    "request_logs": ("proxy",),
    "server": ("proxy",),
    "stream": ("proxy",),
    "tenants": ("proxy",),
    "termination": ("proxy",),
    "tls": ("proxy",),
    "traffic": ("proxy",),
    "znodes": ("namenode", "datanode"),
    "zookeeper": ("proxy", "publisher", "dns", "namenode", "datanode"),
}
"""Whose figures there are, and which daemons have them. Each is one Stats value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One row."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    unit: str
    source: str
    """One of ROOMS, and the field of its Stats: `cache.serves`."""
    meaning: str
    labels: tuple[str, ...] = ()
    """The field is a mapping; its keys become values of this label, or of these. One of texts, and a text, shows 1."""
    values: Mapping[str, str] = field(default_factory=dict)
    """What the only label can say, and what each word means; shown as zero before it happens."""
    is_boot_time: bool = False
    """The field is in seconds since boot, of the clock that no one can set; shown as Unix time."""

    @property
    def room(self) -> str:
        """One of ROOMS."""
        return self.source.partition(".")[0]

    @property
    def daemons(self) -> tuple[Daemon, ...]:
        """The daemons that have it."""
        return ROOMS[self.room]


def counter(
    source: str,
    name: str,
    unit: str,
    meaning: str,
    label: str | tuple[str, ...] = (),
    values: Mapping[str, str] | None = None,
) -> Metric:
    """Return the row of a figure that only grows."""
    return Metric(
        name=f"nncache_{name}_total",
        kind="counter",
        unit=unit,
        source=source,
        meaning=meaning,
        labels=(label,) if isinstance(label, str) else label,
        values=values or {},
    )


def gauge(source: str, name: str, unit: str, meaning: str) -> Metric:
    """Return the row of a figure that comes and goes."""
    return Metric(name=f"nncache_{name}", kind="gauge", unit=unit, source=source, meaning=meaning)


def moment(source: str, name: str, meaning: str) -> Metric:
    """Return the row of a moment, counted since boot inside and shown as Unix time (Prometheus compares `time()`)."""
    return Metric(
        name=f"nncache_{name}_timestamp_seconds",
        kind="gauge",
        unit="Unix seconds",
        source=source,
        meaning=meaning,
        is_boot_time=True,
    )


def histogram(source: str, name: str, meaning: str, label: str) -> Metric:
    """Return the row of durations, one `Durations` for each value of the label."""
    return Metric(
        name=f"nncache_{name}_seconds",
        kind="histogram",
        unit="seconds",
        source=source,
        meaning=meaning,
        labels=(label,),
    )
