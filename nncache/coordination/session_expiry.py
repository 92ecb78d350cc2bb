"""When to give up a session that cannot be taken up again.

Sans-I/O: `coordination/session.py` tells it what happens to the connection, and starts again when it says so.

Only a server can say that a session has expired, so a client may wait for ever for that: while the quorum is gone
it is not said, and a ZooKeeper whose data was wiped refuses the client instead ("Refusing session request ... as it
has seen zxid", org.apache.zookeeper.server.ZooKeeperServer.processConnectRequest, 3.8), since it remembers changes
which that ZooKeeper has never heard of.
"""

import math
from typing import Final

REFUSED_S: Final = 2.0
"""How long servers may refuse a session at a stretch; one that starts, or elects a leader, refuses for a moment."""

HUNG_UP_WITHIN_S: Final = 1.0
"""Between two connections in vain, if the first server hung up; one that was silent takes longer to be left."""


class SessionExpiry:
    """Judges one session after the other, by the caller's clock.

    Invariants:
        P1  A session without a connection for longer than its timeout is given up.
        P2  So is one that was refused for REFUSED_S: servers were reached, and each of them hung up.
        P3  Without a session there is nothing to give up.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._refused_s = min(REFUSED_S, timeout_s / 2)
        self._has_session = False
        self._lost_at = math.inf  # since when there is no connection
        self._refused_since = (
            math.inf
        )  # when the first server was reached of those that have hung up in a row
        self._reached_at = -math.inf  # when the last one was
        self._is_refused = False

    def connected(self) -> None:
        """A server has granted a session, or granted it again."""
        self._has_session = True
        self._lost_at, self._reached_at = math.inf, -math.inf
        self._is_refused = False

    def lost(self, now: float) -> None:
        """The connection is lost."""
        self._lost_at = min(self._lost_at, now)

    def ended(self) -> None:
        """The session is no more: a server said so, or it was given up."""
        self._has_session = False

    def reached(self, now: float) -> None:
        """A connection to a server has been made; the answer about the session is still to come."""
        if now - self._reached_at > HUNG_UP_WITHIN_S:
            self._refused_since = now
        elif now - self._refused_since >= self._refused_s:
            self._is_refused = True
        self._reached_at = now

    def not_reached(self) -> None:
        """A server can't be reached."""
        self._reached_at = -math.inf

    def is_over(self, now: float) -> bool:
        """Tell whether to give the session up."""
        return self._has_session and (self._is_refused or now - self._lost_at > self._timeout_s)
