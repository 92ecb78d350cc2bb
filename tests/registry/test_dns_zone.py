"""The names of a zone while entries are created and removed."""

from ipaddress import IPv4Address, IPv6Address

from hypothesis import given, settings
from hypothesis import strategies as st

from nncache.registry.dns_names import Labels
from nncache.registry.dns_records import Data, PtrRecord, SrvRecord, TxtRecord, records_of
from nncache.registry.dns_zone import MAX_NAME_BYTES, Zone
from nncache.registry.record import ServiceRecord, host_port_endpoint

KINDS = (SrvRecord, PtrRecord, TxtRecord, IPv4Address, IPv6Address)
WEB = (b"_x", b"_tcp", b"s", b"services")


def record(*hosts: str) -> ServiceRecord:
    """Return a record with one endpoint."""
    return ServiceRecord(external=(host_port_endpoint("x", "IPC", *((host, 1) for host in hosts)),))


def test_a_service_has_the_records_of_all_its_components() -> None:
    """Each record disappears with its entry; one shared by two entries remains until both are gone."""
    zone = Zone(18)
    zone.take("/services/s/components/a", record("h"))
    zone.take("/services/s/components/b", record("h"))
    zone.check()
    assert zone.find(WEB, SrvRecord, 9) == (SrvRecord(1, "h"),)
    assert len(zone.find(WEB, PtrRecord, 9)) == 2
    assert len(zone.find(WEB, PtrRecord, 1)) == 1
    assert zone.kinds(WEB) == (PtrRecord, SrvRecord)
    zone.take("/services/s/components/a", None)
    zone.check()
    assert zone.find(WEB, SrvRecord, 9) == (SrvRecord(1, "h"),)
    assert zone.find(WEB, TxtRecord, 9) == ()
    zone.take("/services/s/components/b", ServiceRecord())
    zone.check()
    assert (zone.names, zone.entries) == (1, 0)
    assert not zone.has(WEB)
    assert zone.find(WEB, SrvRecord, 9) == zone.kinds(WEB) == ()


def test_a_name_between_others_is_there() -> None:
    """The name exists without records of its own (RFC 8020)."""
    zone = Zone(18)
    zone.take("/services/s", record("h"))
    assert zone.has((b"_tcp", b"s", b"services"))
    assert zone.has(())
    assert not zone.has((b"services", b"x"))
    assert zone.kinds((b"services",)) == ()


def test_only_what_is_other_is_a_change() -> None:
    """The number of changes identifies a state of the zone."""
    zone = Zone(18)
    zone.take("/services/s", record("h"))
    zone.take("/services/s", record("h"))
    zone.take("/services/t", None)
    assert zone.changes == 1
    zone.take("/services/s", record("i"))
    assert (zone.changes, zone.entries) == (2, 1)
    zone.check()


def test_what_a_new_reading_does_not_find_is_dropped() -> None:
    """The connection may have been lost for long."""
    zone = Zone(18)
    for name in "abc":
        zone.take(f"/services/{name}", record(name))
    for gone in zone.others({"/services/b", "/services/z"}):
        zone.take(gone, None)
    zone.check()
    assert zone.entries == 1
    assert zone.has((b"b", b"services"))


def test_a_name_that_is_too_long_is_left_out() -> None:
    """The other names of its entry remain."""
    path = "/services/" + "/".join(["a" * 60] * 3)
    zone = Zone(18)
    zone.take(path, record("10.0.0.7"))
    zone.check()
    assert zone.entries == 1
    names = {name for name, _ in records_of(path, record("10.0.0.7"))}
    sizes = {name: len(b".".join(name)) + 1 + 18 for name in names}
    assert {name for name in names if zone.has(name)} == {
        name for name in names if sizes[name] <= MAX_NAME_BYTES
    }
    assert max(sizes.values()) > MAX_NAME_BYTES
    zone.take(path + "/" + "a" * 60, record("h"))
    assert zone.entries == 1


PATHS = st.sampled_from(
    [
        "/services/s",
        "/services/t",
        "/services/s/components/a",
        "/users/joe/c/i",
        "/users/joe/c/i/components/a",
        "/x",
    ]
)
RECORDS = st.none() | st.lists(st.sampled_from(["h", "i", "10.0.0.7", "fd00::1"]), max_size=2).map(
    lambda hosts: record(*hosts)
)


@settings(max_examples=50)
@given(st.lists(st.tuples(PATHS, RECORDS), max_size=12))
def test_any_order_leads_to_the_same_zone(steps: list[tuple[str, ServiceRecord | None]]) -> None:
    """A zone after any changes equals one built only from the final state."""
    zone, last = Zone(18), Zone(18)
    for path, taken in steps:
        zone.take(path, taken)
        zone.check()
    state = dict(steps)
    for path, taken in state.items():
        last.take(path, taken)
    names = {name for path, taken in steps if taken for name, _ in records_of(path, taken)}
    assert {name: known(zone, name) for name in names} == {name: known(last, name) for name in names}
    assert (zone.names, zone.entries) == (last.names, last.entries)


def known(zone: Zone, name: Labels) -> tuple[bool, list[set[Data]]]:
    """Return the zone's contents for a name."""
    return zone.has(name), [set(zone.find(name, kind, 99)) for kind in KINDS]
