"""Calls to the NameNode are limited; answers from memory are not."""

import contextlib
from http import HTTPStatus

import pytest

from nncache.proxy.decide import call_limits
from nncache.proxy.decide.call_limits import CallLimits, LimitedFetcher
from nncache.proxy.errors import TooManyCallsError, TooManyRequestsError
from nncache.proxy.messages import RequestHead
from tests.proxy.doubles import FakeClock, HeldNameNode
from tests.proxy.front_fixture import fixture
from tests.proxy.wire import limits_of_tests


def head(peer: str = "10.0.0.1", caller: str = "alice") -> RequestHead:
    """Return the head of a call from that address."""
    return RequestHead("GET", "/webhdfs/v1/f?op=LISTSTATUS", (), peer, caller)


def test_each_address_and_each_caller_has_its_share_of_calls() -> None:
    """Other addresses and callers are admitted, and a call that ends makes room."""
    limits = CallLimits(limits_of_tests(max_calls=16), FakeClock())
    with contextlib.ExitStack() as first, contextlib.ExitStack() as second:
        for number in range(14):
            first.enter_context(limits.admitted(head(caller=f"user{number}")))
        with pytest.raises(TooManyCallsError, match="too many calls"):
            first.enter_context(limits.admitted(head(caller="another")))
        second.enter_context(limits.admitted(head(peer="10.0.0.2")))
        assert (limits.under_way, limits.refused) == (15, {"max_calls": 1})
    assert limits.under_way == 0
    with contextlib.ExitStack() as first:
        for number in range(14):
            first.enter_context(limits.admitted(head(peer=f"10.0.1.{number}")))
        with pytest.raises(TooManyCallsError):
            first.enter_context(limits.admitted(head(peer="10.0.0.2")))
        assert limits.under_way == 14
        with limits.admitted(head(peer="10.0.0.2", caller="bob")):
            assert limits.under_way == 15
    assert limits.under_way == 0


def test_what_is_refused_uses_up_no_rate() -> None:
    """A greedy caller does not use up the rate of its address; nor does a call beyond `max_calls`."""
    clock = FakeClock()
    rates = {"max_calls_per_s_per_address": 4.0, "max_calls_per_s_per_caller": 2.0, "call_burst_s": 1.0}
    limits = CallLimits(limits_of_tests(max_calls=1, **rates), clock)
    for _ in range(2):
        with limits.admitted(head()):
            pass
    for _ in range(8):
        with pytest.raises(TooManyRequestsError, match="of one caller"), limits.admitted(head()):
            pass
    with limits.admitted(head(caller="bob")):
        for _ in range(8):
            with pytest.raises(TooManyCallsError), limits.admitted(head(caller="carol")):
                pass
    with limits.admitted(head(caller="dora")):
        pass
    with pytest.raises(TooManyRequestsError, match="of one address"), limits.admitted(head(caller="eve")):
        pass


@pytest.mark.parametrize("kind", ["address", "caller"])
def test_a_rate_is_kept_for_each_address_or_caller(kind: str) -> None:
    """A burst of `call_burst_s` is allowed, then the rate; the error says when to retry."""
    clock = FakeClock()
    settings = limits_of_tests(**{f"max_calls_per_s_per_{kind}": 0.5, "call_burst_s": 4.0})
    limits = CallLimits(settings, clock)

    def call(peer: str = "10.0.0.1", caller: str = "alice") -> None:
        with limits.admitted(head(peer, caller)):
            pass

    call()
    call()
    with pytest.raises(TooManyRequestsError, match=rf"0\.5 calls a second of one {kind}") as refused:
        call()
    assert (refused.value.status, refused.value.retry_after_s) == (429, 2)
    call(**{"peer" if kind == "address" else "caller": "another"})
    clock.now += 2
    call()
    assert limits.refused == {f"max_calls_per_s_per_{kind}": 1}
    assert limits.under_way == 0


def test_without_a_rate_nothing_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rate is set by default. With a rate, the number of token buckets is bounded."""
    limits = CallLimits(limits_of_tests(), FakeClock())
    for _ in range(100):
        with limits.admitted(head()):
            pass
    assert limits.followed == 0
    monkeypatch.setattr(call_limits, "_MAX_BUCKETS", 3)
    limits = CallLimits(limits_of_tests(max_calls_per_s_per_caller=1.0, call_burst_s=1.0), FakeClock())
    for number in range(5):
        with limits.admitted(head(caller=f"user{number}")):
            pass
    assert limits.followed == 3
    with pytest.raises(TooManyRequestsError):
        limits.admitted(head(caller="user4")).__enter__()


async def test_a_fetch_that_may_not_go_is_not_sent() -> None:
    """The error says why."""
    namenode = HeldNameNode()
    limits = CallLimits(limits_of_tests(max_calls=1), FakeClock())
    with limits.admitted(head()), pytest.raises(TooManyCallsError):
        await LimitedFetcher(namenode.fetch, limits).fetch(head())
    assert namenode.fetches.calls == []


async def test_hits_are_not_limited_and_calls_are() -> None:
    """A client gets a 429 with Retry-After for a call to the NameNode, but still gets hits."""
    async with fixture(limits_of_tests(max_calls_per_s_per_address=1.0, call_burst_s=3.0)) as s:
        await s.status("/w/f")
        for _ in range(5):
            assert (await s.status("/w/f")).made == "nncache; hit"
        for _ in range(2):
            assert (await s.ask("/webhdfs/v1/w?op=LISTSTATUS")).status == HTTPStatus.OK
        for target in ("/webhdfs/v1/w?op=LISTSTATUS", "/webhdfs/v1/w/none?op=GETFILESTATUS&user.name=alice"):
            reply = await s.ask(target)
            assert (reply.status, reply["Retry-After"]) == (HTTPStatus.TOO_MANY_REQUESTS, "1")
        assert (await s.status("/w/f")).made == "nncache; hit"
        forgotten = await s.ask("/webhdfs/v1/w/f?op=DELETE", method="DELETE")
        assert forgotten.status == HTTPStatus.TOO_MANY_REQUESTS
        assert (await s.status("/w/f")).made == "nncache; hit", "nothing was sent, so nothing is forgotten"
        assert s.front_end.stats().calls_refused == {"max_calls_per_s_per_address": 3}
