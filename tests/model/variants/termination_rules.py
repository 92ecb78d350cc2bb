"""Rules of a proxy that authenticates its clients itself."""

from typing import Final

from tests.model.guarantee import Guarantee
from tests.model.variants.variant import Variant

_COOKIES = "proxy/termination/cookies.py"
_TERMINATOR = "proxy/termination/terminator.py"
_KEYS = "proxy/termination/signing_keys.py"
_TOKENS = "proxy/termination/issued_tokens.py"

TERMINATION_RULES: Final = (
    Variant(
        name="foreign-signature-accepted",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A cookie is good if a key in use has signed it.",
        module=_COOKIES,
        old="if hmac.compare_digest(_signature(key, text), signature)), None)",
        new="if text or signature), None)",
    ),
    Variant(
        name="ended-cookie-accepted",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A cookie is good until its end.",
        module=_COOKIES,
        old="or now_ms >= cookie.ends_at_ms:",
        new="or now_ms < 0:",
    ),
    Variant(
        name="ended-cookie-repeated",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="What the fast path knows of a request ends with its cookie.",
        module=_TERMINATOR,
        old="return self._clock() + ends_at_ms / 1000 - self._unix_time()",
        new="return self._clock() + ends_at_ms / 1000",
    ),
    Variant(
        name="retired-key-accepted",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A key that is not in the file any more is good for nothing.",
        module=_KEYS,
        old="        self.keys = keys\n        _log",
        new="        self.keys = Keys((*keys.keys, *retired))\n        _log",
    ),
    Variant(
        name="retired-key-repeated",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="What the fast path knows of requests goes with the key of their cookies.",
        module=_KEYS,
        old="        if retired:\n",
        new="        if not retired:\n",
    ),
    Variant(
        name="doas-not-judged",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="Who acts for another must be allowed to, by the proxy's own judgement.",
        module=_TERMINATOR,
        old="            if (fault := await self._impersonation.fault_of(user, target.doas, peer)) is not None:",
        new="            if (fault := await self._impersonation.fault_of(user, target.doas, peer)) == target.path:",
    ),
    Variant(
        name="doas-repeated",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A request with doas is judged each time, by the address it comes from.",
        module=_TERMINATOR,
        old="if is_by_cookie and target.doas is None",
        new="if is_by_cookie",
    ),
    Variant(
        name="forwarded-for-believed",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="The client's address is that of its connection, whatever a field says.",
        module=_TERMINATOR,
        old='        peer = request.remote or ""\n',
        new='        peer = next((v.decode() for k, v in headers if k == b"X-Forwarded-For"), request.remote or "")\n',
    ),
    Variant(
        name="ticket-repeated",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A request with a ticket is looked at each time: the same ticket is good once.",
        module=_TERMINATOR,
        old="if is_by_cookie and target.doas is None",
        new="if target.doas is None",
    ),
    Variant(
        name="ticket-proves-a-bad-cookie",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="Beside a ticket a cookie that is not good counts for nothing.",
        module=_TERMINATOR,
        old="                session = self._session(verdict.initiator)\n",
        new="                session = session_of(_values(headers, b'cookie'), Keys((b'f' * 32,)), 0) or "
        "self._session(verdict.initiator)\n",
    ),
    Variant(
        name="service-cookie-leaks",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="What a NameNode sets for the service goes to no client.",
        module="proxy/upstream/service_login.py",
        old='_OF_THE_SERVICE: Final = frozenset({b"set-cookie", b"www-authenticate"})',
        new='_OF_THE_SERVICE: Final = frozenset({b"www-authenticate"})',
    ),
    Variant(
        name="cancelled-issued-token-believed",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A token that was given through the proxy is nobody's once it is cancelled through it.",
        module=_TOKENS,
        old="        for token in cancelled_tokens(call):\n",
        new="        for token in cancelled_tokens(call)[:0]:\n",
    ),
    Variant(
        name="issued-token-repeated",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A request with such a token is looked at each time: the token may be cancelled.",
        module=_TOKENS,
        old="return replace(reading, caller=caller, repeatable_until=None, lease=lease)",
        new="return replace(reading, caller=caller, lease=lease)",
    ),
    Variant(
        name="wait-outlives-the-key-of-its-cookie",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A request that is held ends with the key of its cookie.",
        module=_TERMINATOR,
        old="< self._ends_at_ms and self._key in self._keys().keys",
        new="< self._ends_at_ms and self._key",
    ),
    Variant(
        name="wait-outlives-its-cookie",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A request that is held ends with its cookie.",
        module=_TERMINATOR,
        old="lease=SessionLease(session, self._keys, self._unix_time, ends_at),",
        new="lease=SessionLease("
        "LoginSession(user, '', 10**15, session.key), self._keys, self._unix_time, ends_at + 1e6),",
    ),
    Variant(
        name="wait-outlives-its-token",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A request that is held by a token ends when that is believed no more.",
        module=_TOKENS,
        old="        return self._issued.user_of(self._name) == self._user",
        new="        return bool(self._user)",
    ),
    Variant(
        name="wait-shares-with-another-credential",
        guarantee=Guarantee.FAIL_TO_NAMENODE,
        rule="What the NameNode says to one credential is for no one who waits by another.",
        module="proxy/wait_groups.py",
        old='    credential = "" if read.credential is None else read.credential.name',
        new='    credential = ""',
    ),
)
