"""The chapters of `make demo SECURE=1`: alice's ticket decides what she sees."""

import json
from http import HTTPStatus
from typing import Final

from nncache.demo.chapters import Chapter
from nncache.demo.options import DemoError
from nncache.demo.secured import OWNER, PRIVATE, SECRET, STRANGER, Fields, SecuredSystem, forged
from nncache.demo.secured_steps import Answer, denied, from_memory, logged_in, refused
from nncache.demo.steps import Step
from nncache.hadoop.errors import KerberosError

_ASKED: Final = 20
_FORWARDED_AT_MOST: Final = 5
"""Questions with a new credential that the NameNode may answer: the first of each directory on the way."""

_ASKED_IN_VAIN: Final = 5


async def _asked(system: SecuredSystem, fields: Fields, query: str = "", times: int = _ASKED) -> list[Answer]:
    return [await system.ask(SECRET, "GETFILESTATUS", fields, query=query) for _ in range(times)]


async def _log_in(system: SecuredSystem, user: str, path: str) -> tuple[Answer, str]:
    """Ask with this user's ticket; return the answer, and what is wrong with the server's own token."""
    negotiation = await system.negotiation(user)
    answer = await system.ask(path, "GETFILESTATUS", (("Authorization", negotiation.field),))
    try:
        await negotiation.see_proven(answer.proof)
    except KerberosError as error:
        return answer, str(error)
    return answer, ""


async def _cookie(system: SecuredSystem, user: str) -> str:
    answer, trouble = await _log_in(system, user, "/")
    if not answer.set_cookie or trouble:
        raise DemoError(f"{user} gets no cookie: {answer.status} {trouble}")
    return answer.set_cookie.partition(";")[0]


async def owner(system: SecuredSystem) -> tuple[Step, ...]:
    """Log in with a ticket, then ask with the cookie that came of it."""
    await system.make_private()
    answer, trouble = await _log_in(system, OWNER, SECRET)
    cookie = answer.set_cookie.partition(";")[0]
    answers = await _asked(system, (("Cookie", cookie),))
    return (
        logged_in(OWNER, answer, trouble),
        from_memory(f"{OWNER}'s cookie", answers, _FORWARDED_AT_MOST),
    )


async def stranger(system: SecuredSystem) -> tuple[Step, ...]:
    """Ask for the same with another user's ticket and cookie."""
    answer, _ = await _log_in(system, STRANGER, SECRET)
    cookie = await _cookie(system, STRANGER)
    answers = await _asked(system, (("Cookie", cookie),), times=_ASKED_IN_VAIN)
    return denied(f"{STRANGER}'s ticket", [answer]), denied(f"{STRANGER}'s cookie", answers)


async def impostor(system: SecuredSystem) -> tuple[Step, ...]:
    """Ask with a cookie that the NameNode has not signed, and with a name alone."""
    cookie = await _cookie(system, OWNER)
    made_up = await _asked(system, (("Cookie", forged(cookie, OWNER)),), times=_ASKED_IN_VAIN)
    named = await _asked(system, (), f"&user.name={OWNER}", times=_ASKED_IN_VAIN)
    return refused("A forged cookie", made_up), refused(f"user.name={OWNER}", named)


async def token(system: SecuredSystem) -> tuple[Step, ...]:
    """Get a delegation token, ask with it, and cancel it: all through the proxy."""
    fields = (("Cookie", await _cookie(system, OWNER)),)
    given = await system.ask("/", "GETDELEGATIONTOKEN", fields, query=f"&renewer={OWNER}")
    if given.status != HTTPStatus.OK:
        raise DemoError(f"no delegation token: {given.status} {given.body.decode(errors='replace')}")
    credential = f"&delegation={json.loads(given.body)['Token']['urlString']}"
    before = await _asked(system, (), credential)
    cancelled = await system.ask(
        "/",
        "CANCELDELEGATIONTOKEN",
        fields,
        query=credential.replace("&delegation=", "&token="),
        method="PUT",
    )
    if cancelled.status != HTTPStatus.OK:
        raise DemoError(f"the token is not cancelled: {cancelled.status}")
    after = await _asked(system, (), credential, times=_ASKED_IN_VAIN)
    return (
        from_memory(f"{OWNER}'s delegation token", before, _FORWARDED_AT_MOST),
        refused("The token, once it is cancelled", after, HTTPStatus.FORBIDDEN),
    )


SECURED_CHAPTERS: Final = (
    Chapter(
        "A ticket, and what comes of it",
        f"{PRIVATE} is {OWNER}'s, mode 700. She has a Kerberos ticket, and takes the proxy for the NameNode, over "
        "HTTPS. The proxy holds no key of hers: the NameNode checks her ticket, proves its own name to her, and sets a "
        f"cookie. With it she asks {_ASKED} times; what the NameNode has accepted once, nncache answers from memory.",
        owner,
    ),
    Chapter(
        "Another user",
        f"{STRANGER} has a ticket as good as hers, and no right to pass the directory. The status of what lies in it "
        "is in memory; he is not to know that.",
        stranger,
    ),
    Chapter(
        "An impostor",
        f"Who knows what {OWNER}'s cookie looks like makes one, with a signature of their own; or simply says that "
        f"they are {OWNER}.",
        impostor,
    ),
    Chapter(
        "A delegation token",
        f"{OWNER} gets a delegation token, as Spark and MapReduce do for their jobs, and gives it to one. When the job "
        "is done she cancels it, through the proxy.",
        token,
    ),
)
