"""What other clients met, worked out by hand."""

from pathlib import Path

import pytest

from nncache.bench.judge.others import FILE, others
from nncache.bench.tables import OTHERS, write


def row(kind: str, seconds: float, calls: int = 1, error: str | None = None) -> dict[str, object]:
    """Return a row of the table."""
    return {"at_s": 0.0, "kind": kind, "seconds": seconds, "calls": calls, "error": error}


def test_means_are_over_calls_and_quantiles_over_answers(tmp_path: Path) -> None:
    """A mean of many calls counts more; what got no reply took no time that says anything."""
    rows = [
        *(row("call", 0.002) for _ in range(99)),
        row("call", 0.5),
        row("call", 5.0, error="no reply"),
        *(row("queue", 0.001, 30), row("queue", 0.005, 10)),
        *(row("lock wait", 0.0, 40), row("processing", 0.003, 40)),
    ]
    write(rows, OTHERS, tmp_path / FILE)
    found = others(tmp_path)
    assert found is not None
    assert (found.took_s.count, found.failed, found.rpc_calls) == (100, 1, 40)
    assert found.took_s.p50 == pytest.approx(0.002, rel=0.01)
    assert found.took_s.max == pytest.approx(0.5, rel=0.01)
    assert found.queue_s == pytest.approx(0.002)
    assert found.lock_wait_s == 0.0
    assert found.processing_s == pytest.approx(0.003)


def test_what_was_not_measured_is_none(tmp_path: Path) -> None:
    """A run on a cluster of one's own has no such table; a short one may have no mean."""
    assert others(tmp_path) is None
    write([row("call", 0.001)], OTHERS, tmp_path / FILE)
    found = others(tmp_path)
    assert found is not None
    assert (found.queue_s, found.lock_wait_s, found.processing_s, found.rpc_calls) == (None, None, None, 0)
