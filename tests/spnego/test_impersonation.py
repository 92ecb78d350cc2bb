"""A client's `doas` is checked against the proxy-user rules and the client's own address."""

import asyncio
import socket
from collections.abc import Collection

import pytest

from nncache.hadoop.configuration import Configuration
from nncache.hadoop.proxy_users import Address, address_of, parse_proxy_users
from nncache.spnego.impersonation import (
    NAMES_KEPT_S,
    NAMES_REMEMBERED_S,
    UNANSWERED_S,
    Impersonation,
    addresses_of,
)
from tests.proxy.doubles import FakeClock

RULES = {
    "hadoop.proxyuser.knox.users": "alice",
    "hadoop.proxyuser.knox.hosts": "gate.example.com, 10.0.0.1",
    "hadoop.proxyuser.oozie.groups": "*",
    "hadoop.proxyuser.oozie.hosts": "*",
}


class Names:
    """A resolver that records its calls."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.addresses: list[Address] | None = [address_of("10.0.0.5")]

    async def __call__(self, name: str) -> Collection[Address] | None:
        """Return the same addresses for any name."""
        self.asked.append(name)
        return self.addresses


def judged(clock: FakeClock, names: Names) -> Impersonation:
    """Return an `Impersonation` with RULES."""
    return Impersonation(parse_proxy_users(Configuration(RULES)), clock, names)


@pytest.mark.parametrize(
    ("real", "user", "peer", "fault"),
    [
        ("knox", "alice", "10.0.0.1", None),
        ("knox", "alice", "10.0.0.5", None),
        ("knox", "alice", "::ffff:10.0.0.1", None),
        ("knox", "alice", "10.0.0.6", "Unauthorized connection for super-user: knox from IP /10.0.0.6"),
        ("knox", "alice", "", "Unauthorized connection for super-user: knox from IP /"),
        ("knox", "bob", "10.0.0.1", "User: knox is not allowed to impersonate bob"),
        ("carol", "alice", "10.0.0.1", "User: carol is not allowed to impersonate alice"),
        ("oozie", "bob", "192.168.0.1", None),
        ("oozie", "bob", "", None),
    ],
)
async def test_who_may_act_for_whom_from_where(real: str, user: str, peer: str, fault: str | None) -> None:
    """A refusal has the NameNode's own message."""
    impersonation = judged(FakeClock(), Names())
    assert await impersonation.fault_of(real, user, peer) == fault
    assert impersonation.refused == (fault is not None)


async def test_a_host_name_is_resolved_when_needed_and_cached() -> None:
    """After the cache time, the name's new address counts."""
    clock, names = FakeClock(), Names()
    impersonation = judged(clock, names)
    assert await impersonation.fault_of("knox", "alice", "10.0.0.1") is None
    assert names.asked == []
    for _ in range(2):
        assert await impersonation.fault_of("knox", "alice", "10.0.0.5") is None
    assert names.asked == ["gate.example.com"]
    names.addresses = []
    clock.now += NAMES_REMEMBERED_S + 1
    assert await impersonation.fault_of("knox", "alice", "10.0.0.5") is not None


async def test_a_resolver_that_fails_for_a_moment_costs_nothing_that_was_known() -> None:
    """A missing answer is cached for a shorter time than an answer."""
    clock, names = FakeClock(), Names()
    impersonation = judged(clock, names)
    known, names.addresses = names.addresses, None
    assert await impersonation.fault_of("knox", "alice", "10.0.0.5") is not None
    names.addresses = known
    assert await impersonation.fault_of("knox", "alice", "10.0.0.5") is not None
    clock.now += UNANSWERED_S
    assert await impersonation.fault_of("knox", "alice", "10.0.0.5") is None
    names.addresses = None
    clock.now += NAMES_REMEMBERED_S
    for _ in range(2):
        assert await impersonation.fault_of("knox", "alice", "10.0.0.5") is None
    assert len(names.asked) == 3
    names.addresses = []
    clock.now += UNANSWERED_S
    assert await impersonation.fault_of("knox", "alice", "10.0.0.5") is not None


async def test_a_name_that_is_not_resolved_for_long_counts_no_more() -> None:
    """Its address may belong to another host by then."""
    clock, names = FakeClock(), Names()
    impersonation = judged(clock, names)
    assert await impersonation.fault_of("knox", "alice", "10.0.0.5") is None
    names.addresses = None
    clock.now += NAMES_KEPT_S
    assert await impersonation.fault_of("knox", "alice", "10.0.0.5") is None
    clock.now += UNANSWERED_S
    assert await impersonation.fault_of("knox", "alice", "10.0.0.5") is not None


async def test_a_name_that_was_known_counts_while_another_is_resolved() -> None:
    """It counts although it expires before the other name is resolved."""
    clock, asked, may_answer = FakeClock(), asyncio.Event(), asyncio.Event()
    addresses = {"gate.example.com": "10.0.0.5", "fence.example.com": "10.0.0.7"}

    async def resolve(name: str) -> Collection[Address]:
        if name == "fence.example.com":
            asked.set()
            await may_answer.wait()
        return [address_of(addresses[name])]

    rules = {
        "hadoop.proxyuser.knox.users": "alice",
        "hadoop.proxyuser.knox.hosts": "gate.example.com, fence.example.com",
        "hadoop.proxyuser.oozie.users": "alice",
        "hadoop.proxyuser.oozie.hosts": "gate.example.com",
    }
    impersonation = Impersonation(parse_proxy_users(Configuration(rules)), clock, resolve)
    assert await impersonation.fault_of("oozie", "alice", "10.0.0.5") is None  # now this name is cached
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(impersonation.fault_of("knox", "alice", "10.0.0.5"))
        await asked.wait()
        clock.now += NAMES_REMEMBERED_S + 1
        may_answer.set()
    assert asking.result() is None


async def test_a_name_without_an_address_lets_in_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """The log says so."""
    assert not await addresses_of("no-such-host.invalid")
    assert "no-such-host.invalid" in caplog.text
    assert address_of("127.0.0.1") in (await addresses_of("localhost") or ())


@pytest.mark.parametrize(
    ("error", "addresses"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), ()),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), None),
        (TimeoutError(), None),
    ],
)
async def test_what_a_resolver_says_without_an_address(
    monkeypatch: pytest.MonkeyPatch, error: Exception, addresses: Collection[Address] | None
) -> None:
    """Either the name has no address, or the resolver does not know."""

    async def getaddrinfo(*_: object, **__: object) -> object:
        raise error

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    assert await addresses_of("gate.example.com") == addresses
