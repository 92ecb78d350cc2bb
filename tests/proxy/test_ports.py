"""The real parts fit the shapes that reads and writes ask for; mypy checks it, this runs it."""

from collections.abc import Callable

from nncache.clock import boottime
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.pool import NameNodePool
from nncache.proxy.limits import LimitSettings
from nncache.proxy.ports import Clock, Fetcher, NameNodeQueries, Streamer
from nncache.proxy.upstream.client import Upstream
from nncache.proxy.upstream.queries import PoolQueries


async def test_the_real_parts_fit() -> None:
    """What the wiring builds is what the flows are written against."""
    clock: Clock = lambda: 0.0  # noqa: E731 - the alias is what is checked
    pool = NameNodePool(NameNodeSettings(), clock)
    upstream = Upstream(pool, LimitSettings(), clock)
    fetcher: Fetcher = upstream
    streamer: Streamer = upstream
    queries: NameNodeQueries = PoolQueries(pool, timeout_s=1.0, clock=boottime)
    methods: list[Callable[..., object]] = [fetcher.fetch, streamer.stream, queries.exists]
    assert all(map(callable, methods))
