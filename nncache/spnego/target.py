"""The target and the caller of a request that the proxy itself has authenticated.

Pure. The NameNode is to see one name, that of the user for whom the proxy vouches: `user.name` and every `doas` of the
client's are taken out of the query, whatever their spelling, and ours is put first, where each reader looks first
(HttpServletRequest.getParameter). What cannot be read for certain is refused.
"""

from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from nncache.hadoop.calls import MAX_PARAMETERS, PREFIX, StatusRequest, parse_plain
from nncache.hadoop.paths import InvalidPathError, percent_decode
from nncache.proxy.errors import ClientError

_DELEGATION: Final = "delegation"
_DOAS: Final = "doas"
_NAMES: Final = frozenset({_DOAS, "user.name"})


@dataclass(frozen=True, slots=True)
class ReadTarget:
    """The target of a request.

    Attributes:
        path: as it stands there, up to the query.
        kept: the parameters that go on, as they stand there.
        doas: whom the client wants to act for; None: for themselves.
        has_token: a delegation token says who asks.
    """

    path: str
    kept: tuple[str, ...]
    doas: str | None
    has_token: bool

    def for_user(self, user: str) -> str:
        """Return the target with which the service asks for this user."""
        name = quote(user, safe="")
        return f"{self.path}?{'&'.join((f'{_DOAS}={name}', *self.kept))}"

    def plain_for(self, user: str) -> StatusRequest | None:
        """Return what it asks of the cache for this user, as if they had said `user.name`; None: nothing."""
        plain = parse_plain(f"{self.path}?{'&'.join(self.kept)}")
        return None if plain is None else replace(plain, user_name=user)


def read_target(target: str, prefix: str = f"{PREFIX}/") -> ReadTarget:
    """Read a target, whose path is to begin with the prefix; the root's slash may be missing, as fsspec leaves it out.

    Raises:
        ClientError: readers could differ about it.
    """
    path, _, query = target.partition("?")
    if "#" in target or not f"{path}/".startswith(prefix):
        raise ClientError(f"the target must begin with {prefix}, and have no fragment")
    parameters = query.split("&", MAX_PARAMETERS)
    if len(parameters) > MAX_PARAMETERS:
        raise ClientError(f"the query has more than {MAX_PARAMETERS} parameters")
    kept, doas, has_token = list[str](), list[str](), False
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        key = _decoded(name).lower()
        has_token |= key == _DELEGATION
        if key == _DOAS:
            doas.append(_decoded(value))
        if key not in _NAMES and parameter:
            kept.append(parameter)
    if len(doas) > 1:
        raise ClientError("doas is given more than once")
    return ReadTarget(path, tuple(kept), doas[0] if doas else None, has_token)


def _decoded(text: str) -> str:
    try:
        return percent_decode(text.replace("+", " "))
    except InvalidPathError as exc:
        raise ClientError(f"the query cannot be read: {exc}") from exc
