"""Independent clients with Kerberos: those that keep a credential are answered from memory."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import fsspec
import hdfs
import pytest
import requests

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import ProxyDaemon
from tests.house.tree import ROOT
from tests.kerberos import need_curl, need_gssapi
from tests.secured.asking import Question, cookie_of, kept_path, token_of, until_hit
from tests.secured.spark_job import TASKS

ASKED = 4
"""Number of times that each client asks for the same status."""


@pytest.fixture
def path(secured_cluster: Cluster) -> str:
    """A directory that only alice may enter; its status is cached."""
    return kept_path(secured_cluster)


@pytest.fixture
def proxy(secured_cluster: Cluster, secured_proxies: dict[str, ProxyDaemon], path: str) -> ProxyDaemon:
    """The proxy, with alice's status of the path cached."""
    proxy = secured_proxies["direct"]
    until_hit(proxy, Question(path, headers=(("Cookie", cookie_of(secured_cluster, "alice")),)))
    return proxy


def base_of(proxy: ProxyDaemon) -> str:
    """Return the proxy's address with the host name of its principal."""
    return f"localhost:{proxy.address.rpartition(':')[2]}"


def hits_of(proxy: ProxyDaemon, act: Callable[[], object]) -> int:
    """Return the number of answers from memory during an action."""
    before = proxy.metrics()['nncache_requests_total{result="hit"}']
    act()
    return int(proxy.metrics()['nncache_requests_total{result="hit"}'] - before)


def test_requests_gssapi(secured_cluster: Cluster, kdc: Kdc, proxy: ProxyDaemon, path: str) -> None:
    """It negotiates once and keeps the cookie in its session: every later request is a hit."""
    need_gssapi()
    gssapi = pytest.importorskip("requests_gssapi")
    monkey = pytest.MonkeyPatch()
    monkey.setenv("KRB5CCNAME", f"FILE:{kdc.kinit('alice')}")
    seen = []

    def ask() -> None:
        with requests.Session() as session:
            session.auth = gssapi.HTTPSPNEGOAuth(mutual_authentication=gssapi.DISABLED)
            for _ in range(ASKED):
                reply = session.get(f"http://{base_of(proxy)}/webhdfs/v1{path}?op=GETFILESTATUS", timeout=60)
                seen.append(reply.status_code)

    try:
        assert hits_of(proxy, ask) >= ASKED - 2
    finally:
        monkey.undo()
    assert seen == [200] * ASKED


def test_curl(secured_cluster: Cluster, kdc: Kdc, proxy: ProxyDaemon, path: str, tmp_path: Path) -> None:
    """With `--negotiate` it negotiates each time, despite its cookie jar. With the cookie alone it gets hits."""
    need_curl()
    curl = shutil.which("curl")
    assert curl is not None
    url = f"http://{base_of(proxy)}/webhdfs/v1{path}?op=GETFILESTATUS"
    environ = {"KRB5CCNAME": f"FILE:{kdc.kinit('alice')}", **kdc.environ()}

    def ask(*words: str) -> None:
        for _ in range(ASKED):
            command = (curl, "--silent", "--fail", *words, url)
            done = subprocess.run(command, env=environ, capture_output=True, timeout=60, check=False)
            assert b"FileStatus" in done.stdout, done.stderr

    jar, ticket = str(tmp_path / "jar"), ("--negotiate", "--user", ":")
    assert hits_of(proxy, lambda: ask(*ticket, "--cookie-jar", jar)) == 0
    assert hits_of(proxy, lambda: ask("--cookie", jar)) >= ASKED - 2


def test_hdfscli_with_a_token(secured_cluster: Cluster, proxy: ProxyDaemon, path: str) -> None:
    """PyPI's `hdfs` uses one token for all requests."""
    client = hdfs.TokenClient(f"http://{base_of(proxy)}", token_of(secured_cluster, "alice"))
    assert hits_of(proxy, lambda: [client.status(path) for _ in range(ASKED)]) >= ASKED - 2


def test_fsspec_with_a_token(secured_cluster: Cluster, proxy: ProxyDaemon, path: str) -> None:
    """PyPI's `fsspec` uses one token for all requests."""
    host, _, port = base_of(proxy).partition(":")
    files = fsspec.filesystem(
        "webhdfs",
        host=host,
        port=int(port),
        token=token_of(secured_cluster, "alice"),
        skip_instance_cache=True,
    )
    assert hits_of(proxy, lambda: [files.info(path) for _ in range(ASKED)]) >= ASKED - 2


def test_hdfscli_with_a_ticket(
    secured_cluster: Cluster, kdc: Kdc, proxy: ProxyDaemon, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KerberosClient of PyPI's `hdfs` negotiates once and keeps the cookie in its session."""
    need_gssapi()
    kerberos = pytest.importorskip("hdfs.ext.kerberos", reason="needs PyPI's requests-kerberos")
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{kdc.kinit('alice')}")
    client = kerberos.KerberosClient(f"http://{base_of(proxy)}")
    seen: list[object] = []
    assert hits_of(proxy, lambda: seen.extend(client.status(path)["type"] for _ in range(ASKED))) >= ASKED - 2
    assert seen == ["DIRECTORY"] * ASKED


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_spark_job_with_a_token(secured_cluster: Cluster, proxy: ProxyDaemon, path: str) -> None:
    """The driver gets a token that all tasks send. Status polls are hits; listings are forwarded."""
    place, _, name = path.rpartition("/")
    asked = (f"http://{base_of(proxy)}", token_of(secured_cluster, "alice"), place, name, str(ASKED))
    job = (sys.executable, "-m", "tests.secured.spark_job", *asked)
    done = subprocess.run(job, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == TASKS
    for replies, names in found:
        assert names == [name] * ASKED
        hits = Counter(op for op, is_hit in replies if is_hit)
        assert Counter(op for op, _ in replies) == {"GETFILESTATUS": 2 * ASKED, "LISTSTATUS": ASKED}
        assert hits["LISTSTATUS"] == 0
        assert hits["GETFILESTATUS"] >= 2 * ASKED - 3


def test_the_shell_of_hadoop(secured_cluster: Cluster, proxy: ProxyDaemon, path: str) -> None:
    """Each process fetches a token, so its first request is forwarded, and the next ones are hits."""
    url = f"webhdfs://{base_of(proxy)}{path}"

    def ask() -> None:
        shown = secured_cluster.fs_shell("-stat", "%F", *([url] * ASKED), user="alice")
        assert (shown.returncode, shown.stdout) == (0, "directory\n" * ASKED), shown.stderr

    assert hits_of(proxy, ask) >= ASKED - 2
    refused = secured_cluster.fs_shell("-stat", "%F", url, user="carol")
    assert refused.returncode != 0
    assert "Permission denied: user=carol" in refused.stderr
