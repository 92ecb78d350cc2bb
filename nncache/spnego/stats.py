"""Figures of the authentication of clients."""

from dataclasses import dataclass
from enum import StrEnum


class TicketOutcome(StrEnum):
    """The outcome of a client's ticket."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    OVERLOADED = "overloaded"
    FAILED = "failed"


TICKETS = {
    TicketOutcome.ACCEPTED: "proves the client's identity",
    TicketOutcome.REFUSED: "proves no identity: forged, replayed, expired, or for another service",
    TicketOutcome.OVERLOADED: "not checked: max_handshakes, the share of its address, or too long a wait",
    TicketOutcome.FAILED: "could not be checked: the keytab cannot be used, or no answer in time",
}
"""The meaning of each outcome, for the documentation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminationStats:
    """Counters of the authentication of clients since the start; zeros if the NameNodes authenticate.

    Attributes:
        tickets: by outcome.
        challenges: requests without a ticket or a valid cookie, answered with 401.
        doas_refused: requests whose user may not impersonate that user, or not from that address.
        login_failures: failed logins of the service at a NameNode.
    """

    tickets: dict[TicketOutcome, int]
    challenges: int = 0
    doas_refused: int = 0
    login_failures: int = 0


NO_TERMINATION = TerminationStats(tickets=dict.fromkeys(TicketOutcome, 0))
