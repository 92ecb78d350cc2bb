"""Decide which replies to trust: those of the one NameNode incarnation that is followed.

Sans-I/O. An RPC reply does not name its process, and a restarted one may have lost edits that its predecessor showed.
A TCP connection, however, ends with its process. So: connect, confirm over JMX which NameNode is active (start time,
time of the last HA transition, kept by the pool as the term), and then trust the replies over that connection.
"""


class Incarnation:
    """One run of the active NameNode, as seen through one RPC client.

    Invariants:
        I1  A reply is trusted only if it came over the connection on which its call was sent, and that connection
            existed before the identity was confirmed: the process was the same all the time.
        I2  Nothing is covered once the pool knows another term.
        I3  With more than one NameNode configured, nothing is covered while the pool knows no active one, and
            coverage is no later than the last probe that found exactly one: an old active one that is cut off
            continues to answer polls while another one acknowledges changes.
    """

    def __init__(self, term: int, *, has_peers: bool) -> None:
        self.term = term
        self._has_peers = has_peers
        self._connection_id: int | None = None  # the connection on which the identity was confirmed

    def confirmed(self, connection_id: int) -> None:
        """Record that a probe sent during this connection confirmed the identity."""
        self._connection_id = connection_id

    def lost(self) -> None:
        """Record that the connection was lost: the next one must be confirmed."""
        self._connection_id = None

    def is_confirmed(self, connection_id: int) -> bool:
        """Return whether calls on this connection reach the incarnation that is followed."""
        return connection_id == self._connection_id

    def may_believe(self, sent_on: int, received_on: int) -> bool:
        """Return whether to trust a reply, given the connections just before the call and just after the reply."""
        return sent_on == received_on and self.is_confirmed(sent_on)

    def is_replaced(self, active_term: int | None) -> bool:
        """Return whether another incarnation is known to be active."""
        return active_term is not None and active_term != self.term

    def fresh_as_of(
        self, covered_at: float | None, active_term: int | None, confirmed_as_of: float | None
    ) -> float | None:
        """Return the time as of which everything is covered, given the results of cursor and pool; None if unknown."""
        if covered_at is None or self.is_replaced(active_term):
            return None
        if not self._has_peers:
            return covered_at
        if active_term is None or confirmed_as_of is None:
            return None
        return min(covered_at, confirmed_as_of)
