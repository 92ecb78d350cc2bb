"""The reaper with Hadoop's ResourceManagers, before and after a failover; the fake's replies equal theirs."""

import asyncio
import http.client
import os
import time
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from nncache.registry.operations import Registry
from nncache.registry.reaping import Reaping, reap
from nncache.registry.resource_manager import ResourceManagers
from nncache.registry.yarn_states import UnknownIdTerms
from nncache.testbed import Cluster
from nncache.testbed.spec import REALM
from tests.cluster import HADOOP
from tests.kerberos import KdcServer, need_gssapi
from tests.patience import HANG_S
from tests.processes import NNCACHE
from tests.registry.fake_resource_manager import FakeResourceManager, served
from tests.registry.samples import yarn_record
from tests.registry.yarn import Yarn, call

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]  # the first run downloads about 150 MB from Maven


OLD = "application_1408631738011_0001"
"""An application of another cluster."""


@pytest.fixture(scope="module")
def yarn() -> Iterator[Yarn]:
    """Yield a YARN whose rm1 is active."""
    with Yarn(hadoop_version=HADOOP) as started:
        yield started


def submitted(yarn: Yarn, url: str) -> str:
    """Submit an application whose master runs without registering; return its id after the launch."""
    _, new = call(url, "/apps/new-application", "POST")
    application = str(new["application-id"])
    context = {
        "application-id": application,
        "application-name": "reaped",
        "am-container-spec": {"commands": {"command": yarn.endless}},
        "max-app-attempts": 1,
        "resource": {"memory": 64, "vCores": 1},
    }
    status, _ = call(url, "/apps", "POST", context)
    assert status == 202
    awaited(url, application, "LAUNCHED", of_attempt=True)
    return application


def awaited(url: str, application: str, state: str, *, of_attempt: bool = False) -> None:
    """Wait until the ResourceManager reports this state of an application, or of its attempt."""
    due = time.monotonic() + HANG_S
    while (found := state_of(url, application, of_attempt=of_attempt)) != state:
        assert time.monotonic() < due, (application, state, found)


def state_of(url: str, application: str, *, of_attempt: bool) -> object:
    """Return the state of an application, or of its attempt; None while it is unknown."""
    if not of_attempt:
        return call(url, f"/apps/{application}")[1].get("app", {}).get("state")
    attempts = call(url, f"/apps/{application}/appattempts")[1].get("appAttempts", {}).get("appAttempt", [])
    return attempts[0]["appAttemptState"] if attempts else None


def kill(url: str, application: str) -> None:
    """Kill an application as an administrator does."""
    call(url, f"/apps/{application}/state", "PUT", {"state": "KILLED"})
    awaited(url, application, "KILLED")


def master(application: str) -> str:
    """Return the container id of an application's master, if there was no failover before."""
    return application.replace("application", "container") + "_01_000001"


async def looked(
    registry: Registry,
    *urls: str,
    terms: UnknownIdTerms = UnknownIdTerms(),  # noqa: B008 - a frozen value
    delete: bool = True,
) -> Reaping:
    """Run the reaper once."""
    async with aiohttp.ClientSession() as http:
        return await reap(
            registry, ResourceManagers(http, urls, timeout_s=HANG_S), "/users", terms, delete=delete
        )


async def test_an_application_that_is_killed_takes_its_records_along(registry: Registry, yarn: Yarn) -> None:
    """Records of a running application remain, also through a failover, as do those of applications unknown to YARN."""
    first, second = yarn.urls["rm1"], yarn.urls["rm2"]
    killed, kept = submitted(yarn, first), submitted(yarn, first)
    await registry.mknode("/users/joe/web", create_parents=True)
    for name, application in (("killed", killed), ("kept", kept)):
        attempt = application.replace("application", "appattempt") + "_000001"
        for suffix, policy, yarn_id in (
            ("", "application", application),
            ("-attempt", "application-attempt", attempt),
            ("-master", "container", master(application)),
        ):
            await registry.bind(f"/users/joe/web/{name}{suffix}", yarn_record(policy, yarn_id))
    await registry.bind("/users/joe/web/lost", yarn_record("container", f"{master(kept)[:-1]}9"))
    await registry.bind("/users/joe/web/old", yarn_record("application", OLD))

    running = await looked(registry, second, first)
    assert running.gone == ()
    assert {each.path.rpartition("/")[2] for each in running.kept if not each.runs} == {"lost", "old"}
    kill(first, killed)
    done = await looked(registry, second)  # a standby, which redirects to the active one
    assert sorted(each.path for each in done.gone) == [
        "/users/joe/web/killed", "/users/joe/web/killed-attempt", "/users/joe/web/killed-master",
    ]  # fmt: skip

    yarn.managers["rm1"].kill()
    yarn.activate("rm2")
    awaited(second, kept, "ACCEPTED")
    after = await looked(registry, first, second)
    assert after.gone == ()
    assert {each.path.rpartition("/")[2]: each.runs for each in after.kept}["kept"]
    kill(second, kept)
    last = await looked(registry, first, second, terms=UnknownIdTerms(frozenset({1408631738011}), settle_s=0))
    assert sorted(each.path for each in last.gone) == [
        "/users/joe/web/kept", "/users/joe/web/kept-attempt", "/users/joe/web/kept-master",
        "/users/joe/web/lost", "/users/joe/web/old",
    ]  # fmt: skip
    assert last.kept == ()
    yarn.managers["rm1"].start()


async def test_where_they_want_a_ticket_it_logs_in(
    cluster: Cluster, registry: Registry, kdc_server: KdcServer
) -> None:
    """The command logs in at an active one and a standby; without a ticket it deletes nothing, and gives the reason."""
    need_gssapi()
    await registry.mknode("/users/joe/web", create_parents=True)
    await registry.bind("/users/joe/web/old", yarn_record("application", OLD))
    zookeeper = ("--zookeeper", cluster.zookeeper.address, "--registry-root", registry.root)
    terms = ("--yarn-forgotten", "1408631738011", "--yarn-settle-s", "0")
    login = ("--principal", f"alice@{REALM}", "--keytab", str(kdc_server.keytab("alice")))
    with Yarn(hadoop_version=HADOOP, kdc=kdc_server) as yarn:
        urls = ("--yarn-rm", ",".join(reversed(yarn.urls.values())))
        words = (*NNCACHE, "registry", "reaper", "--yes", *zookeeper, *urls, *terms)

        async def ended(*more: str) -> tuple[int | None, str, str]:
            pipe = asyncio.subprocess.PIPE
            environ = os.environ | kdc_server.environ()
            run = await asyncio.create_subprocess_exec(*words, *more, stdout=pipe, stderr=pipe, env=environ)
            output, complaints = await run.communicate()
            return run.returncode, output.decode(), complaints.decode()

        code, output, complaints = await ended()
        assert (code, output) == (1, ""), complaints
        assert "401" in complaints
        assert await registry.exists("/users/joe/web/old")
        code, output, complaints = await ended(*login)
        assert (code, complaints) == (0, "")
        assert output.startswith("deleted /users/joe/web/old: "), output


KEYS = {
    "clusterInfo": ("id", "startedOn", "haState"),
    "app": ("id", "state", "clusterId"),
    "container": ("containerId", "containerState"),
    "RemoteException": ("exception", "javaClassName"),
}
"""The fields of a reply that the reaper reads or shows."""


def shown(answer: tuple[int, dict[str, Any]]) -> tuple[int, object]:
    """Return status and fields of a reply, as far as the reaper uses them."""
    status, document = answer
    for name, keys in KEYS.items():
        if name in document:
            return status, (name, [document[name].get(key) for key in keys])
    if "appAttempts" in document:
        rows = document["appAttempts"].get("appAttempt", [])
        return status, [(row["appAttemptId"], row["appAttemptState"]) for row in rows]
    return status, [document.get(key) for key in KEYS["container"]]


def test_the_fake_answers_as_the_real_one_does(yarn: Yarn) -> None:
    """For running, ended and unknown objects, and as a standby."""
    (url,) = (
        each for each in yarn.urls.values() if call(each, "/info")[1]["clusterInfo"]["haState"] == "ACTIVE"
    )
    (other,) = (each for each in yarn.urls.values() if each != url)
    application = submitted(yarn, url)
    attempt = application.replace("application", "appattempt") + "_000001"
    started_on = call(url, "/info")[1]["clusterInfo"]["startedOn"]
    _, listed = call(url, f"/apps/{application}/appattempts")
    container = listed["appAttempts"]["appAttempt"][0]["containerId"]  # with an epoch, after a failover
    fake = FakeResourceManager(
        started_on=started_on,
        applications={application: "ACCEPTED"},
        attempts={attempt: "LAUNCHED"},
        containers={container: "RUNNING"},
        wraps=HADOOP != "3.4.1",
    )
    apart = application.rpartition("_")[0]
    pages = (
        "/info",
        f"/apps/{application}",
        f"/apps/{apart}_9999",
        f"/apps/{OLD}",
        f"/apps/{application}/appattempts",
        f"/apps/{application}/appattempts/{attempt}/containers/{container}",
        f"/apps/{application}/appattempts/{attempt}/containers/{container[:-1]}9",
        f"/apps/{application}/appattempts/{attempt[:-1]}9/containers/{container.replace('_01_', '_09_')}",
    )
    with served(fake):
        for page in pages:
            assert shown(call(fake.url, page)) == shown(call(url, page)), page
        kill(url, application)
        fake.applications[application], fake.attempts[attempt] = "KILLED", "KILLED"
        fake.containers.clear()
        for page in pages:
            assert shown(call(fake.url, page)) == shown(call(url, page)), page
        fake.ha_state, fake.redirect = "STANDBY", url
        assert call(other, "/info")[1]["clusterInfo"]["haState"] == "STANDBY"
        assert redirect(fake.url) == redirect(other)


def redirect(url: str) -> tuple[int, str]:
    """Return status and Location of a page that a standby redirects."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=HANG_S)
    try:
        connection.request("GET", "/ws/v1/cluster/metrics")
        reply = connection.getresponse()
        reply.read()
        return reply.status, (reply.headers["Location"] or "").replace("localhost", "127.0.0.1")
    finally:
        connection.close()
