"""The page of a daemon's figures, read only when somebody asks."""

import re
from typing import get_args

import pytest

from nncache.cache.decisions import Reason
from nncache.metrics.metric import Daemon
from nncache.metrics.page import MetricsPage, family
from nncache.metrics.table import METRICS
from tests.nncache.figures import made_up


@pytest.mark.parametrize("daemon", get_args(Daemon))
def test_the_page_has_every_metric_of_the_daemon_and_the_process(daemon: Daemon) -> None:
    """No other daemon's, the version, and what the process uses."""
    page = MetricsPage(daemon, lambda: made_up(daemon)).render().decode()
    for metric in METRICS:
        assert (f"# TYPE {metric.name} {metric.kind}\n" in page) == (daemon in metric.daemons)
    assert re.search(rf'^nncache_info\{{daemon="{daemon}",version="\d', page, re.MULTILINE)
    assert "\nprocess_resident_memory_bytes " in page
    assert "\npython_gc_collections_total{" in page


def test_a_mapping_becomes_one_sample_for_each_of_its_keys() -> None:
    """The keys are values of the row's label."""
    page = MetricsPage("proxy", lambda: made_up("proxy")).render().decode()
    assert 'nncache_cache_asked_total{reason="no-grant"} 3.0\n' in page


def test_figures_are_read_at_each_scrape_and_not_before() -> None:
    """Nothing runs until somebody asks."""
    reads = 0

    def read() -> dict[str, object]:
        nonlocal reads
        reads += 1
        return made_up("proxy")

    page = MetricsPage("proxy", read)
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
