"""Identify the caller who asks for a filter's events."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

from nncache.events.events_request import EVENTS, EventsRequest
from nncache.hadoop.users import is_user_name
from nncache.proxy.admission import AdmittedRequest, AuthLease, ByToken
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.decide.ports import Admit, RejectedRequest
from nncache.proxy.errors import CallerNotVerifiedError, ClientError
from nncache.proxy.messages import Headers

_NAMENODES_JUDGE: Final = (
    "NameNodes alone judge a delegation token: show a Kerberos ticket (Negotiate), or the proxy's cookie"
)
_NOT_HERE: Final = (
    "this proxy does not authenticate its clients, so it does not know who asks: events are served on a cluster with "
    "Kerberos by a proxy with spnego_principal"
)


@dataclass(frozen=True, slots=True)
class IdentifiedUser:
    """The user who asks.

    Attributes:
        user: the user's name in HDFS.
        adds: header fields for the reply.
        lease: the validity of the authentication; None: valid while the stream lasts.
    """

    user: str
    adds: Headers = ()
    lease: AuthLease | None = field(default=None, compare=False)


Known: TypeAlias = IdentifiedUser | RawResponse
"""The caller, or the reply to a client that is not authenticated."""


Identify: TypeAlias = Callable[[Request, EventsRequest], Awaitable[Known]]
"""Identifies the caller. Raises ClientError: the caller is not known, and a retry will not help."""


async def by_user_name(_request: Request, events_request: EventsRequest) -> Known:
    """Trust `user.name`, as WebHDFS does on a cluster without Kerberos."""
    if events_request.for_another:
        raise ClientError(f"{events_request.for_another} has no meaning here: user.name says who asks")
    if events_request.user is None:
        raise ClientError("user.name is missing: give the name of one of the filter's subscribers")
    if not is_user_name(events_request.user):
        raise ClientError("user.name is no name of a user")
    return IdentifiedUser(events_request.user)


def by_credential(admit: Admit) -> Identify:
    """Return an `Identify` that accepts a Kerberos ticket, or the cookie that the proxy set for one."""

    async def identify(request: Request, _events_request: EventsRequest) -> Known:  # `admit` checks `doas`
        admission = await admit(request, EVENTS)
        match admission:
            case AdmittedRequest(user=user, adds=adds, lease=lease):
                return IdentifiedUser(user, adds, lease)
            case ByToken():
                raise CallerNotVerifiedError(_NAMENODES_JUDGE)
            case RejectedRequest(response):
                return response
            case _:
                assert_never(admission)

    return identify


async def refused(_request: Request, _events_request: EventsRequest) -> Known:
    """Refuse every caller: the cluster has Kerberos, and only its NameNodes authenticate."""
    raise CallerNotVerifiedError(_NOT_HERE)


def identify_by(admit: Admit | None, *, is_secured: bool) -> Identify:
    """Return the proxy's `Identify`; `admit`: the proxy authenticates; `is_secured`: the cluster has Kerberos."""
    if admit is not None:
        return by_credential(admit)
    return refused if is_secured else by_user_name
