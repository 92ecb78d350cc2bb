"""The figures of this room, counted in place; what is handed out is a copy."""

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class SessionStats:
    """What a session with ZooKeeper did since it was started, and how it stands."""

    is_connected: bool = False
    is_login_failing: bool = False
    connections: int = 0  # connections made, the first included
    sessions: int = 0  # sessions that ZooKeeper has granted
    sessions_given_up: int = 0  # of these, such as we gave up: too long without a connection, or refused
    calls: int = 0  # calls made; a read of many znodes is one for each
    calls_failed: int = 0  # times that a call found no connection, lost it, or got no answer in time
    writes: int = 0  # transactions carried out
    writes_refused: int = 0  # transactions that ZooKeeper refused: the tree was not as supposed
