"""PromQL of the table of metrics: a query can name nothing that is not there."""

from typing import Final

from nncache.metrics.metric import Metric
from nncache.metrics.table import METRICS

TARGETS: Final = 'job=~"$job", instance=~"$instance"'
"""What the variables of a dashboard select."""

PROCESS: Final = frozenset(
    {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"}
)
"""What the metrics page has beside the table: the names that prometheus_client gives to a process's figures."""

_TABLE: Final = {metric.name: metric for metric in METRICS}


def of(name: str, **matchers: str) -> str:
    """Return the selector of a metric; a matcher's words may be several, `a|b`.

    Raises:
        ValueError: the table has no such metric, or it has no such label.
    """
    if name not in PROCESS:
        _check(_metric(name), matchers)
    return f"{name}{_braces(matchers)}"


def rate(name: str, **matchers: str) -> str:
    """Return by how much a counter grows in a second.

    Raises:
        ValueError: as `of`, or it is no counter.
    """
    if name not in PROCESS and _metric(name).kind != "counter":
        raise ValueError(f"{name} is no counter")
    return f"rate({of(name, **matchers)}[$__rate_interval])"


def increase(name: str) -> str:
    """Return by how much a counter has grown within a few scrapes: for what happens seldom.

    Raises:
        ValueError: as `rate`.
    """
    return f"increase{rate(name).removeprefix('rate')}"


def total(expression: str, *by: str) -> str:
    """Return the sum over all targets, or one for each value of these labels."""
    return f"sum by ({', '.join(by)}) ({expression})" if by else f"sum({expression})"


def quantile(share: float, name: str, *by: str, **matchers: str) -> str:
    """Return what this share of a histogram's observations did not exceed, one for each value of these labels.

    Raises:
        ValueError: as `of`, or it is no histogram.
    """
    metric = _metric(name)
    if metric.kind != "histogram":
        raise ValueError(f"{name} is no histogram")
    _check(metric, matchers)
    buckets = f"rate({name}_bucket{_braces(matchers)}[$__rate_interval])"
    return f"histogram_quantile({share}, {total(buckets, 'le', *by)})"


def _metric(name: str) -> Metric:
    if name not in _TABLE:
        raise ValueError(f"the table of metrics has no {name}")
    return _TABLE[name]


def _check(metric: Metric, matchers: dict[str, str]) -> None:
    for label, words in matchers.items():
        if label not in metric.labels:
            raise ValueError(f"{metric.name} has no label {label}")
        for word in words.split("|"):
            if metric.values and word not in metric.values:
                raise ValueError(f"{metric.name}: {label} is never {word!r}")


def _braces(matchers: dict[str, str]) -> str:
    own = (f'{label}{"=~" if "|" in words else "="}"{words}"' for label, words in matchers.items())
    return "{" + ", ".join((*own, TARGETS)) + "}"
