"""What is found wrong in a registry."""

import asyncio
from collections.abc import Callable

import pytest

from nncache.coordination.acl import OPEN
from nncache.coordination.errors import ConnectionLostError, NoNodeError
from nncache.coordination.zookeeper import Create, ZnodeAcl
from nncache.registry.access import AccessPolicy, ZooKeeperIdentity
from nncache.registry.auditing import audit_tree
from nncache.registry.errors import InvalidRecordError, PathNotFoundError, RegistryIOError
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord, uri_endpoint
from nncache.registry.record_json import encode_record
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.registry.samples import WEBHDFS, fake_registry, registry_over

YARN = ("sasl", "yarn@R")
SECURE = AccessPolicy((ZooKeeperIdentity(*YARN),), "R")


async def test_records_and_names_of_an_open_registry() -> None:
    """Broken, beyond a limit, no host name; whatever is right is not named."""
    registry = fake_registry()
    await registry.make_root()
    await registry.bind("/services/hdfs", WEBHDFS)
    assert await audit_tree(registry, "/") == {}
    await registry.zookeeper.commit(
        [
            Create(registry.znode("/services/x"), b'{"type":"JSONServiceRecord"'),
            Create(registry.znode("/services/Y"), encode_record(ServiceRecord(description="x" * 2000))),
        ]
    )
    faults = await audit_tree(registry, "/services")
    assert list(faults) == ["/services/Y", "/services/x"]
    assert [fault.split()[0] for fault in faults["/services/Y"]] == ["description", "the"]
    with pytest.raises(PathNotFoundError):
        await audit_tree(registry, "/nowhere")


async def test_a_uri_that_is_none_is_named() -> None:
    """It would break what reads it; it cannot be bound here."""
    registry = fake_registry()
    await registry.make_root()
    broken = ServiceRecord(external=(uri_endpoint("org.prometheus.metrics", "http", "http://[x/"),))
    with pytest.raises(InvalidRecordError, match="which is no URI"):
        await registry.bind("/services/x", broken)
    await registry.zookeeper.commit([Create(registry.znode("/services/x"), encode_record(broken))])
    fault = "external[0].addresses[0].uri is 'http://[x/', which is no URI"
    assert await audit_tree(registry, "/") == {"/services/x": (fault,)}


async def test_acls_of_a_secure_registry() -> None:
    """Each that differs from the design."""
    server = FakeZooKeeper(asyncio.get_running_loop().time)
    registry = Registry(server.session(frozenset({YARN})), "/registry", SECURE)
    await registry.make_root()
    await registry.make_home("joe")
    await registry.bind("/services/hdfs", WEBHDFS)
    assert await audit_tree(registry, "/") == {}
    await registry.zookeeper.commit([Create("/registry/services/open", b"", acl=OPEN)])
    faults = await audit_tree(registry, "/")
    assert list(faults) == ["/services/open"]
    assert len(faults["/services/open"]) == 2


class Failing(FakeSession):
    """A session whose question for an ACL fails."""

    def __init__(self, server: FakeZooKeeper, failure: Callable[[str], Exception]) -> None:
        super().__init__(server, frozenset({YARN}))
        self._failure = failure

    async def acl(self, path: str) -> ZnodeAcl:
        """Fail."""
        raise self._failure(path)


async def test_an_entry_that_goes_meanwhile_has_no_faults() -> None:
    """A connection that is lost is an error, though."""
    server = FakeZooKeeper(asyncio.get_running_loop().time)
    registry = await registry_over(Failing(server, NoNodeError), SECURE)
    assert await audit_tree(registry, "/") == {}
    lost = await registry_over(Failing(server, ConnectionLostError), SECURE)
    with pytest.raises(RegistryIOError, match="its ACL could not be read"):
        await audit_tree(lost, "/")
