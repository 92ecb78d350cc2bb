"""One metrics table, complete for all daemons."""

import dataclasses
import re
from collections.abc import Iterator

import pytest

from nncache.metrics.metric import ROOMS, Daemon, Metric
from nncache.metrics.table import METRICS
from tests.figures import made_up


def leaves(stats: object, prefix: str) -> Iterator[str]:
    """Yield the path of each figure; texts belong to /ready and the log."""
    assert dataclasses.is_dataclass(stats)
    for field in dataclasses.fields(stats):
        value = getattr(stats, field.name)
        if dataclasses.is_dataclass(value):
            yield from leaves(value, f"{prefix}.{field.name}")
        elif (not isinstance(value, str) and field.name not in NAMES) or field.name == "source":
            yield f"{prefix}.{field.name}"


NAMES = {"filter_names", "troubles"}
"""Fields that are not figures; the status page shows them."""

FOR_TESTS = {
    "admin.connections_open",
    "cache.joins",
    "cache.tickets",
    "front_end.fetches",
    "front_end.windows_without_txid",
    "polling.polls_distrusted",
    "polling.polls_found",
    "polling.reconnects",
    "pool.caller_connections",
    "pool.suspicions",
    "records.records_read",
    "stream.covers",
}
"""Counters for tests alone, which observe internals with them; no operator acts on them."""


@pytest.mark.parametrize(("room", "daemon"), [(room, daemon) for room in ROOMS for daemon in ROOMS[room]])
def test_each_figure_of_a_room_is_a_metric(room: str, daemon: Daemon) -> None:
    """Each counter is a metric or is for tests; each metric has a counter."""
    shown = {metric.source for metric in METRICS if metric.room == room}
    counted = {*leaves(made_up(daemon)[room], room)}
    assert shown == {source for source in counted if not source.startswith(tuple(INNER))} - FOR_TESTS


INNER = {
    "stream.channel.": "polling",
    "publisher.channel.": "polling",
    "publisher.session.": "zookeeper",
    "polling.journal.": "journal",
    "polling.records.": "records",
    "polling.session.": "zookeeper",
}
"""Stats nested in others that are rooms of their own in the table, so that all daemons use one name."""


@pytest.mark.parametrize(("inner", "room"), INNER.items())
def test_figures_inside_others_are_a_room_of_their_own(inner: str, room: str) -> None:
    """Both hold the same figures."""
    outer, field, _ = inner.split(".")
    daemon = next(daemon for daemon in ROOMS[outer] if daemon in ROOMS[room])
    assert getattr(made_up(daemon)[outer], field) == made_up(daemon)[room]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_is_named_as_prometheus_asks(metric: Metric) -> None:
    """A prefix, base units in the name, `_total` for counters only, and a meaning as a sentence."""
    assert re.fullmatch(r"nncache_[a-z0-9_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.meaning.endswith((".", "?", "< 0."))
    if metric.unit == "seconds":
        assert "seconds" in metric.name
    if metric.unit == "bytes":
        assert "bytes" in metric.name


def test_names_and_sources_are_unique() -> None:
    """No source and no name appears twice."""
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({metric.source for metric in METRICS}) == len(METRICS)
