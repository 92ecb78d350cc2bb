"""Decides when to give up a session that cannot be resumed.

Sans-I/O: `coordination/connection.py` reports the connection's events, and gives up the session once it `is_over`.

Only a server can report that a session has expired, so a client may wait for ever. Without a quorum no server reports
it. A ZooKeeper whose data were wiped refuses the client instead ("Refusing session request ... as it has seen zxid",
org.apache.zookeeper.server.ZooKeeperServer.processConnectRequest, 3.8), since the client has seen transactions that
are unknown to that ZooKeeper.
"""

import math
from typing import Final

REFUSED_S: Final = 2.0
"""How long servers may refuse a session; a server that starts, or elects a leader, refuses for a moment."""

HUNG_UP_WITHIN_S: Final = 1.0
"""Longest time between two attempts if the first server hung up; a server that does not answer takes longer."""


class SessionExpiry:
    """Judges one session after the other, by the caller's clock.

    Invariants:
        P1  A session without a connection for longer than its timeout is given up.
        P2  A session that was refused for REFUSED_S is given up: servers were reached, and each of them hung up.
        P3  Without a session there is nothing to give up.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._refused_s = min(REFUSED_S, timeout_s / 2)
        self._has_session = False
        self._lost_at = math.inf  # when the connection was lost
        self._refused_since = math.inf  # when the first of the servers was reached that hung up in a row
        self._reached_at = -math.inf  # when the last server was reached
        self._is_refused = False

    def connected(self) -> None:
        """Record that a server has granted or resumed the session."""
        self._has_session = True
        self._lost_at, self._reached_at = math.inf, -math.inf
        self._is_refused = False

    def lost(self, now: float) -> None:
        """Record that the connection is lost."""
        self._lost_at = min(self._lost_at, now)

    def ended(self) -> None:
        """Record that the session has ended: a server has reported it, or it was given up."""
        self._has_session = False

    def reached(self, now: float) -> None:
        """Record that a server was reached; whether it grants the session is still open."""
        if now - self._reached_at > HUNG_UP_WITHIN_S:
            self._refused_since = now
        elif now - self._refused_since >= self._refused_s:
            self._is_refused = True
        self._reached_at = now

    def not_reached(self) -> None:
        """Record that a server could not be reached."""
        self._reached_at = -math.inf

    def is_over(self, now: float) -> bool:
        """Return whether to give up the session."""
        return self._has_session and (self._is_refused or now - self._lost_at > self._timeout_s)
