"""No client's ticket is accepted before a replayed ticket is known to be refused."""

import asyncio
from collections.abc import Iterable
from functools import partial

import pytest

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.gss import Accepted, RefusedToken
from nncache.proxy.errors import NotJudgedError
from nncache.spnego import replays as module
from nncache.spnego.handshakes import Handshakes
from nncache.spnego.replays import ReplayCheck
from nncache.spnego.stats import TicketOutcome
from tests.patience import HANG_S

ONE, OTHER = "HTTP/one@EXAMPLE.COM", "HTTP/other@EXAMPLE.COM"
Verdict = Accepted | RefusedToken


class Kerberos:
    """A KDC and a keytab; a ticket is accepted as often as `good` says for its service."""

    def __init__(self, good: dict[str, int], away: Iterable[str] = ()) -> None:
        self.good = good
        self.away = set(away)
        self.made = 0
        self.seen: dict[bytes, int] = {}

    async def ticket_for(self, service: str) -> bytes:
        """Return a new ticket each time."""
        if service in self.away:
            raise KerberosError(f"no ticket for {service}")
        self.made += 1
        return f"{service} {self.made}".encode()

    def accept(self, token: bytes) -> Verdict:
        """Accept or refuse a token."""
        service = token.decode().split()[0]
        self.seen[token] = self.seen.get(token, 0) + 1
        if self.seen[token] > self.good.get(service, 0):
            return RefusedToken("Request is a replay" if self.good.get(service) else "no key")
        return Accepted("nncache@EXAMPLE.COM", service, b"")


def check_of(kerberos: Kerberos) -> ReplayCheck:
    """Return a replay check over this Kerberos."""
    return ReplayCheck((ONE, OTHER), kerberos.ticket_for, kerberos.accept)


async def test_tickets_are_judged_once_a_replay_was_refused() -> None:
    """They are refused before. The first principal with an accepted ticket is enough."""
    for kerberos in (Kerberos({ONE: 1}), Kerberos({OTHER: 1}), Kerberos({OTHER: 1}, away=[ONE])):
        check = check_of(kerberos)
        fault = partial(getattr, check, "fault")
        asked = Handshakes(frozenset({ONE}), lambda _: Accepted("a@B", ONE, b""), 8, fault)
        with pytest.raises(NotJudgedError, match="it is not known yet"):
            await asked.judge(b"Negotiate YQ==", "")
        assert asked.counts[TicketOutcome.FAILED] == 1
        await check.look()
        assert isinstance(await asked.judge(b"Negotiate YQ==", ""), Accepted)


@pytest.mark.parametrize("good", [{ONE: 2}, {OTHER: 2}, {ONE: 9, OTHER: 1}])
async def test_a_ticket_that_is_good_twice_refutes_it(good: dict[str, int]) -> None:
    """No ticket is accepted from then on, and the check is not repeated."""
    check = check_of(Kerberos(good))
    await check.look()
    assert check.is_refuted
    assert "is accepted twice" in check.fault
    assert "default_rcache_name" in check.fault


async def test_what_is_not_known_is_logged_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the reason for each principal, once."""
    kerberos = Kerberos({}, away=[OTHER])
    check = check_of(kerberos)
    for _ in range(2):
        await check.look()
    assert not check.is_refuted
    (record,) = caplog.records
    assert record.getMessage() == (
        "clients' tickets are refused: it is not known whether a ticket that has come before would be refused: "
        f"our own ticket for {ONE} is refused: no key; no ticket for {OTHER}"
    )


async def test_it_is_looked_at_again_until_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A known result is not checked again."""
    monkeypatch.setattr(module, "LOOK_S", 0.0)
    kerberos = Kerberos({ONE: 1}, away=[ONE, OTHER])
    check = check_of(kerberos)
    await check.look()
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(check.run())
        kerberos.away.clear()
        while check.fault:  # noqa: ASYNC110 - what is waited for is a thread
            await asyncio.sleep(0)
        running.cancel()
    assert kerberos.made == 1
