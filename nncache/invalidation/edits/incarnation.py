"""Which answers may be believed: those of the one NameNode incarnation followed.

Sans-I/O. An RPC reply does not say which process sent it, and a restarted one may have lost what its predecessor
showed. A TCP connection, however, ends with its process. So: connect, confirm over JMX who is active (start time,
time of the last HA transition, kept by the pool as the term), and believe what then comes over that connection.
"""


class Incarnation:
    """One run of the active NameNode, as seen through one RPC client.

    Invariants:
        I1  An answer is believed only if it came over the connection on which its call was sent, and that
            connection was there before the identity was confirmed: the process was the same all along.
        I2  Nothing is covered once the pool knows of another term.
        I3  With more than one NameNode configured, nothing is covered while the pool knows of no active one, and
            coverage is no later than the last probe that found exactly one: an old active, cut off, goes on
            answering polls while another one acknowledges changes.
    """

    def __init__(self, term: int, *, has_peers: bool) -> None:
        self.term = term
        self._has_peers = has_peers
        self._connection_id: int | None = None  # the connection on which the identity was confirmed

    def confirmed(self, connection_id: int) -> None:
        """Take note that the identity was confirmed by a probe sent while this connection was there."""
        self._connection_id = connection_id

    def lost(self) -> None:
        """Take note that the connection was lost: the next one has to be confirmed."""
        self._connection_id = None

    def is_confirmed(self, connection_id: int) -> bool:
        """Whether calls on this connection reach the incarnation followed."""
        return connection_id == self._connection_id

    def may_believe(self, sent_on: int, received_on: int) -> bool:
        """Whether an answer is believed, given the connections just before the call and just after the reply."""
        return sent_on == received_on and self.is_confirmed(sent_on)

    def is_replaced(self, active_term: int | None) -> bool:
        """Whether another incarnation is active now; not knowing of any is no such sign."""
        return active_term is not None and active_term != self.term

    def fresh_as_of(
        self, covered_at: float | None, active_term: int | None, confirmed_as_of: float | None
    ) -> float | None:
        """Return as of when the cache may call itself covered, given what the cursor says and the pool knows."""
        if covered_at is None or self.is_replaced(active_term):
            return None
        if not self._has_peers:
            return covered_at
        if active_term is None or confirmed_as_of is None:
            return None
        return min(covered_at, confirmed_as_of)
