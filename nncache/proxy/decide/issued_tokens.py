"""Delegation tokens that a NameNode has recently issued to users whom the proxy has authenticated.

A client that gets a token for each process (`hdfs dfs` on webhdfs://) sends its only question with it. If the NameNode
issues a token to alice, that proves the token's owner as well as a reply to a question with the token does, and for as
long as any proof is believed. Only answers from memory use this; a call to the NameNode carries the token itself.
"""

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from math import inf
from typing import Final

import msgspec
from cachetools import TTLCache

from nncache.cache.clock_eviction import Caller
from nncache.hadoop.calls import WebHdfsCall
from nncache.hadoop.credentials import parse_delegation_token
from nncache.proxy.identity import caller_of, cancelled_tokens, token_name
from nncache.proxy.messages import RequestHead, SettledReply
from nncache.proxy.reading import ParsedRequest

MAX_TOKENS: Final = 4_096

_ISSUES: Final = "GETDELEGATIONTOKEN"


class _Token(msgspec.Struct, frozen=True, rename="camel"):
    url_string: str


class _Body(msgspec.Struct, frozen=True):
    token: _Token = msgspec.field(name="Token")


_DECODER: Final = msgspec.json.Decoder(_Body)


class TokenLease:
    """An `AuthLease`: a token counts as its owner while it is believed; afterwards the token alone is the caller."""

    __slots__ = ("_issued", "_name", "_user", "otherwise")

    ends_at: Final = inf

    def __init__(self, issued: "IssuedTokens", user: str, name: str, otherwise: Caller) -> None:
        self._issued = issued
        self._user = user
        self._name = name
        self.otherwise = otherwise

    def is_good(self) -> bool:
        """Whether the token would be believed now."""
        return self._issued.user_of(self._name) == self._user


class IssuedTokens:
    """The owner of each token, by the token's digest; beyond MAX_TOKENS the least recently used is evicted.

    A NameNode cancels a token by its identifier, whatever its password.

    Attributes:
        on_ended: callbacks, called with the name of a token that was cancelled or refused.
    """

    def __init__(self, clock: Callable[[], float], *, believed_for_s: float) -> None:
        self.on_ended: list[Callable[[str], None]] = []
        self._users: TTLCache[str, str] = TTLCache(MAX_TOKENS, believed_for_s, timer=clock)
        self._names: TTLCache[str, str] = TTLCache(MAX_TOKENS, believed_for_s, timer=clock)  # by identity

    def sent(self, call: WebHdfsCall) -> None:
        """Forget the tokens that a call cancels, for good, before the call is sent to the NameNode."""
        for token in cancelled_tokens(call):
            if (name := self._names.pop(token.identity, None)) is not None:
                self._end(name)

    def replied(self, call: WebHdfsCall, head: RequestHead, reply: SettledReply) -> None:
        """Record the token in a reply to a user whom the proxy has authenticated."""
        if call.op is None or call.op.name != _ISSUES or reply.status != HTTPStatus.OK or not head.acts_for:
            return
        try:
            token = parse_delegation_token(_DECODER.decode(reply.body or b"").token.url_string)
        except msgspec.DecodeError:
            return
        if token is not None and token.owner == head.acts_for:
            name = token_name(token)
            self._users[name], self._names[token.identity] = token.owner, name

    def believed(self, reading: ParsedRequest) -> ParsedRequest:
        """Return a read by a token as its owner's read, if the token's owner is known here."""
        if reading.plain is None or reading.credential is None:
            return reading
        name = reading.credential.name
        user = self.user_of(name)
        if user is None:
            return reading
        caller = caller_of(replace(reading.plain, user_name=user, delegation=None), None, reading.head.peer)
        lease = TokenLease(self, user, name, otherwise=reading.caller)
        return replace(reading, caller=caller, repeatable_until=None, lease=lease)

    def user_of(self, name: str) -> str | None:
        """Return the owner of the token with this name; None: not known here."""
        return self._users.get(name)

    def refused(self, reading: ParsedRequest) -> None:
        """Forget the token of a read that the NameNode refused (401 or 403)."""
        if reading.credential is not None:
            self._end(reading.credential.name)

    def _end(self, name: str) -> None:
        if self._users.pop(name, None) is not None:
            for each in self.on_ended:
                each(name)
