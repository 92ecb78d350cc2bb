"""Load by wrk: what it says is understood, it ends when it is to, and what it asks for is answered."""

import resource
import shutil
import time
from pathlib import Path

import pytest

from nncache.bench.wrk import Counted, ask_for, ask_times, find_wrk, held, let_open, loading, parse_wrk
from nncache.testbed.errors import MissingToolError, TestbedError
from tests.bench.polling_server import Act, Script, reply, serving
from tests.patience import HANG_S

needs_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="apt-get install wrk")
SCRIPT = """\
local number = 0
request = function()
  number = number + 1
  return wrk.format("GET", "/webhdfs/v1/" .. number)
end
"""

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


def test_who_has_none_is_told_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(MissingToolError, match="apt-get install wrk"):
        find_wrk()


def test_as_many_connections_as_are_needed_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or it is said how to allow them."""
    allowed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1_000))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: allowed.append(limits))
    let_open(800)
    assert allowed == [(1_000, 1_000)]
    with pytest.raises(TestbedError, match="at most 1000 files may be open here, 1001 are needed: ulimit"):
        let_open(801)


@needs_wrk
def test_load_for_some_time() -> None:
    """Ends by itself, or with the block."""
    script = Script({})
    with serving(script) as server:
        counted = ask_for(server, SCRIPT, connections=2, seconds=1)
        assert counted.requests > 0
        with loading(server, SCRIPT, connections=2) as load:
            before = len(script.targets)
            while len(script.targets) < before + 20:
                pass
        assert load.counted is not None
        assert load.counted.requests >= 10
    assert counted.failed == load.counted.failed == 0


@needs_wrk
def test_a_load_that_is_held_has_all_its_connections_and_asks_for_nothing(tmp_path: Path) -> None:
    """Until the gate is there, or the time is over."""
    script, gate = Script({}), tmp_path / "gate"
    with serving(script) as server:
        with loading(server, held(SCRIPT, gate, int(HANG_S)), connections=5) as load:
            while script.connections < 6:  # one is to see whether there is a server
                pass
            time.sleep(0.3)
            assert script.targets == []
            gate.touch()
            while len(script.targets) < 20:
                pass
        assert load.counted is not None
        assert load.counted.requests >= 10
        gate.unlink()
        assert ask_for(server, held(SCRIPT, gate, 1), connections=2, seconds=3).requests > 0


@needs_wrk
def test_a_load_whose_user_fails_ends_with_that_error() -> None:
    """And counts nothing."""
    with (
        serving(Script({})) as server,
        pytest.raises(KeyError),
        loading(server, SCRIPT, connections=1) as load,
    ):
        raise KeyError
    assert load.counted is None


@needs_wrk
def test_so_many_requests_are_made_at_least() -> None:
    """The first is the second of the script's: wrk takes one to look at."""
    script = Script({"/3": (Act(data=reply(status="404 Not Found")),)})
    with serving(script) as server:
        ask_times(server, SCRIPT, connections=2, requests=50, within_s=60)
    assert {f"/webhdfs/v1/{number}" for number in range(2, 51)} <= set(script.targets)


@needs_wrk
@pytest.mark.parametrize(
    ("status", "text"),
    [("403 Forbidden", "status 403"), ("200 OK", "has not answered 1,000,000,000 requests in 1 s")],
)
def test_requests_that_are_not_answered_are_an_error(status: str, text: str) -> None:
    """Refused, or not in time."""
    script = Script({"/9": (Act(data=reply(status=status)),)})
    with serving(script) as server, pytest.raises(TestbedError, match=text):
        ask_times(server, SCRIPT, connections=1, requests=10**9, within_s=1 if status == "200 OK" else 60)
