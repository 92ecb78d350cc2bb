"""No log or page of a proxy contains a cookie, token or ticket of a client."""

import base64
import http.client
import uuid
from pathlib import Path

import pytest

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import make_directory, webhdfs
from tests.kerberos import negotiate
from tests.patience import until
from tests.secured.asking import Question, ask, cookie_of, token_of, until_hit
from tests.secured.secret_pieces import pieces
from tests.secured.service import identity_flags

_PAGES = ("/metrics", "/ready", "/health", "/status", "/explain?path={path}", "/sample", "/")


def _page(proxy: ProxyDaemon, target: str) -> bytes:
    connection = http.client.HTTPConnection(proxy.admin, timeout=30)
    try:
        connection.request("GET", target)
        return connection.getresponse().read()
    finally:
        connection.close()


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_secret_of_a_client_is_written(
    secured_cluster: Cluster, kdc: Kdc, tmp_path: Path, log_format: str
) -> None:
    """All logs are at their most verbose; there are hits, misses, refusals, writes, redirects and garbage."""
    place = f"/secret/{uuid.uuid4().hex[:12]}"
    make_directory(secured_cluster, "/secret")
    make_directory(secured_cluster, place, permission="777")
    webhdfs(secured_cluster, "PUT", f"{place}/d", "MKDIRS")
    access, audit = tmp_path / "access.log", tmp_path / "audit.log"
    logs = (
        "--access-log",
        str(access),
        "--audit-log",
        str(audit),
        "--log-level",
        "debug",
        "--log-format",
        log_format,
    )
    cookie, token = cookie_of(secured_cluster, "alice"), token_of(secured_cluster, "alice")
    ticket = negotiate(kdc.kinit("alice"))
    nonsense = base64.b64encode(b"nonsense that nobody may read again" * 3).decode()
    by_cookie, by_ticket = (("Cookie", cookie),), (("Authorization", ticket),)
    path = f"{place}/d"
    location = ""
    with ProxyDaemon(*identity_flags(secured_cluster, kdc), *logs, "--glob", "/secret/*/*") as proxy:
        proxy.await_gate()
        until_hit(proxy, Question(path, headers=by_cookie))
        until_hit(proxy, Question(path, f"&delegation={token}"))
        for question in (
            Question(path, headers=by_ticket),
            Question(path, headers=by_ticket),  # a replay
            Question(path, headers=(("Authorization", f"Basic {nonsense}"),)),
            Question(
                path, headers=(("Cookie", f'hadoop.auth="u=alice&p=alice&t=kerberos&e=1&s={nonsense}"'),)
            ),
            Question(path, f"&delegation={nonsense.rstrip('=')}"),
            Question(path, f"&DELEGATION={nonsense.rstrip('=')}&delegation=%41{nonsense[:40]}"),
            Question("/", f"&token={token}", by_cookie, "RENEWDELEGATIONTOKEN", "PUT"),
            Question(path, "", by_cookie, "LISTSTATUS"),
            Question(path, f"&delegation={token}", (), "LISTSTATUS"),
            Question(path, "&x=1", by_cookie),
        ):
            ask(proxy.address, question)
        created = ask(proxy.address, Question(f"{place}/f", "&overwrite=true", by_cookie, "CREATE", "PUT"))
        location = created.header("Location").partition("delegation=")[2].partition("&")[0]
        ask(proxy.address, Question("/", f"&token={token}", by_cookie, "CANCELDELEGATIONTOKEN", "PUT"))
        pages = [_page(proxy, target.format(path=path)) for target in _PAGES]
        until(lambda: b"CANCELDELEGATIONTOKEN" in access.read_bytes())  # a thread writes the lines
        proxy.stop()
        written = [proxy.process.log.read_bytes(), access.read_bytes(), audit.read_bytes(), *pages]
    assert location, "the redirect carries a token for the DataNode"
    assert all(written[:2]), "nothing was written"
    secrets = (cookie.rpartition("&s=")[2], token, ticket.removeprefix("Negotiate "), nonsense, location)
    for secret in secrets:
        for text in written:
            found = [piece for piece in pieces(secret) if piece in text]
            assert not found, text[max(0, text.index(found[0]) - 200) : text.index(found[0]) + 100]
