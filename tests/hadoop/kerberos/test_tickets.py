"""When a ticket is renewed, and which one is used during the renewal."""

import asyncio
import ctypes
import logging
import threading

import pytest

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import krb5_library
from nncache.hadoop.kerberos.gss import KerberosTicket, ticket_from_cache, ticket_from_keytab
from nncache.hadoop.kerberos.krb5_library import destroy, new_cache
from nncache.hadoop.kerberos.principal import Principal
from nncache.hadoop.kerberos.threads import MAX_OVERDUE, KdcThreads
from nncache.hadoop.kerberos.tickets import (
    HANGING_S,
    RETRY_S,
    RETRY_WITHOUT_S,
    CachedTickets,
    KeytabTickets,
    Source,
    TicketStats,
)
from nncache.net.secret_file import FileState
from nncache.testbed.spec import REALM
from tests.kerberos import KdcServer
from tests.patience import HANG_S, until_so

LIFE_S = 1000.0


class Kdc:
    """A KDC, a keytab and a clock, as `KeytabTickets` uses them."""

    def __init__(self) -> None:
        self.now = 0.0
        self.life_s = LIFE_S
        self.failure = ""
        self.keytab = FileState(1)
        self.caches: list[str] = []  # existing ones
        self.asked = 0
        self.answers = threading.Event()  # cleared: the KDC is silent
        self.answers.set()
        source = Source(self._get, lambda: self.keytab, self._new_cache, self.caches.remove)
        self.threads = KdcThreads()
        self.tickets = KeytabTickets("svc/h@R", source, self.threads, lambda: self.now)

    async def get(self, timeout_s: float = HANG_S) -> object:
        """Return the ticket's number: that of the call that obtained it."""
        return (await self.tickets.get(timeout_s)).credentials

    async def settled(self) -> None:
        """Return when all calls in progress are finished."""
        await until_so(lambda: not self.threads.running)
        for _ in range(5):
            await asyncio.sleep(0)

    def _new_cache(self) -> str:
        self.caches.append(f"MEMORY:{len(self.caches)}-{self.asked}")
        return self.caches[-1]

    def _get(self, cache: str) -> KerberosTicket:
        assert cache in self.caches
        self.asked += 1
        number = self.asked
        self.answers.wait(HANG_S)
        if self.failure:
            raise KerberosError(self.failure)
        return KerberosTicket(number, self.life_s)


@pytest.fixture
def kdc() -> Kdc:
    """Return a KDC that answers."""
    return Kdc()


async def test_a_valid_ticket_is_used_until_half_its_life(kdc: Kdc) -> None:
    """Then the next one is obtained in the background."""
    assert [await kdc.get(), await kdc.get()] == [1, 1]
    kdc.now = LIFE_S / 2
    assert await kdc.get() == 1
    await kdc.settled()
    assert await kdc.get() == 2
    assert kdc.asked == 2


async def test_the_ticket_serves_to_its_end_while_the_kdc_fails(
    kdc: Kdc, caplog: pytest.LogCaptureFixture
) -> None:
    """K1: an outage costs nothing while tickets are valid; the log says until when."""
    await kdc.get()
    kdc.failure = "no KDC"
    kdc.now = LIFE_S / 2
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            assert await kdc.get() == 1
            await kdc.settled()
        assert kdc.asked == 2  # not retried immediately
        kdc.now += RETRY_S
        assert await kdc.get() == 1
        await kdc.settled()
        assert kdc.asked == 3
        kdc.now = LIFE_S
        with pytest.raises(KerberosError, match="no KDC"):
            await kdc.get()
        kdc.failure = ""
        kdc.now += RETRY_WITHOUT_S
        assert await kdc.get() == 5
    assert caplog.messages == [
        "no KDC; the present ticket is valid for 500 s; it is tried again",
        "the KDC gives tickets for svc/h@R again",
    ]


async def test_a_valid_ticket_is_never_waited_for(kdc: Kdc) -> None:
    """K1: neither during a renewal nor after a failed one."""
    await kdc.get()

    def at_once() -> object:
        with pytest.raises(StopIteration) as done:
            kdc.tickets.get(HANG_S).send(None)
        return done.value.value.credentials

    kdc.now = LIFE_S / 2
    kdc.answers.clear()
    assert [at_once(), at_once()] == [1, 1]
    kdc.failure = "no KDC"
    kdc.answers.set()
    await kdc.settled()
    kdc.now += RETRY_S
    kdc.answers.clear()
    assert at_once() == 1
    kdc.answers.set()
    await kdc.settled()


async def test_without_a_ticket_the_last_failure_is_repeated(kdc: Kdc) -> None:
    """All callers get it, without another attempt."""
    kdc.failure = "wrong key"
    for _ in range(3):
        with pytest.raises(KerberosError, match="wrong key"):
            await kdc.get()
    assert kdc.asked == 1
    assert kdc.caches == []
    kdc.now += RETRY_WITHOUT_S
    with pytest.raises(KerberosError, match="wrong key"):
        await kdc.get()
    assert kdc.asked == 2


async def test_those_who_ask_at_once_share_one_attempt(kdc: Kdc) -> None:
    """K2: they share it, and each gives up at its own deadline."""
    kdc.answers.clear()
    with pytest.raises(KerberosError, match="the KDC does not answer"):
        await kdc.get(timeout_s=0.01)
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(kdc.get()) for _ in range(3)]
        await asyncio.sleep(0)
        kdc.answers.set()
    assert [each.result() for each in waiting] == [1, 1, 1]
    assert kdc.asked == 1


async def test_a_hanging_attempt_does_not_block_others(kdc: Kdc) -> None:
    """libkrb5 waits for about 50 s; a second attempt finds a KDC that has recovered earlier."""
    kdc.answers.clear()
    with pytest.raises(KerberosError):
        await kdc.get(timeout_s=0.01)
    kdc.now = HANGING_S
    with pytest.raises(KerberosError):
        await kdc.get(timeout_s=0.01)
    assert kdc.asked == 2
    kdc.answers.set()
    await kdc.settled()
    assert len(kdc.caches) == 2  # the one in use, and the previous one


async def test_a_silent_kdc_is_logged_once(kdc: Kdc, caplog: pytest.LogCaptureFixture) -> None:
    """The first of two attempts ends with an error long after the second one obtained a ticket."""
    with caplog.at_level(logging.INFO):
        kdc.answers.clear()
        for _ in range(3):
            with pytest.raises(KerberosError, match="the KDC does not answer"):
                await kdc.get(timeout_s=0.01)
        first = kdc.answers
        kdc.answers = threading.Event()
        kdc.answers.set()
        kdc.now = HANGING_S
        assert await kdc.get() == 2
        kdc.failure = "too late"
        first.set()
        await kdc.settled()
        assert await kdc.get() == 2
    silence, again = caplog.messages
    assert "the KDC does not answer" in silence
    assert again == "the KDC gives tickets for svc/h@R again"


async def test_a_keytab_that_is_replaced_is_read_at_once(kdc: Kdc) -> None:
    """The present ticket is used until the new one is obtained."""
    await kdc.get()
    kdc.keytab = FileState(2)
    assert await kdc.get() == 1
    await kdc.settled()
    assert await kdc.get() == 2


async def test_a_ticket_that_a_server_refused_is_got_again_first(kdc: Kdc) -> None:
    """The server's key may have changed; while the KDC is unavailable, the refused ticket is better than none."""
    await kdc.get()
    kdc.now = RETRY_S
    kdc.tickets.recheck()
    assert await kdc.get() == 2
    kdc.failure = "no KDC"
    kdc.now += RETRY_S
    kdc.tickets.recheck()
    assert await kdc.get() == 2


async def test_a_server_that_refuses_each_ticket_has_few_got(kdc: Kdc) -> None:
    """Each proxy calls it four times a second with a wrong keytab: the KDC must not suffer from that."""
    for _ in range(40):
        await kdc.get()
        kdc.tickets.recheck()
        kdc.now += 0.25
    assert kdc.asked == 2


async def test_caches_that_are_not_used_any_more_are_destroyed(kdc: Kdc) -> None:
    """K3: a daemon obtains tickets for years."""
    for _ in range(10):
        kdc.now += LIFE_S
        await kdc.get()
    assert kdc.asked == 10
    assert len(kdc.caches) == 2


async def test_a_ticket_that_ends_at_once_is_none(kdc: Kdc) -> None:
    """For example, this host's clock is far ahead."""
    kdc.life_s = 1.0
    with pytest.raises(KerberosError, match="the clocks of this host and of the KDC agree"):
        await kdc.get()


async def test_a_ticket_cache_is_read_for_each_connection() -> None:
    """Another program renews it; an expired ticket is an error."""
    lives = [100.0, 0.0]
    tickets = CachedTickets(lambda: KerberosTicket("t", lives.pop(0)), KdcThreads(), lambda: 0.0)
    tickets.recheck()
    assert (await tickets.get(HANG_S)).lifetime_s == 100.0
    with pytest.raises(KerberosError, match="is expired: renew it"):
        await tickets.get(HANG_S)


async def test_a_thread_that_cannot_be_started_counts_for_none(
    kdc: Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T2: this call fails, and no thread slot is lost."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        for _ in range(MAX_OVERDUE):
            kdc.now += RETRY_WITHOUT_S
            with pytest.raises(KerberosError, match="no Kerberos ticket for svc/h@R: can't start new thread"):
                await kdc.get()
    kdc.now += RETRY_WITHOUT_S
    assert await kdc.get() == 1
    assert len(kdc.caches) == 1


async def test_the_figures_of_tickets_from_a_keytab(kdc: Kdc) -> None:
    """When the newest ticket was obtained and when it expires, and whether the last attempt failed."""
    assert kdc.tickets.stats() == TicketStats()
    kdc.now = 5.0
    await kdc.get()
    assert kdc.tickets.stats() == TicketStats(starts_at=5.0, ends_at=5.0 + LIFE_S)
    kdc.now, kdc.failure = LIFE_S / 2 + 5.0, "no KDC"
    await kdc.get()
    await kdc.settled()
    assert kdc.tickets.stats() == TicketStats(is_failing=1, starts_at=5.0, ends_at=5.0 + LIFE_S)
    kdc.now, kdc.failure = kdc.now + RETRY_S, ""
    await kdc.get()
    await kdc.settled()
    assert kdc.tickets.stats() == TicketStats(starts_at=kdc.now, ends_at=kdc.now + LIFE_S)


async def test_the_figures_of_a_ticket_cache() -> None:
    """A ticket counts as new when its expiry changes; whole seconds may differ by one."""
    now, life_s = 10.0, 100.0

    def read() -> KerberosTicket:
        if not life_s:
            raise KerberosError("no cache")
        return KerberosTicket("t", life_s)

    tickets = CachedTickets(read, KdcThreads(), lambda: now)
    assert tickets.stats() == TicketStats()
    await tickets.get(HANG_S)
    now, life_s = 40.0, 69.0
    await tickets.get(HANG_S)
    assert tickets.stats() == TicketStats(starts_at=10.0, ends_at=110.0)
    for life_s in (0.0, 1.0):  # noqa: B007 - `read` returns it
        with pytest.raises(KerberosError):
            await tickets.get(HANG_S)
        assert tickets.stats() == TicketStats(is_failing=1, starts_at=10.0, ends_at=110.0)
    life_s = 70.0
    await tickets.get(HANG_S)
    assert tickets.stats() == TicketStats(starts_at=10.0, ends_at=110.0)
    life_s = 100.0
    await tickets.get(HANG_S)
    assert tickets.stats() == TicketStats(starts_at=40.0, ends_at=140.0)


def test_a_cache_is_gone_once_it_is_destroyed(realm: KdcServer) -> None:
    """Each cache has its own name."""
    cache, other = new_cache(), new_cache()
    assert cache != other
    ticket_from_keytab(Principal("alice", realm=REALM), str(realm.keytab("alice")), cache)
    assert ticket_from_cache(None, cache).lifetime_s > 0
    assert destroy(cache)
    with pytest.raises(KerberosError):
        ticket_from_cache(None, cache)


def test_without_libkrb5_nothing_is_destroyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, with another implementation of Kerberos tickets remain until they expire."""

    def fail(_: str) -> None:
        raise OSError("not found")

    monkeypatch.setattr(ctypes, "CDLL", fail)
    assert not destroy(krb5_library.new_cache())
