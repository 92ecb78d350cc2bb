"""Rules of credentials: what authenticates whom, and for how long."""

from typing import Final

from tests.model.guarantee import Guarantee
from tests.model.variants.variant import Variant

_CREDENTIALS = "proxy/credentials.py"
_IDENTITY = "proxy/identity.py"
_OUTCOMES = "proxy/outcomes.py"
_RIGHTS = "cache/rights.py"

CREDENTIAL_RULES: Final = (
    Variant(
        name="cookie-overlooked",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A cookie of another type than `simple` says who asks, not `user.name`.",
        module=_CREDENTIALS,
        old="    if cookie is None or cookie.kind == SIMPLE:\n        return None\n    # All",
        new="    if cookie is None or cookie.kind:\n        return None\n    # All",
    ),
    Variant(
        name="token-overlooked",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A delegation token says who asks, not `user.name`, and beside one nothing is answered from memory.",
        module=_CREDENTIALS,
        old="    if plain.delegation is not None:\n",
        new="    if plain.delegation is not None and plain.user_name is None:\n",
    ),
    Variant(
        name="credential-known-by-its-claim",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A proof is one of exactly these bytes, not of what they claim.",
        module=_CREDENTIALS,
        old='return Credential(_name("cookie", digest, cookie.user), cookie.user, cookie.ends_at_ms)',
        new='return Credential(f"user={cookie.user}", cookie.user, cookie.ends_at_ms) if digest else None',
    ),
    Variant(
        name="unknown-credential-kept",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A reply that sets a cookie of another type than `simple` tells of a credential that is not known.",
        module=_CREDENTIALS,
        old="return inf if all(map(_is_of_no_credential, cookies)) else None",
        new="return inf",
    ),
    Variant(
        name="renewal-kept-from-the-client",
        guarantee=Guarantee.FAIL_TO_NAMENODE,
        rule="A credential whose reply sets a cookie is not proven: the client needs each of these replies.",
        module=_CREDENTIALS,
        old="    if cookies:\n        return None\n    now_s",
        new="    if not headers:\n        return None\n    now_s",
    ),
    Variant(
        name="proof-outlives-its-credential",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A right ends with the cookie or token that proved it.",
        module=_CREDENTIALS,
        old="    return left_s if left_s > 0 else None",
        new="    return inf if left_s > 0 else None",
    ),
    Variant(
        name="doas-left-out",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="For whom a proxy user asks belongs to the caller's name.",
        module=_IDENTITY,
        old='        parts += [f"{name}={plain.doas}", f"peer={peer}"]\n',
        new='        parts += [f"peer={peer}"]\n',
    ),
    Variant(
        name="doas-in-another-case-read",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="What is asked as `doAs` proves nothing of who asks as `doas`: a release may not read it.",
        module=_IDENTITY,
        old='name = "doAs" if plain.doas_may_be_ignored else "doas"',
        new='name = "doas"',
    ),
    Variant(
        name="root-shows-what-is-in-it",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="Who may see the root's own status, as everybody may, need not be allowed to see what is in it.",
        module=_RIGHTS,
        old="homes = [(ticket.directory, not ticket.name)]",
        new="homes = [(ticket.directory, False)]",
    ),
    Variant(
        name="cancelled-token-believed",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A token that is cancelled through the proxy has no rights when that is answered.",
        module="proxy/writes.py",
        old="for name in cancelled_by(call):",
        new="for name in cancelled_by(call)[:0]:",
    ),
    Variant(
        name="ended-rights-repeated",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="The end of a caller's rights also ends what is held for repeated requests.",
        module="cache/store.py",
        old="return grant.proven_at > grant.account.ended_at and self.is_alive(grant)",
        new="return self.is_alive(grant)",
    ),
    Variant(
        name="ended-rights-found",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A right that was proven before its caller's rights ended is none.",
        module=_RIGHTS,
        old="(now >= grant.expires_at or grant.proven_at <= grant.account.ended_at)",
        new="(now >= grant.expires_at)",
    ),
    Variant(
        name="right-of-an-ended-question",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A question that was asked before its caller's rights ended gives no right.",
        module=_RIGHTS,
        old="        if self.have_ended(ticket):\n",
        new="        if self.have_ended(ticket) and ticket.spoiled:\n",
    ),
    Variant(
        name="ended-question-joined",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="Who asks after the end of their rights has no share in the answer to a question of before.",
        module="cache/metadata_cache.py",
        old="if ticket.caller == caller and not self.rights.have_ended(ticket):",
        new="if ticket.caller == caller:",
    ),
    Variant(
        name="refused-credential-believed-elsewhere",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A credential that a NameNode has refused has no rights anywhere.",
        module=_OUTCOMES,
        old="return Failed() if credential is None else Unauthenticated(reply.replied_at)",
        new="return Failed()",
    ),
)
