"""Tickets are verified in threads, a bounded number at a time."""

import asyncio
import base64
import threading
from pathlib import Path

import pytest

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.gss import Accepted, RefusedToken
from nncache.proxy.errors import NotJudgedError, TooManyHandshakesError
from nncache.spnego import handshakes as module
from nncache.spnego.handshakes import Accept, Handshakes, accept_with
from nncache.spnego.stats import TicketOutcome
from tests.patience import HANG_S

HTTP = "HTTP/proxy@EXAMPLE.COM"
GOOD = b"Negotiate " + base64.b64encode(b"token")
ALICE = Accepted("alice@EXAMPLE.COM", HTTP, b"reply")


def handshakes(accept: Accept = lambda _: ALICE, *, limit: int = 8) -> Handshakes:
    """Return handshakes for one service."""
    return Handshakes(frozenset({HTTP}), accept, limit)


async def test_a_ticket_is_judged_away_from_the_event_loop() -> None:
    """The thread gets its bytes, decoded from Base64."""
    seen = []

    def accept(token: bytes) -> Accepted:
        seen.append((token, threading.current_thread() is threading.main_thread()))
        return ALICE

    asked = handshakes(accept)
    assert await asked.judge(GOOD, "10.0.0.1") == ALICE
    assert await asked.judge(b"negotiate   " + base64.b64encode(b"token"), "10.0.0.1") == ALICE
    assert seen == [(b"token", False)] * 2
    assert asked.counts[TicketOutcome.ACCEPTED] == 2


@pytest.mark.parametrize(
    "value", [b"Negotiate", b"Negotiate ", b"Negotiate !!!", b"Negotiate YQ", b"Negotiate ===="]
)
async def test_what_is_no_token_is_not_judged(value: bytes) -> None:
    """GSS-API neither accepts nor refuses an empty token."""
    asked = handshakes(lambda _: pytest.fail("it was judged"))
    assert isinstance(await asked.judge(value, ""), RefusedToken)
    assert asked.counts[TicketOutcome.REFUSED] == 1


async def test_a_ticket_for_another_service_is_refused() -> None:
    """This holds even if the keytab has its key."""
    asked = handshakes(lambda _: Accepted("alice@EXAMPLE.COM", "nncache/proxy@EXAMPLE.COM", b""))
    verdict = await asked.judge(GOOD, "")
    assert isinstance(verdict, RefusedToken)
    assert "nncache/proxy@EXAMPLE.COM" in verdict.why
    assert (asked.counts[TicketOutcome.ACCEPTED], asked.counts[TicketOutcome.REFUSED]) == (0, 1)


async def test_an_address_has_its_share_and_leaves_the_rest() -> None:
    """Tickets beyond the share are not verified; those of other addresses are."""
    go_on = threading.Event()

    def accept(_: bytes) -> Accepted:
        assert go_on.wait(HANG_S)
        return ALICE

    asked, beyond, first_done = handshakes(accept, limit=8), 0, asyncio.Event()

    async def ask(peer: str) -> None:
        nonlocal beyond
        try:
            assert await asked.judge(GOOD, peer) == ALICE
        except TooManyHandshakesError:
            beyond += 1
            if beyond == 13:
                first_done.set()

    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as crowd:
        for _ in range(20):
            crowd.create_task(ask("10.0.0.1"))
        await first_done.wait()
        other = crowd.create_task(asked.judge(GOOD, "10.0.0.2"))
        await asyncio.sleep(0)
        go_on.set()
    assert other.result() == ALICE
    assert (asked.counts[TicketOutcome.ACCEPTED], asked.counts[TicketOutcome.OVERLOADED]) == (8, 13)
    assert await asked.judge(GOOD, "10.0.0.1") == ALICE


async def test_a_crowd_behind_one_address_waits_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is refused, and no more are verified at a time than there are threads."""
    monkeypatch.setattr(module, "AT_ONCE", 2)
    lock, running, most = threading.Lock(), 0, 0
    pair = threading.Barrier(2)

    def accept(_: bytes) -> Accepted:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pair.wait(HANG_S)
        with lock:
            running -= 1
        return ALICE

    asked = handshakes(accept, limit=64)
    async with asyncio.timeout(HANG_S):
        verdicts = await asyncio.gather(*(asked.judge(GOOD, "10.0.0.1") for _ in range(40)))
    assert verdicts == [ALICE] * 40
    assert most == 2
    assert (asked.counts[TicketOutcome.ACCEPTED], asked.counts[TicketOutcome.OVERLOADED]) == (40, 0)


async def test_one_that_waits_too_long_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place becomes free."""
    monkeypatch.setattr(module, "AT_ONCE", 1)
    go_on = threading.Event()

    def accept(_: bytes) -> Accepted:
        assert go_on.wait(HANG_S)
        return ALICE

    asked = handshakes(accept)
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as running:
        first = running.create_task(asked.judge(GOOD, ""))
        await asyncio.sleep(0)  # it is being verified, with the ordinary deadline
        monkeypatch.setattr(module, "TIMEOUT_S", 0.01)
        with pytest.raises(TooManyHandshakesError, match="has waited"):
            await asked.judge(GOOD, "")
        go_on.set()
    assert first.result() == ALICE
    assert asked.counts[TicketOutcome.OVERLOADED] == 1
    monkeypatch.setattr(module, "TIMEOUT_S", HANG_S)
    assert await asked.judge(GOOD, "") == ALICE


async def test_one_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up after the timeout, with an error that blames no client."""
    monkeypatch.setattr(module, "TIMEOUT_S", 0.01)
    go_on = threading.Event()

    def accept(_: bytes) -> Accepted:
        go_on.wait(HANG_S)
        return ALICE

    asked = handshakes(accept)
    with pytest.raises(NotJudgedError):
        await asked.judge(GOOD, "")
    go_on.set()
    assert asked.counts[TicketOutcome.FAILED] == 1


async def test_a_keytab_that_cannot_be_used_is_our_fault(tmp_path: Path) -> None:
    """The error says nothing about the ticket."""
    file = tmp_path / "keytab"
    file.touch(mode=0o644)
    for path in (file, tmp_path / "none"):
        with pytest.raises(KerberosError, match=r"^spnego_keytab: "):
            accept_with(str(path), b"token")
