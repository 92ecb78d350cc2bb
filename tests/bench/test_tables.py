"""The tables that a run leaves are Parquet that other tools read."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nncache.bench.tables import CHANGES, COUNTERS, HOSTS, POLLS
from tests.bench.recorded import change, initial, poll, record

POLLED = (poll(0.0, 0.5, digest=7, served="hit"), poll(1.0, 1.5, status=0), poll(2.0, 2.5))
CHANGED = (initial(), change(0.5, 0.75))
USED = ({"source": "namenode", "name": "getFileInfo", "value": 2.0, "unit": "calls"},)
HOSTED = tuple(
    {"task": task, "host": "here", "pollers": 1, "clock_offset_s": 0.0, "clock_error_s": 0.0, "cpu_s": 0.5}
    for task in range(4)
)


@pytest.mark.parametrize(
    ("name", "schema", "count"),
    [("polls", POLLS, 3), ("changes", CHANGES, 2), ("counters", COUNTERS, 1), ("hosts", HOSTS, 4)],
)
def test_pandas_reads_the_tables_and_each_column_says_what_it_is(
    tmp_path: Path, name: str, schema: pa.Schema, count: int
) -> None:
    """The documented columns in their order, with a description in the file itself."""
    record(tmp_path, polls=POLLED, changes=CHANGED, counters=USED, hosts=HOSTED)
    file = tmp_path / f"{name}.parquet"
    frame = pd.read_parquet(file)
    assert list(frame.columns) == schema.names
    assert len(frame) == count
    for column in pq.read_schema(file):
        assert column.metadata[b"description"] == schema.field(column.name).metadata[b"description"]
        assert len(column.metadata[b"description"]) > 10


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """No value becomes another one on the way, and what is missing stays missing."""
    record(tmp_path, polls=POLLED, changes=CHANGED)
    assert pq.read_table(tmp_path / "polls.parquet").to_pylist() == list(POLLED)
    assert pq.read_table(tmp_path / "changes.parquet").to_pylist() == list(CHANGED)
    assert pq.read_table(tmp_path / "hosts.parquet").to_pylist() == []
