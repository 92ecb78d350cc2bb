"""Of hits a sample is logged, with what it stands for; all else always is."""

from pathlib import Path

import pytest

from nncache.clock import boottime
from nncache.proxy.traffic import Exchange, Result
from nncache.request_logs.access_log import AccessLog
from nncache.request_logs.line_writer import LineWriter
from tests.patience import HANG_S


def weights(
    tmp_path: Path, sample: int, exchanges: list[tuple[Result, int]], chances: list[float]
) -> list[int]:
    """Return the weights of the lines that are written of these requests."""
    writer = LineWriter(str(tmp_path / "log"), boottime, close_s=HANG_S)
    left = iter(chances)
    log = AccessLog(writer, "combined", sample, lambda: next(left))
    for result, weight in exchanges:
        exchange = Exchange("GET", "/webhdfs/v1/f?op=GETFILESTATUS", "127.0.0.1", boottime())
        exchange.result, exchange.weight = result, weight
        log.answered(exchange)
    assert next(left, None) is None, "chance is asked where it decides, and nowhere else"
    writer.start()
    writer.close()
    return [int(line.split()[-2]) for line in (tmp_path / "log").read_text().splitlines()]


@pytest.mark.parametrize(
    ("sample", "exchanges", "chances", "written"),
    [
        (1, [(Result.HIT, 1), (Result.FORWARDED, 1)], [], [1, 1]),
        (10, [(Result.HIT, 1), (Result.HIT, 1)], [0.09, 0.11], [10]),
        (10, [(Result.HIT, 10)], [], [10]),
        (10, [(Result.HIT, 64)], [], [64]),
        (100, [(Result.HIT, 64), (Result.HIT, 64)], [0.63, 0.65], [100]),
        (100, [(result, 1) for result in Result if result is not Result.HIT], [], [1] * (len(Result) - 1)),
    ],
)
def test_a_sample_stands_for_the_hits_that_are_left_out(
    tmp_path: Path, sample: int, exchanges: list[tuple[Result, int]], chances: list[float], written: list[int]
) -> None:
    """What the fast path has thinned out already is thinned out less."""
    assert weights(tmp_path, sample, exchanges, chances) == written
