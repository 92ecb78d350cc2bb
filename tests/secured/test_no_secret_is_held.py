"""No live object of a proxy holds a cookie, token or ticket of a client: tables hold digests.

This concerns live objects, as a core dump of the tables would show them. Freed memory that was not overwritten and the
internal memory of C libraries are not covered. The parser of a connection to a NameNode keeps the head of its last
reply, and so the token of a Location, until the next reply or the end of the connection; idle connections end soon in
this test.
"""

import base64
import json
import os
import time
import uuid
from pathlib import Path

import pytest

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import make_directory, webhdfs
from tests.kerberos import negotiate
from tests.patience import HANG_S
from tests.secured.asking import Question, ask, cookie_of, token_of, until_hit
from tests.secured.reachable import program, texts_of
from tests.secured.secret_pieces import pieces, pieces_of_bytes
from tests.secured.service import identity_flags
from tests.secured.terminating import cookie_by_ticket, termination_flags


@pytest.fixture
def fifos(tmp_path: Path) -> tuple[Path, Path]:
    """The FIFOs that request a dump from a proxy, and receive it."""
    made = tmp_path / "asked", tmp_path / "told"
    for each in made:
        os.mkfifo(each, mode=0o600)
    return made


@pytest.fixture
def place(secured_cluster: Cluster) -> str:
    """A directory of which everybody may read the status, with one inside."""
    made = f"/held/{uuid.uuid4().hex}"
    make_directory(secured_cluster, "/held")
    make_directory(secured_cluster, made, permission="777")
    webhdfs(secured_cluster, "PUT", f"{made}/d", "MKDIRS")
    return made


@pytest.mark.parametrize("terminates", [False, True], ids=["pass-through", "termination"])
def test_no_secret_of_a_client_is_held(
    secured_cluster: Cluster, kdc: Kdc, tmp_path: Path, fifos: tuple[Path, Path], place: str, terminates: bool
) -> None:
    """The test sends hits, misses, refusals, a redirect, a cancelled token and garbage, all with marked secrets."""
    flags = termination_flags(kdc, tmp_path) if terminates else ()
    token, cancelled = token_of(secured_cluster, "alice"), token_of(secured_cluster, "alice")
    ticket = negotiate(kdc.kinit("alice"))
    nonsense = base64.b64encode(os.urandom(99)).decode()
    path = f"{place}/d"
    own = identity_flags(secured_cluster, kdc)
    with ProxyDaemon(
        *own, *flags, "--glob", "/held/*/*", "--upstream-idle-s", "0.1", program=program(fifos)
    ) as proxy:
        proxy.await_gate()
        cookie = cookie_by_ticket(kdc, proxy, "alice") if terminates else cookie_of(secured_cluster, "alice")
        by_cookie, by_ticket = (("Cookie", cookie),), (("Authorization", ticket),)
        until_hit(proxy, Question(path, headers=by_cookie))
        until_hit(proxy, Question(path, f"&delegation={token}"))
        until_hit(proxy, Question(path, f"&delegation={cancelled}"))
        for question in (
            Question(path, headers=by_ticket),
            Question(path, headers=by_ticket),  # a replay
            Question(path, headers=(("Cookie", f'hadoop.auth="u=alice&p=a&t=kerberos&e=1&s={nonsense}"'),)),
            Question(path, f"&delegation={nonsense}"),
            Question(path, headers=(("Authorization", f"Negotiate {nonsense}"),)),
            Question(path, "", by_cookie, "LISTSTATUS"),
            Question(path, f"&delegation={token}", (), "LISTSTATUS"),
            Question("/", f"&token={cancelled}", by_cookie, "CANCELDELEGATIONTOKEN", "PUT"),
            Question(path, f"&delegation={cancelled}"),
        ):
            ask(proxy.address, question)
        given = ask(
            proxy.address, Question("/", "&renewer=alice", by_cookie, "GETDELEGATIONTOKEN")
        ).body.decode()
        created = ask(proxy.address, Question(f"{place}/f", "&overwrite=true", by_cookie, "CREATE", "PUT"))
        location = created.header("Location").partition("delegation=")[2].partition("&")[0]
        assert location, "the redirect carries a token for the DataNode"
        assert ask(proxy.address, Question(path, headers=by_cookie)).is_hit
        wanted = {
            "cookie": pieces(cookie.rpartition("&s=")[2]),
            "token": _password(token),
            "cancelled token": _password(cancelled),
            "ticket": [*pieces(ticket.removeprefix("Negotiate ")), *pieces_of_bytes(_raw(ticket)[-64:])],
            "nonsense": pieces(nonsense),
            "token of a Location": _password(location),
            "token given": _password(json.loads(given)["Token"]["urlString"]),
        }
        assert all(wanted.values())
        deadline = time.monotonic() + HANG_S
        while found := _found(held := texts_of(fifos), wanted):  # request targets are dropped within a second
            assert time.monotonic() < deadline, found
            ask(proxy.address, Question(path, "", by_cookie, "LISTSTATUS"))  # a call closes idle connections
    assert place.rpartition("/")[2].encode() in held, "the cache was not looked at"


def _found(held: bytes, wanted: dict[str, list[bytes]]) -> dict[str, bytes]:
    """Return the secrets that are held, each with its surroundings."""
    return {
        name: held[max(0, held.index(part) - 200) :][:400]
        for name, parts in wanted.items()
        for part in parts
        if part in held
    }


def _password(token: str) -> list[bytes]:
    """Return the pieces that identify a token. Its end, kind and service, is the same in all tokens."""
    raw = _raw(token)
    end = raw.index(b"\x12WEBHDFS delegation")  # kind and service, the same in all tokens, follow
    first, last = (end - 18) * 4 // 3 + 2, end * 4 // 3 - 1
    return [token[first : first + 16].encode(), token[last - 16 : last].encode(), raw[end - 18 : end - 2]]


def _raw(text: str) -> bytes:
    """Return the bytes that a token or an Authorization value encodes in Base64."""
    padded = text.removeprefix("Negotiate ").replace("-", "+").replace("_", "/")
    return base64.b64decode(padded + "=" * (-len(padded) % 4))
