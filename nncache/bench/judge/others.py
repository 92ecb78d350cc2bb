"""Reduce what a client that does not poll, and the RPC server, measured in one mode."""

import math
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from nncache.bench.judge.quantiles import Histogram
from nncache.bench.shared.figures import OthersFigures

FILE: Final = "others.parquet"


def others(mode_directory: Path) -> OthersFigures | None:
    """Return the figures of the table; None without a table."""
    file = mode_directory / FILE
    if not file.exists():
        return None
    rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    calls = [row for row in rows if row["kind"] == "call"]
    took_us = Counter(round(row["seconds"] * 1e6) for row in calls if row["error"] is None)
    return OthersFigures(
        took_s=Histogram(took_us.items()).quantiles(),
        failed=sum(row["error"] is not None for row in calls),
        rpc_calls=sum(row["calls"] for row in rows if row["kind"] == "queue"),
        queue_s=_mean(rows, "queue"),
        lock_wait_s=_mean(rows, "lock wait"),
        processing_s=_mean(rows, "processing"),
    )


def _mean(rows: list[dict[str, Any]], kind: str) -> float | None:
    """Return the mean over all calls; None without any."""
    found = [row for row in rows if row["kind"] == kind]
    calls = sum(row["calls"] for row in found)
    return math.fsum(row["seconds"] * row["calls"] for row in found) / calls if calls else None
