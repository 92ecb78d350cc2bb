"""A client of a stream that comes, goes, stalls and comes back with the last id that it has.

(tests/proxy/events/returning_client.py)
"""

import asyncio
import re

from nncache.proxy.events.stream import StreamEnd
from tests.invalidation.virtual_time import until
from tests.proxy.events.doubles import FakeCluster, FakeSink


class ReturningClient:
    """Comes back with the last id that it was given."""

    def __init__(self, fake_cluster: FakeCluster) -> None:
        self._stage = fake_cluster
        self._streamed = fake_cluster.stream()
        self.sink: FakeSink = self._streamed.sink
        self._sinks: list[FakeSink] = []

    @property
    def _last_id(self) -> str:
        for sink in reversed((*self._sinks, self.sink)):
            if found := re.findall(rb"\nid: (\d+)\n", bytes(sink.sent)):
                return str(found[-1], "ascii")
        return ""

    def come(self) -> None:
        """Connect, unless it is."""
        if self._streamed.task.done():
            self._sinks.append(self.sink)
            last_id = self._last_id
            self._streamed = self._stage.stream(int(last_id) if last_id else None)
            self.sink = self._streamed.sink

    def leave(self) -> None:
        """Go."""
        self._streamed.stream.end(StreamEnd.LEFT)
        self.sink.take()

    def stall(self) -> None:
        """Take nothing for a while."""
        self.sink.stall()
        asyncio.get_running_loop().call_later(5, self.sink.take)

    async def catch_up(self, txid: int) -> None:
        """Come back until everything has come."""

        def is_done() -> bool:
            self.come()
            return int(self._last_id or -1) >= txid

        await until(is_done, within_s=600)

    def check(self, published: list[int], floor: int) -> None:
        """Compare with what was published, of which everything behind `floor` is still there."""
        reported = [message for sink in (*self._sinks, self.sink) for message in sink.messages()]
        begun = next(data["after"] for event, data, _ in reported if event == "start")
        at, seen, holes = begun, list[int](), set[int]()
        for event, data, _ in reported:
            if event == "UNLINK":
                assert data["txid"] >= at, "in order"
                at = data["txid"]
                if not seen or seen[-1] != at:
                    seen.append(at)
            elif event == "start":
                assert data["after"] >= at or data["after"] in (at, begun)
            elif event == "missing":
                assert data["firstTxid"] <= floor, "nothing is missing there"
                assert data["lastTxid"] == data["after"], "it goes on right behind what is missing"
                assert data["lastTxid"] <= (published or [begun])[-1], "what is missing was published"
                holes |= set(range(data["firstTxid"], data["lastTxid"] + 1))
                at = max(at, data["after"])
        expected = [txid for txid in published if txid > begun]
        assert not set(seen) & holes
        assert sorted((*seen, *(holes & set(expected)))) == expected
