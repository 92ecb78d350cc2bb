"""A row of the table of metrics: the exported name of a figure, and the field that holds it."""

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
"""The rooms with figures, and the daemons that have each room. The figures of a room are one Stats value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One row of the table."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    unit: str
    source: str
    """A room of ROOMS, and a field of its Stats: `cache.serves`."""
    meaning: str
    labels: tuple[str, ...] = ()
    """The labels of a mapping's keys, or the label of a text. A text, also as a mapped value, is shown as 1."""
    values: Mapping[str, str] = field(default_factory=dict)
    """All values of the only label, with their meanings. A value is shown as zero until it occurs."""
    is_boot_time: bool = False
    """The field is in seconds since boot, by the clock that cannot be set. It is shown as Unix time."""

    @property
    def room(self) -> str:
        """The room, one of ROOMS."""
        return self.source.partition(".")[0]

    @property
    def daemons(self) -> tuple[Daemon, ...]:
        """The daemons that have the metric."""
        return ROOMS[self.room]


def counter(
    source: str,
    name: str,
    unit: str,
    meaning: str,
    label: str | tuple[str, ...] = (),
    values: Mapping[str, str] | None = None,
) -> Metric:
    """Return the row of a figure that only increases."""
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
    """Return the row of a figure that goes up and down."""
    return Metric(name=f"nncache_{name}", kind="gauge", unit=unit, source=source, meaning=meaning)


def moment(source: str, name: str, meaning: str) -> Metric:
    """Return the row of a time. The field is in seconds since boot; Unix time is shown, to compare with `time()`."""
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
