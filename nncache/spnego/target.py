"""The target and the caller of a request that the proxy itself has authenticated.

Pure. The NameNode must see one name only: the user whom the proxy has authenticated. So the client's `user.name` and
`doas` parameters are removed from the query in any spelling, and the proxy's own `doas` is put first, where each parser
looks first (HttpServletRequest.getParameter). An ambiguous target is refused.
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
        path: the target up to the query, verbatim.
        kept: the parameters that are forwarded, verbatim.
        doas: the user whom the client wants to impersonate; None if the request has no `doas`.
        has_token: whether a delegation token names the caller.
    """

    path: str
    kept: tuple[str, ...]
    doas: str | None
    has_token: bool

    def for_user(self, user: str) -> str:
        """Return the target of the service's own call on behalf of this user."""
        name = quote(user, safe="")
        return f"{self.path}?{'&'.join((f'{_DOAS}={name}', *self.kept))}"

    def plain_for(self, user: str) -> StatusRequest | None:
        """Return the request to the cache, with this user as its `user.name`; None if it is not for the cache."""
        plain = parse_plain(f"{self.path}?{'&'.join(self.kept)}")
        return None if plain is None else replace(plain, user_name=user)


def read_target(target: str, prefix: str = f"{PREFIX}/") -> ReadTarget:
    """Parse a target, whose path must begin with the prefix; the root's slash may be missing, as fsspec omits it.

    Raises:
        ClientError: two parsers could read it in different ways.
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
