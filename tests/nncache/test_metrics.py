"""One table of metrics, complete, and read only when somebody asks."""

import dataclasses
import re
from collections.abc import Iterator

import pytest

from cache.decisions import Reason
from nncache.metrics import METRICS, Metric, MetricsPage, family
from tests.nncache.figures import ROOMS, made_up


def leaves(stats: object, prefix: str) -> Iterator[str]:
    """Yield the path of each figure."""
    assert dataclasses.is_dataclass(stats)
    for field in dataclasses.fields(stats):
        value = getattr(stats, field.name)
        if dataclasses.is_dataclass(value):
            yield from leaves(value, f"{prefix}.{field.name}")
        else:
            yield f"{prefix}.{field.name}"


@pytest.mark.parametrize("room", ROOMS)
def test_each_figure_of_a_room_is_a_metric(room: str) -> None:
    """What is counted can be seen; what is shown is counted."""
    shown = {metric.source for metric in METRICS if metric.source.split(".")[0] == room}
    assert shown == set(leaves(made_up()[room], room))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_is_named_as_prometheus_asks(metric: Metric) -> None:
    """Prefix, base units in the name, `_total` for counters alone, a sentence of meaning."""
    assert re.fullmatch(r"nncache_[a-z0-9_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.meaning.endswith((".", "?", "< 0."))
    if metric.unit == "seconds":
        assert "seconds" in metric.name
    if metric.unit == "bytes":
        assert "bytes" in metric.name


def test_names_and_sources_are_unique() -> None:
    """No figure twice, no name twice."""
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({metric.source for metric in METRICS}) == len(METRICS)


def test_the_page_has_every_metric_and_the_process() -> None:
    """Values, labels, the version, and what the process uses."""
    page = MetricsPage(made_up).render().decode()
    for metric in METRICS:
        assert f"# TYPE {metric.name} {metric.kind}\n" in page
    assert 'nncache_cache_asked_total{reason="no-grant"} 3.0\n' in page
    assert re.search(r'^nncache_info\{version="\d', page, re.MULTILINE)
    assert "\nprocess_resident_memory_bytes " in page
    assert "\npython_gc_collections_total{" in page


def test_figures_are_read_at_each_scrape_and_not_before() -> None:
    """Nothing runs until somebody asks."""
    reads = 0

    def read() -> dict[str, object]:
        nonlocal reads
        reads += 1
        return made_up()

    page = MetricsPage(read)
    assert reads == 0
    page.render()
    page.render()
    assert reads == 2


def test_a_figure_must_be_a_number() -> None:
    """A text in a room's figures is a mistake of ours, not a zero."""
    with pytest.raises(TypeError, match="is not a number: 'x'"):
        family(METRICS[0], "x")
    labelled = next(metric for metric in METRICS if metric.label is not None)
    assert [sample.labels for sample in family(labelled, {Reason.MISS: 1}).samples] == [
        {labelled.label: "miss"}
    ]
