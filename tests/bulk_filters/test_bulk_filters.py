"""A short run of `make bulk-filters`, and the whole."""

from pathlib import Path

import pytest

from nncache.testbed import Cluster
from tests.bulk_filters.run import run_bulk

pytestmark = pytest.mark.timeout(900)


@pytest.mark.long
@pytest.mark.parametrize("count", [300, 5_000])
def test_a_file_of_filters_comes_into_force(
    cluster: Cluster, hdfs_directory: str, tmp_path: Path, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """All filters, each once, in few changes of the set; the test prints durations and the gate's closings."""
    figures = run_bulk(cluster, hdfs_directory, tmp_path, count)
    with capsys.disabled():
        print("", *figures.lines(), sep="\n  ")  # noqa: T201 - figures for the reader of the output
    assert figures.printed == [
        f"filters: {count} added, 0 changed, 0 removed, 0 unchanged",
        f"filters: 0 added, 0 changed, 0 removed, {count} unchanged",
    ]
    assert figures.reads > 0
