"""Notice that ZooKeeper or the publisher has been unavailable for too long."""

import asyncio
import math
from collections.abc import Callable
from typing import Final

from nncache.coordination.errors import ConnectionLostError, NotAllowedError
from nncache.coordination.zookeeper import ZooKeeper
from nncache.invalidation.backoff import Backoff
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.errors import PublisherAwayError, ZooKeeperSilentError

PUBLISHER_GRACE_S: Final = 10.0
"""Seconds for which the publisher may be missing while it restarts or another one takes over."""

HIDDEN_LOOK_S: Final = 3.0
"""Seconds between two checks for a publisher whose ACL hides it: no watch can be set on it."""

RETRY_LIMIT_S: Final = 1.0
"""Longest pause in seconds between two requests to a ZooKeeper that does not answer."""


class OutageDetector:
    """Detects both outages by the reader's clock. Holds one watch."""

    def __init__(
        self,
        zookeeper: ZooKeeper,
        znodes: ZnodePaths,
        clock: Callable[[], float],
        *,
        silence_s: float,
        chance: Callable[[], float],
    ) -> None:
        self._zookeeper = zookeeper
        self._clock = clock
        self._silence_s = silence_s  # how long ZooKeeper may be silent
        self._chance = chance  # from 0 to 1; jitter of the backoff
        self._publisher = zookeeper.watch(znodes.publisher)
        self._backoff = Backoff(limit_s=RETRY_LIMIT_S)
        self._silent_since: float | None = None  # when the first unanswered request was sent
        self._gone_since: float | None = None  # since when no publisher is seen
        self._hidden_until = -math.inf  # when to check again for a publisher that its ACL hides

    def answered(self) -> None:
        """Record an answer of ZooKeeper."""
        self._silent_since = None
        self._backoff.succeeded()

    async def note_failure(self, failure: ConnectionLostError, asked_at: float) -> None:
        """Record that a request sent at `asked_at` got no answer; wait a little before the next one.

        Raises:
            ZooKeeperSilentError: ZooKeeper has been silent for too long.
        """
        if self._silent_since is None:
            self._silent_since = asked_at
        ends_at = self._silent_since + self._silence_s
        await asyncio.sleep(min(max(0.0, ends_at - self._clock()), self._backoff.failed(self._chance())))
        try:
            await self._zookeeper.wait_connected(max(0.0, ends_at - self._clock()))
        except ConnectionLostError as exc:
            failure = exc
        if self._clock() >= ends_at:
            raise ZooKeeperSilentError(
                f"ZooKeeper has been silent for {self._silence_s:g} s: {failure}"
            ) from failure

    async def check_publisher(self) -> None:
        """Check whether there is a publisher, if that may have changed.

        Raises:
            PublisherAwayError: there has been none for too long.
            ConnectionLostError: ZooKeeper does not answer.
        """
        if self._clock() >= self._hidden_until and await self._publisher.changed(0):
            if await self._is_there():
                self._gone_since = None
            elif self._gone_since is None:
                self._gone_since = self._clock()
        if self._gone_since is not None and self._clock() - self._gone_since > PUBLISHER_GRACE_S:
            raise PublisherAwayError(f"no publisher has been there for {PUBLISHER_GRACE_S:g} s")

    async def _is_there(self) -> bool:
        """Return whether there is a publisher. ZooKeeper refuses a read only of a znode that exists."""
        try:
            return await self._publisher.read() is not None
        except NotAllowedError:
            self._hidden_until = self._clock() + HIDDEN_LOOK_S
            return True
