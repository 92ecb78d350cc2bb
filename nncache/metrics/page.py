"""The page at `/metrics`, in Prometheus' text format."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from importlib.metadata import version
from itertools import accumulate
from operator import attrgetter
from typing import Final, cast

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    Info,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from nncache.clock import unix_time_of_boot
from nncache.metrics.metric import Daemon, Metric
from nncache.metrics.table import METRICS
from nncache.proxy.traffic import BOUNDS_S, Durations

Figures = Mapping[str, object]
"""The current Stats value of each room, by the first part of `Metric.source`."""


def value_of(metric: Metric, figures: Figures) -> object:
    """Return the field that the row names."""
    value: object = attrgetter(metric.source.partition(".")[2])(figures[metric.room])
    return value


NAMESPACE: Final = "namespace"
"""The label of figures that each of several namespaces has. It is empty, as if absent, for all other figures."""


class StatsCollector(Collector):
    """Converts the figures of a daemon's rooms to Prometheus families at each scrape."""

    def __init__(self, daemon: Daemon, read: Callable[[], Mapping[str, Figures]]) -> None:
        """Prepare scrapes. `read` returns the figures by namespace; the name "" has the daemon's own figures."""
        self._metrics = [metric for metric in METRICS if daemon in metric.daemons]
        self._read = read

    def collect(self) -> Iterable[Family]:
        """Return one family per row."""
        figures = self._read()
        return [_of_all(metric, figures) for metric in self._metrics]


def _of_all(metric: Metric, figures: Mapping[str, Figures]) -> Family:
    parts = {
        name: family(metric, value_of(metric, own)) for name, own in figures.items() if metric.room in own
    }
    first = next(iter(parts.values()))
    if parts.keys() == {""}:
        return first
    made = Family(first.name, first.documentation, first.type)
    for name, part in parts.items():
        for sample in part.samples:
            made.add_sample(sample.name, {**sample.labels, NAMESPACE: name}, sample.value)
    return made


class MetricsPage:
    """The page at `/metrics`: the figures of nncache, of the process and of the interpreter."""

    def __init__(
        self, daemon: Daemon, read: Callable[[], Figures], of_each: Callable[[], Mapping[str, Figures]] = dict
    ) -> None:
        """Show the daemon's own figures from `read`, and the figures of each of several namespaces from `of_each`."""
        self._registry = CollectorRegistry()
        self._registry.register(StatsCollector(daemon, lambda: {"": read(), **of_each()}))
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        Info("nncache", "What runs.", registry=self._registry).info(
            {"version": version("nncache"), "daemon": daemon}
        )

    def render(self) -> bytes:
        """Return the page as of now, in Prometheus' text format 0.0.4."""
        return generate_latest(self._registry)


def family(metric: Metric, value: object) -> Family:
    """Return the Prometheus form of one row."""
    if metric.kind == "histogram":
        return _histogram(metric, cast("Mapping[object, Durations]", value))
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    made = kind(metric.name, metric.meaning, labels=list(metric.labels))
    match value:
        case dict():
            counts = dict.fromkeys(metric.values, 0) | {_words(key): count for key, count in value.items()}
            for key, count in counts.items():
                number = 1.0 if isinstance(count, str) else float(count)
                made.add_metric([key] if isinstance(key, str) else list(key), number)
        case str() if metric.labels:
            if value:
                made.add_metric([value], 1.0)
        case int() | float():
            made.add_metric(
                [], float(value) + (unix_time_of_boot() if metric.is_boot_time and value else 0.0)
            )
        case _:
            raise TypeError(f"{metric.source} is not a number: {value!r}")
    return made


def _histogram(metric: Metric, by_label: Mapping[object, Durations]) -> Family:
    made = HistogramMetricFamily(metric.name, metric.meaning, labels=list(metric.labels))
    bounds = [*map(str, BOUNDS_S), "+Inf"]
    for key, durations in by_label.items():
        buckets = list(zip(bounds, map(float, accumulate(durations.counts)), strict=True))
        made.add_metric([str(_words(key))], buckets, sum_value=durations.sum_s)
    return made


def _words(key: object) -> str | tuple[str, ...]:
    """Return the label's value for a key: the words of the documentation, not Python's names."""
    match key:
        case tuple():
            return tuple(str(_words(each)) for each in key)
        case Enum():
            return str(key.value)
        case _:
            return str(key)
