"""From which load balancers a client's address is accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.net.balancers.balancers import MAX_HOPS, Balancers, BalancerStats
from nncache.net.balancers.settings import BalancerSettings

BALANCER = "10.0.0.1"
BALANCERS = Balancers(BalancerSettings(real_ip_from=("10.0.0.0/8", "fd00::/8")))


def client_of(*values: str, name: str = "X-Forwarded-For") -> str:
    """Return the client of a request with these fields that a balancer has forwarded."""
    fields = "".join(f"{name}: {value}\r\n" for value in values)
    head = f"GET /webhdfs/v1/f?op=GETFILESTATUS HTTP/1.1\r\nHost: nn\r\n{fields}\r\n"
    return BALANCERS.client_of(head.encode(), BALANCER)


@pytest.mark.parametrize(
    ("address", "is_trusted"),
    [
        ("10.9.9.9", True),
        ("::ffff:10.9.9.9", True),
        ("fd12::7", True),
        ("11.0.0.1", False),
        ("fe80::1%eth0", False),
        ("", False),
        ("nn.example.com", False),
    ],
)
def test_a_balancer_is_known_by_its_address(address: str, *, is_trusted: bool) -> None:
    """This includes the mapped form (::ffff:) that a dual-stack socket reports."""
    assert BALANCERS.trusts(address) is is_trusted
    assert BALANCERS.speak_in_requests_of(address) is is_trusted


def test_without_settings_none_is_believed() -> None:
    """A balancer that uses the PROXY protocol is not trusted in header fields either."""
    assert not Balancers(BalancerSettings()).speak_in_requests_of(BALANCER)
    settings = BalancerSettings(real_ip_from=(BALANCER,), real_ip_header="proxy_protocol")
    by_header = Balancers(settings)
    assert by_header.trusts(BALANCER)
    assert by_header.send_header
    assert not by_header.speak_in_requests_of(BALANCER)
    assert by_header.stats() == BalancerStats(headers=0, headers_refused=0)


@pytest.mark.parametrize(
    ("values", "client"),
    [
        ((), BALANCER),
        (("",), BALANCER),
        (("192.0.2.7",), "192.0.2.7"),
        (("192.0.2.7", "198.51.100.1"), "198.51.100.1"),
        (("192.0.2.7, 198.51.100.1",), "198.51.100.1"),
        (("1.2.3.4, 192.0.2.7 ,\t10.0.0.2",), "192.0.2.7"),
        (("1.2.3.4", "192.0.2.7,10.0.0.2", "10.3.0.1"), "192.0.2.7"),
        (("10.0.0.2, 10.0.0.3",), "10.0.0.2"),
        (("192.0.2.7, unknown",), BALANCER),
        (("192.0.2.7, unknown, 10.0.0.2",), "10.0.0.2"),
        (("192.0.2.7,",), BALANCER),
        (("192.0.2.7:51234",), "192.0.2.7"),
        (("[2001:DB8::0:7]:51234",), "2001:db8::7"),
        (("[2001:db8::7]",), "2001:db8::7"),
        (("2001:db8::7",), "2001:db8::7"),
        (("::ffff:192.0.2.7",), "192.0.2.7"),
        (("fe80::1%eth0",), BALANCER),
        (("0192.0.2.7",), BALANCER),
        (("1" * 100,), BALANCER),
        (("192.0.2.7\u00e9",), BALANCER),
    ],
)
def test_the_last_that_is_no_balancer_is_the_client(values: tuple[str, ...], client: str) -> None:
    """The client's own entries precede those of the balancers; an entry that is not an address ends the search."""
    assert client_of(*values) == client


def test_the_name_of_the_field_counts_as_a_whole() -> None:
    """The name matches in any case; no other field matches, nor a part of the target or of a value."""
    assert client_of("192.0.2.7", name="x-forwarded-for") == "192.0.2.7"
    for name in (
        "X-Forwarded-For-Too",
        "Not-X-Forwarded-For",
        "X-Real-IP",
        "Forwarded",
        "X: X-Forwarded-For",
    ):
        assert client_of("192.0.2.7", name=name) == BALANCER


@given(st.binary(max_size=200))
def test_any_bytes_have_a_client(head: bytes) -> None:
    """No bytes raise an error. The client's own bytes change nothing; with a line end the head is refused."""
    client = BALANCERS.client_of(
        b"GET / HTTP/1.1\r\nX-Forwarded-For: " + head + b", 192.0.2.7\r\n\r\n", BALANCER
    )
    if not set(head) & set(b"\r\n"):
        assert client == "192.0.2.7"


def test_a_long_list_of_balancers_is_not_gone_through() -> None:
    """A client in the balancers' network may send thousands of entries, which took 0.1 s of the event loop."""
    hops = [f"10.0.{number // 250}.{1 + number % 250}" for number in range(7_000)]
    assert client_of(", ".join(("192.0.2.7", *hops))) == hops[-MAX_HOPS]
    assert client_of(", ".join(("192.0.2.7", *hops[1 - MAX_HOPS :]))) == "192.0.2.7"
