"""Write access in a secure registry, tried with raw clients: with tickets, with a password, and anonymously."""

import uuid
from dataclasses import dataclass
from typing import Final

import pytest
from kazoo.client import KazooClient

import nncache
from nncache.client.registering import OpenRegistry
from nncache.registry.errors import NoPathPermissionsError
from nncache.registry.record import ServiceRecord, uri_endpoint
from nncache.testbed import Cluster, Kdc
from nncache.testbed.spec import REALM
from tests.kerberos import need_gssapi
from tests.secured.raw_zookeeper import ANONYMOUS, PASSWORD, deeds, raw
from tests.secured.service import keytab_of, run

SERVICE: Final = "nncache/localhost"
READ: Final = {"get", "list", "see the ACL"}
RECORD: Final = ServiceRecord(external=(uri_endpoint("org.apache.hbase", "REST", "http://h/"),))


@dataclass(frozen=True, slots=True)
class Place:
    """A secure registry with a separate root, created by its system account."""

    cluster: Cluster
    kdc: Kdc
    root: str

    @property
    def zookeeper(self) -> str:
        """The address of ZooKeeper."""
        return self.cluster.zookeeper.address

    def registry(self, principal: str) -> OpenRegistry:
        """Return the registry, opened as this principal."""
        return nncache.open_registry(
            zookeeper=self.zookeeper,
            zookeeper_sasl="kerberos",
            principal=f"{principal}@{REALM}",
            keytab=keytab_of(self.kdc, principal),
            registry_root=self.root,
            registry_secure=True,
            registry_realm=REALM,
            registry_system_accounts=(f"sasl:{SERVICE}@",),
        )

    def flags(self) -> tuple[str, ...]:
        """Return its flags for the command line, as the system account."""
        return (
            *("--zookeeper", self.zookeeper, "--zookeeper-sasl", "kerberos", "--registry-root", self.root),
            *("--principal", f"{SERVICE}@{REALM}", "--keytab", str(keytab_of(self.kdc, SERVICE))),
            *("--registry-secure", "--registry-realm", REALM),
            *("--registry-system-accounts", f"sasl:{SERVICE}@"),
        )

    def allowed(self, who: str, path: str) -> set[str]:
        """Try every operation on an entry; return the allowed ones, whose effects stay."""
        with raw(self.zookeeper, who, self.kdc) as client:
            assert isinstance(client, KazooClient)
            return {deed for deed, is_allowed in deeds(client, self.root + path).items() if is_allowed}


@pytest.fixture
async def place(secured_cluster: Cluster, kdc: Kdc) -> Place:
    """Return a registry with /services/hdfs and the homes of alice and bob."""
    need_gssapi()
    made = Place(secured_cluster, kdc, f"/registry-{uuid.uuid4().hex[:8]}")
    async with made.registry(SERVICE) as registry:
        await registry.make_root()
        await registry.bind("/services/hdfs", RECORD)
        for user in ("alice", "bob"):
            await registry.make_home(user)
    return made


async def test_the_design_holds_against_raw_clients(place: Place) -> None:
    """Everybody reads. A user creates entries only in their home. Write accessors and creators may change an entry."""
    async with place.registry("alice") as registry:
        await registry.mknode("/users/alice/hbase")
        await registry.bind("/users/alice/hbase/demo1", RECORD)
        assert registry.add_write_accessor("eve", "eves-own")
        await registry.bind("/users/alice/hbase/demo2", RECORD)
        for path in ("/services/hdfs", "/users/bob/x", "/users/carol"):
            with pytest.raises(NoPathPermissionsError):
                await registry.bind(path, RECORD, overwrite=True)
    for who in (ANONYMOUS, PASSWORD, "bob"):
        for path in ("", "/users", "/services", "/services/hdfs", "/users/alice", "/users/alice/hbase/demo1"):
            assert place.allowed(who, path) == READ, (who, path)
    for path in ("", "/users", "/services", "/services/hdfs", "/users/bob"):
        assert place.allowed("alice", path) == READ, path
    assert place.allowed("alice", "/users/alice") == {*READ, "create"}
    assert place.allowed("bob", "/users/alice/hbase/demo2") == READ
    everything = {*READ, "set", "create", "set the ACL"}
    assert place.allowed(PASSWORD, "/users/alice/hbase/demo2") == everything
    assert place.allowed("alice", "/users/alice/hbase/demo1") == everything


async def test_wrong_acls_are_named(place: Place) -> None:
    """`registry check` names their entry; correct ACLs are not reported."""
    assert run("registry", "check", *place.flags()) == ""
    async with place.registry("alice") as registry:
        await registry.mknode("/users/alice/hbase")
    assert run("registry", "check", *place.flags()) == ""
    with raw(place.zookeeper, "alice", place.kdc) as client:
        client.create(f"{place.root}/users/alice/open", b"")  # world:anyone:cdrwa
    with pytest.raises(AssertionError):  # the command exits with 1
        run("registry", "check", *place.flags())
