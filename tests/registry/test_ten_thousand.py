"""A search among 10,000 records; `python -m tests.registry.ten_thousand` judges the time."""

import pytest

from nncache.testbed import Cluster
from tests.registry.ten_thousand import TIMES, Figures, measure


@pytest.mark.long
async def test_ten_thousand_records(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Listed, read by page and searched; prints the times, the sizes and the memory."""
    figures = await measure(cluster)
    with capsys.disabled():
        print("", *figures.lines(), sep="\n")  # noqa: T201 - the figures are what is asked for
    assert len(figures.find_s) == TIMES


def test_what_takes_too_long_is_said() -> None:
    """In the middle: one search may have met a busy machine."""
    good = Figures(find_s=(0.1, 0.1, 0.9), find_cpu_s=0.1, list_peak_bytes=1, record_bytes=(1, 2))
    assert [*good.shortfalls()] == []
    slow = Figures(find_s=(0.1, 0.3, 0.3), find_cpu_s=0.1, list_peak_bytes=1, record_bytes=(1, 2))
    assert [*slow.shortfalls()] == ["find takes 300 ms in the middle, not 200 ms at most"]
