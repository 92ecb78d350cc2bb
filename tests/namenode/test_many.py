"""Several NameNodes on a real ZooKeeper answer as one; one of them is active, and nothing is lost."""

import asyncio
import itertools
import json
import random
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import hdfs
import pytest

from nncache.coordination.errors import ConnectionLostError, OutcomeUnknownError
from nncache.coordination.linearizable import LinearizableZnodes
from nncache.coordination.session import KazooSession
from nncache.coordination.zookeeper import SetDataOp
from nncache.namenode import on_zookeeper
from nncache.namenode.cluster import LightCluster
from nncache.namenode.namespace import layout, reads
from nncache.namenode.namespace.inode import Block
from nncache.namenode.namespace.making import Modes
from nncache.namenode.namespace.refusal import Java
from nncache.namenode.node.leading import FencedZnodes, Leader, NotLeadingError
from nncache.testbed.daemon import Program, ProxyDaemon
from nncache.testbed.zookeepers import ZooKeeperEnsemble, ZooKeeperServer
from tests.coordination.simulations import connected, expire
from tests.namenode import differential
from tests.namenode.asking import Reply, ask, call
from tests.namenode.edits import last_txid
from tests.namenode.fixture import Fixture
from tests.namenode.histories import Asked, impossible, work
from tests.namenode.linearizable import Call
from tests.namenode.many import ManyNameNodes, fixtures_on
from tests.namenode.test_proxy_in_front import status_of
from tests.namenode.test_races import work as race
from tests.patience import HANG_S, until, until_so

STATUS = "/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus"
CLIENTS = 8
NNCACHE = str(Path(sys.executable).with_name("nncache"))
MODES = Modes(0o755)


@pytest.fixture(scope="module")
def many(zookeeper_server: ZooKeeperServer) -> Iterator[ManyNameNodes]:
    """Yield three NameNodes and two DataNodes."""
    with ManyNameNodes(zookeeper_server.address, namenodes=3, datanodes=2) as found:
        yield found


def started(*typed: str) -> tuple[Program, dict[str, str]]:
    """Start a program; return it with the JSON that it prints."""
    program = Program(*typed, is_up=lambda: True, name=typed[0])
    program.start()
    log = program.process.log
    until(lambda: log.exists() and b"}" in log.read_bytes())
    line = next(line for line in log.read_text().splitlines() if line.startswith("{"))
    found: dict[str, str] = json.loads(line)
    return program, found


def states(addresses: list[str]) -> list[str]:
    """Return the HA state that each NameNode reports."""
    found = [ask(address, "GET", STATUS) for address in addresses]
    return [reply.json["beans"][0]["State"] if reply.status == 200 else "unknown" for reply in found]


def test_clients_of_several_have_the_answers_of_one(many: ManyNameNodes) -> None:
    """Random operations, each at the next NameNode, have the answers, trees and events of a light cluster."""
    seed = random.randrange(10**9)
    active = many.namenodes[states(many.https).index("active")]
    with LightCluster(superuser=many.superuser) as light:
        found = differential.compare(
            [light.namenode_http],
            many.https,
            many.superuser,
            operations=300,
            seed=seed,
            every=100,
            rpc=(light.namenode_rpc, active.rpc),
        )
    assert found.differences == [], f"seed {seed}"
    assert found.events > 0


@pytest.mark.long
def test_an_ensemble_has_the_answers_of_one() -> None:
    """The same rule with three ZooKeeper servers, three NameNodes and three DataNodes, and more operations."""
    seed = random.randrange(10**9)
    with (
        ZooKeeperEnsemble() as ensemble,
        ManyNameNodes(ensemble.address, namenodes=3, datanodes=3) as many,
        LightCluster(superuser=many.superuser) as light,
    ):
        active = many.namenodes[states(many.https).index("active")]
        found = differential.compare(
            [light.namenode_http],
            many.https,
            many.superuser,
            operations=1_000,
            seed=seed,
            every=250,
            rpc=(light.namenode_rpc, active.rpc),
        )
    assert found.differences == [], f"seed {seed}"
    assert found.events > 0


def test_operators_see_a_namespace(zookeeper_server: ZooKeeperServer, tmp_path: Path) -> None:
    """The admin pages show members, open files and operation counts; without ZooKeeper no process is ready."""
    at = ("--zookeeper", zookeeper_server.address, "--zookeeper-root", "/seen", "--admin", "127.0.0.1:0")
    first, printed = started("namenode", *at)
    second, of_datanode = started("datanode", *at, "--directory", str(tmp_path))
    with first, second:
        assert call(printed["namenode_http"], "PUT", "/seen", "MKDIRS", printed["superuser"]).status == 200
        assert call(printed["namenode_http"], "GET", "/none", "GETFILESTATUS").status == 404

        def page(address: str, name: str) -> Reply:
            return ask(address.removeprefix("http://").rstrip("/"), "GET", f"/{name}")

        until(lambda: page(printed["admin"], "status").json["datanodes"] != {})
        status = page(printed["admin"], "status").json
        assert status["namenodes"][status["active"]]["http"] == printed["namenode_http"]
        assert status["datanodes"][of_datanode["datanode"]]["record"]["http"] == of_datanode["datanode_http"]
        assert status["stats"]["operations"] == {"GETFILESTATUS refused": 1, "MKDIRS done": 1}
        assert "<title>nncache namenode</title>" in page(printed["admin"], "").body.decode()
        metrics = page(printed["admin"], "metrics").body.decode()
        assert 'nncache_webhdfs_operations_total{operation="MKDIRS",outcome="done"} 1.0' in metrics
        assert "nncache_namespace_datanodes_live 1.0" in metrics
        assert "nncache_zookeeper_connected 1.0" in page(of_datanode["admin"], "metrics").body.decode()
        assert page(of_datanode["admin"], "ready").status == 200


def test_names_that_zookeeper_refuses_are_names(many: ManyNameNodes) -> None:
    """Emoji, control characters and the escape sequence itself, created at one NameNode and listed at another."""
    names = ("\U0001f600", "tab\there", "%41;", "\ue000", "\x85", "...")
    for name in names:
        assert call(many.https[0], "PUT", f"/odd/{name}", "MKDIRS", many.superuser).status == 200
    listed = call(many.https[1], "GET", "/odd", "LISTSTATUS", many.superuser).json
    assert sorted(each["pathSuffix"] for each in listed["FileStatuses"]["FileStatus"]) == sorted(names)


def test_a_file_of_blocks_at_two_datanodes_is_read_whole(many: ManyNameNodes) -> None:
    """A file written through either DataNode is read through any of them, with one checksum."""
    many.tick()  # finish the transfers of earlier tests
    parts: list[bytes] = []
    held: set[tuple[str, ...]] = set()
    while len(held) < 2:  # each block is placed at random
        number = len(parts)
        assert number < 64, held
        parts.append(bytes([number]) * 1024)
        done = call(
            many.https[number % 3], "PUT", f"/parts/{number}", "CREATE", "root", parts[-1], blocksize=1024
        )
        assert done.status == 201
        held.add(many.wait(many.namenodes[0].namenode.holders(block_of(many, f"/parts/{number}"))))
    sources = ",".join(f"/parts/{number}" for number in range(1, len(parts)))
    assert call(many.https[1], "POST", "/parts/0", "CONCAT", "root", sources=sources).status == 200
    for address in many.https:
        assert call(address, "GET", "/parts/0", "OPEN", "root").body == b"".join(parts)
        assert call(address, "GET", "/parts/0", "OPEN", "root", offset=1000, length=50).body == (
            parts[0][-24:] + parts[1][:26]
        )
    sums = {call(address, "GET", "/parts/0", "GETFILECHECKSUM", "root").body for address in many.https}
    assert len(sums) == 1


def block_of(many: ManyNameNodes, path: str) -> Block:
    """Return the block of a file that has exactly one."""
    namenode = many.namenodes[0].namenode
    (block,) = many.wait(namenode.blocks_of(namenode.caller(many.superuser), path)).blocks
    return block


def test_one_namenode_is_active_and_each_serves(many: ManyNameNodes) -> None:
    """JMX and RPC show one active NameNode; the others refuse RPC as a standby does, and serve WebHDFS."""
    assert sorted(states(many.https)) == ["active", "standby", "standby"]
    active = states(many.https).index("active")
    for number, namenode in enumerate(many.namenodes):
        assert call(namenode.http, "GET", "/", "GETFILESTATUS").status == 200
        if number == active:
            assert last_txid(namenode.rpc, many.superuser) > 0
        else:
            with pytest.raises(Exception, match="StandbyException"):
                last_txid(namenode.rpc, many.superuser)


async def test_a_leader_is_followed_by_another_which_fences_it(
    zookeeper_server: ZooKeeperServer, tmp_path: Path
) -> None:
    """The next leader is active since a later time; the first one's late writes are refused."""
    address = zookeeper_server.address
    async with fixtures_on([address], tmp_path, number=1) as (fixture,):
        assert isinstance(fixture.znodes, LinearizableZnodes)
        root = fixture.znodes._root  # noqa: SLF001 - to share it
        async with connected(address) as first, connected(address) as second:
            stores = [
                LinearizableZnodes(session, root, name, HANG_S)
                for session, name in ((first, "first"), (second, "second"))
            ]
            # The second clock is ten minutes behind.
            leaders = [
                Leader(stores[0], "first", lambda: 1_000_000), Leader(stores[1], "second", lambda: 400_000)
            ]  # fmt: skip
            assert [await leader.try_to_lead() for leader in leaders] == [True, False]
            assert [(await leader.standing()).is_active for leader in leaders] == [True, False]
            before = (await leaders[0].standing()).since_ms
            fenced = FencedZnodes(stores[0], leaders[0].fence)
            await fenced.commit([SetDataOp(layout.LEASES, b"")])
            await expire(address, first)
            assert await leaders[1].try_to_lead()
            assert [(await leader.standing()).is_active for leader in leaders] == [False, True]
            assert (await leaders[1].standing()).since_ms > before
            with pytest.raises(NotLeadingError):
                await fenced.commit([SetDataOp(layout.LEASES, b"")])
            assert not await leaders[0].try_to_lead()
            with pytest.raises(NotLeadingError):
                await fenced.commit([SetDataOp(layout.LEASES, b"")])


async def raced(
    servers: list[str],
    directory: Path,
    operations: int,
    disturb: Callable[[list[Fixture]], Coroutine[None, None, None]] | None = None,
) -> list[Call[Asked]]:
    """Race clients at three NameNodes over a few names; check that an order explains it and nothing is lost."""
    seed = random.randrange(10**9)
    history: list[Call[Asked]] = []
    async with fixtures_on(servers, directory) as fixtures:
        async with asyncio.TaskGroup() as group:
            disturbing = None if disturb is None else group.create_task(disturb(fixtures))
            async with asyncio.TaskGroup() as clients:
                for number in range(CLIENTS):
                    own = random.Random(f"{seed}-{number}")
                    clients.create_task(work(fixtures, own, operations // CLIENTS, history))
            if disturbing is not None:
                disturbing.cancel()
        assert impossible(history) is None, f"seed {seed}"
        async with asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                own = random.Random(f"{seed}-files-{number}")
                group.create_task(race(fixtures[number % 3], own))
        for fixture in fixtures:
            await fixture.namenode.reclaim()
            await fixture.namenode.check_leases()
        assert await fixtures[0].orphans() == [], f"seed {seed}"
    return history


async def test_what_clients_see_has_an_order_and_nothing_is_lost(
    zookeeper_server: ZooKeeperServer, tmp_path: Path
) -> None:
    """Raced directories are checked call by call; raced files by an audit of tree, leases, blocks and events."""
    await raced([zookeeper_server.address], tmp_path, 500)


@pytest.mark.long
async def test_an_ensemble_in_trouble_gives_no_wrong_answer(tmp_path: Path) -> None:
    """Three servers, each with a NameNode; the leader is killed and sessions expire, again and again."""
    rng = random.Random()
    troubles = {"session": 0, "leader": 0}
    with ZooKeeperEnsemble() as ensemble:

        async def disturb(fixtures: list[Fixture]) -> None:
            for number in itertools.count():
                await asyncio.sleep(rng.uniform(1, 3))
                if number % 2:
                    store = rng.choice(fixtures).znodes
                    assert isinstance(store, LinearizableZnodes)
                    session = store._zookeeper  # noqa: SLF001 - to end it
                    assert isinstance(session, KazooSession)
                    if session.session_id:
                        await expire(ensemble.address, session)
                        troubles["session"] += 1
                    continue
                leader = await asyncio.to_thread(ensemble.leader)
                await asyncio.to_thread(leader.process.kill)
                await asyncio.sleep(rng.uniform(0, 2))
                await asyncio.to_thread(ensemble.start)
                troubles["leader"] += 1

        # A NameNode may move to another server when its own is gone.
        servers = [server.address for server in ensemble.servers]
        orders = [",".join(servers[at:] + servers[:at]) for at in range(3)]
        history = await raced(orders, tmp_path, 8000, disturb)
    assert len(history) > 4000
    assert min(troubles.values()) > 0, troubles


@pytest.mark.long
async def test_a_hundred_thousand_raced_operations_lose_nothing(
    zookeeper_server: ZooKeeperServer, tmp_path: Path
) -> None:
    """Eight clients and three NameNodes race over a few names."""
    await raced([zookeeper_server.address], tmp_path, 100_000)


async def test_without_zookeeper_there_is_no_answer_and_none_is_wrong(tmp_path: Path) -> None:
    """While ZooKeeper is down, calls fail as not carried out or as unknown; afterwards the namespace is as it was."""
    with ZooKeeperServer() as server:
        async with fixtures_on([server.address], tmp_path, number=1) as (fixture,):
            store = fixture.znodes
            assert isinstance(store, LinearizableZnodes)
            await fixture.namenode.mkdirs(fixture.root, "/d", MODES)
            store._patience_s = 0.5  # noqa: SLF001 - so that the test does not wait for long
            await asyncio.to_thread(server.process.kill)
            for _ in range(2):
                with pytest.raises((ConnectionLostError, OutcomeUnknownError)):
                    await fixture.namenode.mkdirs(fixture.root, "/e", MODES)
                with pytest.raises(ConnectionLostError):
                    await fixture.namenode.read("/d", reads.status, fixture.root)
            store._patience_s = HANG_S  # noqa: SLF001 - the same
            await asyncio.to_thread(server.process.start)
            assert (await fixture.namenode.read("/d", reads.status, fixture.root)).children_num == 0
            await fixture.namenode.mkdirs(fixture.root, "/f", MODES)
            statuses, _ = await fixture.namenode.listing(fixture.root, "/")
            assert [each.path_suffix for each in statuses] in (["d", "f"], ["d", "e", "f"])


def test_a_proxy_in_front_follows_the_active_one(zookeeper_server: ZooKeeperServer) -> None:
    """Changes through any NameNode are seen; after a failover the gate opens again in a later term."""
    with (
        ManyNameNodes(zookeeper_server.address, namenodes=3, datanodes=0) as many,
        ProxyDaemon(
            *("--namenode-http", ",".join(many.https)),
            *("--namenode-rpc", ",".join(namenode.rpc for namenode in many.namenodes)),
            *("--user", many.superuser, "--channel", "direct", "--glob", "/*"),
        ) as proxy,
    ):
        proxy.await_gate()
        for number, address in enumerate(many.https):
            path = f"/d{number}"
            call(address, "PUT", path, "MKDIRS", many.superuser)
            proxy.process.await_that(lambda path=path: status_of(proxy, path) == (200, True), "has no hit")  # type: ignore[misc] # a lambda of a loop
            call(many.https[number - 1], "DELETE", path, "DELETE", many.superuser)
            proxy.process.await_that(lambda path=path: status_of(proxy, path)[0] == 404, "has a stale hit")  # type: ignore[misc] # the same
        terms = proxy.metrics()["nncache_namenode_term"]
        active = many.namenodes[states(many.https).index("active")]
        many.end_session(active)
        proxy.process.await_that(
            lambda: proxy.metrics()["nncache_namenode_term"] > terms, "sees no other active NameNode"
        )
        assert states(many.https).count("active") == 1
        proxy.await_gate()


async def test_a_client_is_sent_on_while_zookeeper_is_away() -> None:
    """It gets StandbyException, as at a standby, and JMX shows no active NameNode; both recover with ZooKeeper."""
    with ZooKeeperServer() as server:
        place = on_zookeeper.Place(zookeeper=(server.address,), session_timeout_s=2.0)
        async with on_zookeeper.namenode_serving(place, on_zookeeper.NameNodeSpec()) as namenode:
            address = namenode.http

            async def status() -> Reply:
                return await asyncio.to_thread(call, address, "GET", "/", "GETFILESTATUS")

            assert (await status()).status == 200
            await asyncio.to_thread(server.process.kill)
            refused = await status()
            assert refused.error[0] == Java.STANDBY.value
            assert await asyncio.to_thread(states, [address]) == ["unknown"]
            await asyncio.to_thread(server.process.start)
            await until_so(lambda: asyncio.to_thread(lambda: states([address]) == ["active"]))
            assert (await status()).status == 200


async def test_a_datanode_comes_back_with_its_blocks_and_is_alone(
    zookeeper_server: ZooKeeperServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its DataNode a file exists but cannot be read; a second process on the directory does not start."""
    monkeypatch.setattr(on_zookeeper, "START_S", 1.5)
    place = on_zookeeper.Place(zookeeper=(zookeeper_server.address,), root="/back")
    async with on_zookeeper.namenode_serving(place, on_zookeeper.NameNodeSpec()) as namenode:

        async def opened() -> tuple[int, bytes]:
            reply = await asyncio.to_thread(call, namenode.http, "GET", "/f", "OPEN", namenode.superuser)
            return reply.status, reply.body

        async with on_zookeeper.datanode_serving(place, tmp_path):
            made = await asyncio.to_thread(
                call, namenode.http, "PUT", "/f", "CREATE", namenode.superuser, b"data"
            )
            assert made.status == 201
            with pytest.raises(on_zookeeper.DoubledError):
                await on_zookeeper.datanode_serving(place, tmp_path).__aenter__()
            assert await opened() == (200, b"data")
        await namenode.tick()
        status, body = await opened()
        assert (status, b"Failed to find datanode" in body) == (403, True)
        async with on_zookeeper.datanode_serving(place, tmp_path):
            assert await opened() == (200, b"data")


def test_a_datanode_of_another_namespace_says_so(zookeeper_server: ZooKeeperServer, tmp_path: Path) -> None:
    """The process ends with one line that names both namespaces and the remedy."""
    printed: list[str] = []
    for root in ("/own", "/other"):
        at = ("--zookeeper", zookeeper_server.address, "--zookeeper-root", root)
        namenode, _ = started("namenode", *at)
        with namenode:
            done = subprocess.Popen(
                [NNCACHE, "datanode", *at, "--directory", str(tmp_path)],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            assert done.stdout is not None
            if done.stdout.readline():  # it is serving
                done.terminate()
            printed.append(done.communicate(timeout=HANG_S)[1])
    assert "cannot start" not in printed[0]
    assert printed[1].count("\n") == 1
    assert f"{tmp_path} is of namespace BP-" in printed[1]


def test_a_namenode_that_is_killed_is_not_missed(zookeeper_server: ZooKeeperServer, tmp_path: Path) -> None:
    """The other NameNode process takes over all service, and reports itself as active.

    A client with a list of NameNodes (PyPI's `hdfs`) continues with each of its operations.
    """
    at = ("--zookeeper", zookeeper_server.address, "--zookeeper-root", "/killed")
    first, of_first = started("namenode", *at)
    second, of_second = started("namenode", *at)
    third, _ = started("datanode", *at, "--directory", str(tmp_path))
    with first, second, third:
        here, there = of_first["namenode_http"], of_second["namenode_http"]
        superuser = of_first["superuser"]
        until(lambda: call(here, "PUT", "/d/f", "CREATE", superuser, b"1", overwrite="true").status == 201)
        assert states([here, there]) == ["active", "standby"]
        client = hdfs.InsecureClient(f"http://{here};http://{there}", user=superuser)
        client.write("/d/list", b"1")
        first.process.kill()
        with client.read("/d/list") as reader:
            assert reader.read() == b"1"
        client.write("/d/list", b"2", append=True)
        client.rename("/d/list", "/d/moved")
        assert client.status("/d/moved")["length"] == 2
        assert client.delete("/d/moved")
        assert call(there, "GET", "/d/f", "OPEN", superuser).body == b"1"
        assert call(there, "PUT", "/d/g", "MKDIRS", superuser).json == {"boolean": True}
        until(lambda: states([there]) == ["active"])

        def audited() -> tuple[int, str]:
            done = subprocess.run([NNCACHE, "fsck", *at], text=True, capture_output=True, check=False)
            return done.returncode, done.stdout

        until(lambda: audited() == (0, "4 inodes, 1 blocks: 0 findings, 0 left\n"), lambda: str(audited()))
