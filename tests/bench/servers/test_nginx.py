"""nginx keeps what it is told to, for as long as it is told to, and knows nothing of callers."""

import os
import shutil
import time

import psutil
import pytest

from nncache.bench.servers.nginx import find_nginx, nginx
from nncache.testbed.asker import Asker
from nncache.testbed.errors import MissingToolError
from tests.bench.polling_server import Act, Script, reply, serving

needs_nginx = pytest.mark.skipif(
    shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="apt-get install nginx-light"
)


def asked(address: str, path: str, user: str = "u0000") -> tuple[int, str | None]:
    """Return the status, and what nginx says of its cache."""
    with Asker(address) as nginx_at:
        reply = nginx_at.ask("GET", f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name={user}")
    return reply.status, reply.header("X-Cache-Status")


def test_who_has_none_is_told_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or how to do without."""
    searched: list[str] = []

    def nowhere(_: str, *, path: str) -> None:
        searched.append(path)

    monkeypatch.setattr(shutil, "which", nowhere)
    with pytest.raises(MissingToolError, match=r"apt-get install nginx-light .*--modes direct,nncache"):
        find_nginx()
    assert searched == [f"{os.environ['PATH']}:/usr/sbin"]


@needs_nginx
def test_what_is_kept_is_not_asked_for_again() -> None:
    """Files and missing ones; each caller's answer is kept apart, and a refusal is not kept."""
    script = Script(
        {
            "/none": (Act(data=reply(status="404 Not Found")),),
            "/denied": (Act(data=reply(status="403 Forbidden")),),
        }
    )
    with serving(script) as namenode, nginx(namenode, valid_s=60) as running:
        assert [asked(running.address, "/file") for _ in range(2)] == [(200, "MISS"), (200, "HIT")]
        assert [asked(running.address, "/none") for _ in range(2)] == [(404, "MISS"), (404, "HIT")]
        assert [asked(running.address, "/denied") for _ in range(2)] == [(403, "MISS"), (403, "MISS")]
        assert asked(running.address, "/file", user="u0001") == (200, "MISS")
        assert psutil.Process(running.processes["nginx"]).name() == "nginx"
    assert len(script.targets) == 5
    assert not psutil.pid_exists(running.processes["nginx"])


@needs_nginx
def test_what_was_kept_for_its_time_is_asked_for_again() -> None:
    """Whole seconds are counted, so two later one has passed."""
    fields = (
        "Cache-Control: no-cache",
        "Expires: Sat, 21 Nov 2026 00:00:00 GMT",
        "Set-Cookie: hadoop.auth=x",
    )
    script = Script({"/file": (Act(data=reply(fields=fields)),)})
    with serving(script) as namenode, nginx(namenode, valid_s=1) as running:
        assert asked(running.address, "/file") == (200, "MISS")
        time.sleep(2.1)
        assert asked(running.address, "/file") == (200, "EXPIRED")
        assert asked(running.address, "/file") == (200, "HIT")
    assert len(script.targets) == 2
