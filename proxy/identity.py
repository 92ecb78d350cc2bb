"""Who asks, as far as the NameNode would tell callers apart. (proxy/identity.py)"""

import hashlib
from typing import Final

from nncache.cache.clock_eviction import Caller
from nncache.hadoop.calls import Call, StatusRequest
from nncache.hadoop.rpc.user import RpcUser
from nncache.hadoop.users import is_user_name

_MAX_CLAIM_CHARS: Final = 64
"""A longer claim is known by its digest: it may stay for as long as the window of a two-step write."""


def caller_of(plain: StatusRequest, peer: str) -> Caller:
    """Name the caller of a plain read that came from the address `peer`.

    With SIMPLE authentication only `user.name` and `doas` say who asks; without `user.name` it is
    the NameNode's static user (dr.who). With `doas` the address counts as well, since the
    NameNode's proxy-user rules look at it. A delegation token is a secret: only its SHA-256
    digest becomes part of the name.

    Two callers get one name only if every part is the same: no part can hold the separator NUL.
    """
    parts = ["anonymous" if plain.user_name is None else f"user={plain.user_name}"]
    if plain.doas is not None:
        parts += [f"doas={plain.doas}", f"peer={peer}"]
    if plain.delegation is not None:
        parts.append(f"token={hashlib.sha256(plain.delegation.encode()).hexdigest()}")
    return Caller("\0".join(parts))


def claimed_caller(call: Call | StatusRequest) -> str:
    """Return whom a call says to come from, for limits alone: it proves nothing. Bounded in length."""
    if isinstance(call, StatusRequest):
        user, doas = call.user_name, call.doas
    else:
        user, doas = (next(iter(call.arguments.get(key, ())), None) for key in ("user.name", "doas"))
    name = "" if user is None else f"user.name={user}"
    if doas is not None:
        name = f"{name}\0doas={doas}" if name else f"doas={doas}"
    if len(name) <= _MAX_CLAIM_CHARS:
        return name
    return hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=20).hexdigest()


def rpc_user_of_target(target: str) -> RpcUser | None:
    """Return as whom the caller of any request would ask over RPC; None if that cannot be told.

    Only names spelled as every release reads them count: 3.5.0 takes `USER.NAME` for the user, 3.4.1 does not.
    """
    found: dict[str, str] = {}
    for parameter in target.partition("?")[2].split("&"):
        name, _, value = parameter.partition("=")
        if name.lower() in {"user.name", "doas", "delegation"} or "%" in name:
            if name not in {"user.name", "doas"} or name in found or not is_user_name(value):
                return None
            found[name] = value
    user, doas = found.get("user.name"), found.get("doas")
    if user is None:
        return None
    return RpcUser(user) if doas is None else RpcUser(doas, real_name=user)


def rpc_user_of(plain: StatusRequest) -> RpcUser | None:
    """Return as whom the same caller would ask over RPC; None if that cannot be told from the call.

    A delegation token does not say whose it is, and without `user.name` only the NameNode's configuration does
    (hadoop.http.staticuser.user).
    """
    if plain.user_name is None or plain.delegation is not None:
        return None
    if plain.doas is None:
        return RpcUser(plain.user_name)
    return RpcUser(plain.doas, real_name=plain.user_name)
