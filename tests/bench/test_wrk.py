"""What wrk says is understood."""

import resource

import pytest

from nncache.bench.wrk import Counted, let_open, parse_wrk
from nncache.testbed.errors import TestbedError

SAID = """\
Running 3s test @ http://127.0.0.1:1/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.52ms    3.00ms  40.00ms   97.00%
  Latency Distribution
     50%  830.00us
     75%    1.10ms
  150000 requests in 3.01s, 90.00MB read
"""


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        (SAID, Counted(150_000, 0, 830e-6)),
        (SAID.replace("830.00us", "1.25s") + "  Non-2xx or 3xx responses: 7\n", Counted(150_000, 7, 1.25)),
        (
            SAID.replace("830.00us", "2.50ms") + "  Socket errors: connect 1, read 2, write 3, timeout 4\n",
            Counted(150_000, 10, 2.5e-3),
        ),
    ],
)
def test_what_wrk_says(said: str, counted: Counted) -> None:
    """Requests, what failed, and the median."""
    assert parse_wrk(said) == counted


def test_anything_else_is_an_error() -> None:
    """And no measurement of nothing."""
    with pytest.raises(ValueError, match="unable to connect"):
        parse_wrk("unable to connect to 127.0.0.1:1 Connection refused")


def test_as_many_connections_as_are_needed_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or it is said how to allow them."""
    allowed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1_000))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: allowed.append(limits))
    let_open(800)
    assert allowed == [(1_000, 1_000)]
    with pytest.raises(TestbedError, match="at most 1000 files may be open here, 1001 are needed: ulimit"):
        let_open(801)
