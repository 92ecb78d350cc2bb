"""Figures of the authentication of clients."""

from dataclasses import dataclass
from enum import StrEnum


class TicketOutcome(StrEnum):
    """What came of a client's ticket."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    OVERLOADED = "overloaded"
    FAILED = "failed"


TICKETS = {
    TicketOutcome.ACCEPTED: "shows who the client is",
    TicketOutcome.REFUSED: "shows nothing of anybody: forged, replayed, expired, or for another service",
    TicketOutcome.OVERLOADED: "was not looked at: max_handshakes, the share of its address, or too long a wait",
    TicketOutcome.FAILED: "could not be judged: the keytab cannot be used, or no answer in time",
}
"""What each means, for the documentation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminationStats:
    """What the proxy has done to authenticate clients since the start; zeros where it does not.

    Attributes:
        tickets: by what came of them.
        challenges: requests without a ticket or a cookie that is good, answered with 401.
        doas_refused: requests to act for another, which their user may not, or not from their address.
        login_failures: logins of the service at a NameNode that failed.
    """

    tickets: dict[TicketOutcome, int]
    challenges: int = 0
    doas_refused: int = 0
    login_failures: int = 0


NO_TERMINATION = TerminationStats(tickets=dict.fromkeys(TicketOutcome, 0))
