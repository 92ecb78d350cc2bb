"""What a proxy has done to authenticate its clients."""

from nncache.metrics.metric import Metric, counter
from nncache.proxy.termination.stats import TICKETS

AUTHENTICATION_ROWS: tuple[Metric, ...] = (
    counter(
        "termination.tickets",
        "spnego_tickets",
        "tickets",
        "Tickets of clients (SPNEGO) that came to the proxy itself (spnego_principal).",
        "outcome",
        {each.value: meaning for each, meaning in TICKETS.items()},
    ),
    counter(
        "termination.challenges",
        "spnego_challenges",
        "requests",
        "Requests without a ticket or a good cookie, answered with 401 (spnego_principal).",
    ),
    counter(
        "termination.doas_refused",
        "doas_refused",
        "requests",
        "Requests with doas that the proxy-user rules do not allow, answered with 403 (spnego_principal).",
    ),
    counter(
        "termination.login_failures",
        "service_login_failures",
        "logins",
        "Logins of the service at the WebHDFS of a NameNode that failed; calls for clients are answered with 503.",
    ),
)
