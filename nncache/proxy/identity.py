"""Who asks, as far as the NameNode would tell callers apart."""

import hashlib
from collections.abc import Iterable
from typing import Final

from nncache.cache.clock_eviction import Caller
from nncache.hadoop.calls import Call, PlainArguments, StatusRequest, parse_plain
from nncache.hadoop.rpc.user import RpcUser
from nncache.hadoop.users import is_user_name, read_claimed_user
from nncache.proxy.credentials import Credential, claimed_user, is_authenticated_by_fields
from nncache.proxy.messages import Header, RequestHead

_MAX_CLAIM_CHARS: Final = 64
"""A longer claim is known by its digest: it may stay for as long as the window of a two-step write."""


def caller_of(plain: StatusRequest, credential: Credential | None, peer: str) -> Caller:
    """Name the caller of a plain read that came from the address `peer`.

    A credential, if there is one, says who asks; its name is a digest. Else only `user.name` and `doas` do; without
    `user.name` it is the NameNode's static user (dr.who). With `doas` the address counts as well, since the
    NameNode's proxy-user rules look at it, and so does whether some release ignores it: one of these answers for
    `user.name` then, so nothing that it proves may be used for what asks as `doas`, nor the other way round.

    Two callers get one name only if every part is the same: no part can hold the separator NUL.
    """
    parts = [] if credential is None else [credential.name]
    if plain.user_name is not None:
        parts.append(f"user={plain.user_name}")
    if plain.doas is not None:
        name = "doAs" if plain.doas_may_be_ignored else "doas"
        parts += [f"{name}={plain.doas}", f"peer={peer}"]
    return Caller("\0".join(parts or ["anonymous"]))


def claimed_caller(call: Call | StatusRequest | PlainArguments, headers: Iterable[Header] = ()) -> str:
    """Return whom a call says to come from, for limits alone: it proves nothing. Bounded in length."""
    if isinstance(call, Call):
        users, proxied = call.arguments.get("user.name"), call.arguments.get("doas")
        user, doas = users[0] if users else None, proxied[0] if proxied else None
    else:
        user, doas = call.user_name, call.doas
    return claim_of(claimed_user(headers) or user, doas)


def caller_in(head: bytes, target: str) -> str:
    """Return the same of the head of a plain read."""
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    plain = parse_plain(target)
    return "" if plain is None else claimed_caller(plain, [(name, value.strip()) for name, _, value in lines])


def claim_of(user: str | None, doas: str | None) -> str:
    """Return the claim to be `user`, perhaps for `doas`. Bounded in length."""
    name = "" if user is None else f"user.name={user}"
    if doas is not None:
        name = f"{name}\0doas={doas}" if name else f"doas={doas}"
    if len(name) <= _MAX_CLAIM_CHARS:
        return name
    return hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=20).hexdigest()


def rpc_user_of_head(head: RequestHead) -> RpcUser | None:
    """Return the RPC user of any request's caller; None if it is not certain.

    Only names spelled as every release reads them count: 3.5.0 reads `doAs` and `USER.NAME`, 3.4.1 does not. And
    none does where a cookie or `Authorization` may say who asks. Whom the proxy has authenticated it knows by itself.
    """
    if head.acts_for:
        return RpcUser(head.acts_for)
    return None if is_authenticated_by_fields(head.headers) else _rpc_user_of_target(head.target)


def _rpc_user_of_target(target: str) -> RpcUser | None:
    found: dict[str, str] = {}
    for parameter in target.partition("?")[2].split("&"):
        name, _, value = parameter.partition("=")
        if name.lower() in {"user.name", "doas", "delegation"} or "%" in name:
            user = read_claimed_user(value)
            if name not in {"user.name", "doas"} or name in found or user is None or not is_user_name(user):
                return None
            found[name] = user
    claimed, doas = found.get("user.name"), found.get("doas")
    if claimed is None:
        return None
    return RpcUser(claimed) if doas is None else RpcUser(doas, real_name=claimed)


def rpc_user_of(plain: StatusRequest, credential: Credential | None) -> RpcUser | None:
    """Return the RPC user of the same caller; None if the call does not say it.

    A credential says whose it is to its NameNode alone, and without `user.name` only the NameNode's configuration does
    (hadoop.http.staticuser.user). Whether a `doAs` counts only its release does.
    """
    if plain.user_name is None or credential is not None or plain.doas_may_be_ignored:
        return None
    if plain.doas is None:
        return RpcUser(plain.user_name)
    return RpcUser(plain.doas, real_name=plain.user_name)
