"""What the registry holds is read, as much as may be read, and nothing is written."""

from nncache.checks.facts import RegistryFound, Trouble
from nncache.checks.registry_probe import look_at_registry
from nncache.coordination.acl import OPEN, AclEntry, Right
from nncache.coordination.zookeeper import Create, SetData
from nncache.registry.daemon_record import PLACE, PROXY, RegisteredDaemon
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord, uri_endpoint
from nncache.registry.record_json import encode_record
from tests.processes import free_address
from tests.registry.samples import fake_registry

OURS = RegisteredDaemon(
    kind=PROXY, host="p", port=80, webhdfs=("http://p:80/webhdfs/v1",), admin="http://p:81/"
)
BEFORE = RegistryFound(host="p", path=OURS.path, at="p:80")


async def filled() -> Registry:
    """Return a registry with the place of our daemons."""
    registry = fake_registry()
    await registry.make_root()
    await registry.mknode(PLACE, create_parents=True)
    return registry


async def test_nothing_is_there() -> None:
    """Not even a root."""
    assert await look_at_registry(fake_registry(), BEFORE, "hdfs") == BEFORE


async def test_the_entry_of_a_daemon_with_the_acls_above_it() -> None:
    """The record, or why there is none."""
    registry = await filled()
    seen = await look_at_registry(registry, BEFORE, "hdfs")
    assert [*seen.acls] == ["/", "/services", "/services/nncache", PLACE]
    assert set(seen.acls.values()) == {OPEN}
    assert (seen.record, seen.fault, seen.silence) == (None, "", "")
    await registry.bind(OURS.path, OURS.record)
    seen = await look_at_registry(registry, BEFORE, "hdfs")
    assert [*seen.acls][-1] == OURS.path
    assert seen.record == OURS.record
    await registry.zookeeper.commit([SetData(registry.znode(OURS.path), b'{"JSONServiceRecord')])
    seen = await look_at_registry(registry, BEFORE, "hdfs")
    assert seen.record is None
    assert seen.fault
    assert (await look_at_registry(registry, RegistryFound(), "hdfs")).fault == ""


async def test_other_daemons_are_looked_for() -> None:
    """Where their record says; our own entry is none of them, nor one that says nowhere."""
    registry, gone = await filled(), free_address()
    await registry.bind(OURS.path, OURS.record)
    other = RegisteredDaemon(
        kind=PROXY, host="127.0.0.1", port=1, webhdfs=(f"http://{gone}/x",), admin="http://h/"
    )
    await registry.bind(other.path, other.record)
    odd = ServiceRecord(internal=(uri_endpoint("io.nncache.admin", "x", "http://[/"),))
    await registry.zookeeper.commit([Create(registry.znode(f"{PLACE}/odd"), encode_record(odd))])
    await registry.bind(f"{PLACE}/empty", ServiceRecord())
    seen = await look_at_registry(registry, BEFORE, "hdfs")
    assert [*seen.others] == [other.path]
    assert seen.others[other.path].trouble is Trouble.UNREACHABLE


async def test_what_may_not_be_read() -> None:
    """It is said, with what could be."""
    registry = await filled()
    hidden = (AclEntry("world", "anyone", Right.DELETE),)
    await registry.zookeeper.commit([Create(registry.znode(OURS.path), b"", acl=hidden)])
    seen = await look_at_registry(registry, BEFORE, "hdfs")
    assert seen.acls[OURS.path] == ()
    assert seen.fault
