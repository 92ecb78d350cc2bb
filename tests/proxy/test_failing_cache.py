"""A cache that fails under a write (guarantees FailToNameNode and OwnWrites)."""

import pytest

from nncache.cache import Forward
from tests.proxy.doubles import (
    ScriptedStreamer,
    caller,
    script,
    settled,
    turns,
)
from tests.proxy.write_fixture import fixture


async def test_a_cache_that_cannot_take_a_change_starts_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode without a stale answer: the write is answered, and nothing old is left."""
    async with fixture() as s:
        s.fill("/w/f", "/w/other")
        real = s.cache.apply
        broken = iter([True])

        def apply(*arguments: object, **named: object) -> None:
            if next(broken, False):
                raise RuntimeError("bug")
            real(*arguments, **named)  # type: ignore[arg-type] # handed through

        monkeypatch.setattr(s.cache, "apply", apply)
        await s.write("DELETE", "/w/f?op=DELETE", ScriptedStreamer(script(settled(200))))
        assert not s.is_hit("/w/f")
        assert not s.is_hit("/w/other")
        assert s.writes is not None
        assert s.writes.errors == 1


@pytest.mark.parametrize("method", ["apply", "unproven_ancestors", "open_window"])
async def test_no_fault_of_the_cache_stops_a_write(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode, whatever of the cache fails: the answer goes out, and the stream is closed at worst."""
    async with fixture() as s:
        s.fill("/w/f")

        def broken(*_: object) -> None:
            raise RuntimeError("bug")

        monkeypatch.setattr(s.cache, method, broken)
        streamer = ScriptedStreamer(script(settled(307, None)))
        writing = s.write("PUT", "/w/f?op=CREATE", streamer)
        await turns()
        for held, result in ((s.namenode.existing, True), (s.namenode.txids, 500)):
            if held.waiting:
                held.answer(result)
                await turns()
        await writing
        assert streamer.heads
        assert not s.is_hit("/w/f")
        if method == "open_window":  # the write is under way, and the cache knows nothing of it
            assert isinstance(s.cache.lookup("/w/f", caller(), s.clock()), Forward)
