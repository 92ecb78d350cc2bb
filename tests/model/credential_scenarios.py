"""Attempts to be answered as another user, or with a credential that is no longer valid.

In each scenario alice's reads are answered from memory by her credential; then another credential is tried.
`tests/model/known_credentials.py` knows the NameNode's reply to it, and memory must give no other.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from nncache.hadoop.calls import PREFIX
from nncache.proxy.messages import Header
from tests.invalidation.virtual_time import clock
from tests.model import operations
from tests.model.acts import Simulation
from tests.model.draws import USERS, Draw
from tests.model.judge import MAX_STALENESS_S
from tests.model.known_credentials import KnownCredentials
from tests.model.namespace import NameNodeReply
from tests.model.scenario_setup import GAPS_S, SETTLED_S, behind, in_sight
from tests.model.system import ModelSystem
from tests.model.upstream import ClientRequest

DIRECTORY: Final = "/a/b"
PATH: Final = "/a/b/f"
OTHER: Final = "/a/b/g"
_CHANGES: Final = 5
_DONE: Final = NameNodeReply(200, b"")


@dataclass
class Setting:
    """The state in which each scenario starts: only alice may reach the path."""

    system: ModelSystem
    gap_s: float

    @property
    def known_credentials(self) -> KnownCredentials:
        """The credentials that the NameNode accepts."""
        return self.system.upstream.known_credentials

    async def ask(self, user: str | None, *fields: Header, query: str = "", path: str = PATH) -> None:
        """Read a path as the user whom the NameNode sees; None: it accepts no credential of the request."""
        await self.system.read_with(path, query, fields, user=user)

    async def wait(self, user: str) -> None:
        """Wait for the other file, as a user known by a cookie of a kind that the proxy does not know."""
        fields = _field(b"hadoop-jwt=%b" % user.encode()), (b"Prefer", b"wait=5")
        request = ClientRequest("GET", f"{PREFIX}{OTHER}?op=GETFILESTATUS", fields)
        reported = await self.system.answer_to(request, OTHER, user, OTHER)
        if reported is not None:
            self.system.judge.read(replace(reported, is_shared=True))

    async def settle(self) -> None:
        """Wait until entries may be served to every user with a right."""
        await asyncio.sleep(SETTLED_S)


def _field(*cookies: bytes) -> Header:
    return b"Cookie", b"; ".join(cookies)


async def forge(s: Setting) -> None:
    """A forged cookie for alice, or alice's cookie after bob's, does not make the caller alice."""
    alice, bob = s.known_credentials.cookie("alice"), s.known_credentials.cookie("bob")
    for _ in range(2):
        await s.ask("alice", _field(alice))
    await s.ask(None, _field(s.known_credentials.forged("alice")))
    await s.ask("bob", _field(bob))
    await s.ask("bob", _field(bob), query="&user.name=alice")
    await s.ask("bob", _field(bob, alice))
    await s.ask("bob", _field(bob), _field(alice))
    await s.ask("", query="&user.name=")
    await s.ask("")


async def name_alice(s: Setting) -> None:
    """`user.name=alice` gives no right of alice to a request that carries another credential."""
    bob = s.known_credentials.cookie("bob")
    for _ in range(2):
        await s.ask("alice", query="&user.name=alice")
    await s.ask("bob", _field(bob), query="&user.name=alice")
    await s.ask(None, _field(s.known_credentials.forged("alice")), query="&user.name=alice")
    await s.ask("bob", query=f"&user.name=alice&delegation={s.known_credentials.token('bob')}")
    await s.ask(None, query="&delegation=zzz&user.name=alice")


async def negotiate(s: Setting) -> None:
    """Send a forged cookie with a ticket: the NameNode uses the ticket, and nothing proves the cookie."""
    forged, ticket = s.known_credentials.forged("bob"), (b"Authorization", b"Negotiate alice")
    for _ in range(2):
        await s.ask("alice", _field(forged), ticket)
    await s.ask(None, _field(forged))


async def bring_another_cookie(s: Setting) -> None:
    """A cookie of an unknown kind authenticates its user; a request without it is another caller."""
    for _ in range(2):
        await s.ask("alice", _field(b"hadoop-jwt=alice"))
    await s.ask("")


async def wait_beside_another_cookie(s: Setting) -> None:
    """Wait for a file as two users with cookies of one unknown kind, until one of them loses the right."""
    behind(s.system, operations.set_permission, DIRECTORY, 0o755)
    behind(s.system, operations.delete, OTHER)
    await s.settle()
    before_s, s.system.call_takes_s = s.system.call_takes_s, 0.5
    waiting = [s.system.come(s.wait(user)) for user in USERS]
    for mode in (*(0o711, 0o755) * _CHANGES, 0o700):
        await asyncio.sleep(0.1)  # each answer is out of date when it arrives, so it ends no wait
        behind(s.system, operations.set_permission, DIRECTORY, mode)
    await asyncio.wait(waiting)
    s.system.call_takes_s = before_s


async def outlive(s: Setting) -> None:
    """A cookie is refused after its expiry."""
    alice = s.known_credentials.cookie("alice", lives_s=8.0)
    for _ in range(3):
        await s.ask("alice", _field(alice))
        await asyncio.sleep(s.gap_s)
    await asyncio.sleep(8.0)
    await s.ask(None, _field(alice))


async def be_renewed(s: Setting) -> None:
    """The NameNode renews a cookie in each reply: an answer from memory would withhold the new one."""
    alice = s.known_credentials.cookie("alice", is_renewed=True)
    for _ in range(3):
        reported = await s.system.read_with(PATH, "", (_field(alice),), user="alice")
        if reported is not None and reported.is_from_memory:
            s.system.judge.failed(PATH, "a reply without the cookie that would renew the client's")


async def cancel(s: Setting) -> None:
    """A token that was cancelled through the proxy is refused in every directory where it was used."""
    token = s.known_credentials.token("alice")
    for path in (PATH, OTHER, PATH, OTHER):
        await s.ask("alice", query=f"&delegation={token}", path=path)
    await s.settle()
    await s.ask("alice", query=f"&delegation={token}")
    s.known_credentials.cancel(token)
    await s.system.call_that_changes_nothing("PUT", f"/?op=CANCELDELEGATIONTOKEN&token={token}", _DONE)
    for path in (PATH, OTHER):
        await s.ask(None, query=f"&delegation={token}", path=path)


async def cancel_meanwhile(s: Setting) -> None:
    """A token that is cancelled while the reply to its first read is in flight gets no grant."""
    token, before_s = s.known_credentials.token("alice"), s.system.call_takes_s
    s.system.call_takes_s = 2.0
    first = s.system.come(s.ask("alice", query=f"&delegation={token}"))
    await asyncio.sleep(1.2)
    s.system.call_takes_s = before_s
    s.known_credentials.cancel(token)
    await s.system.call_that_changes_nothing("PUT", f"/?op=CANCELDELEGATIONTOKEN&token={token}", _DONE)
    await s.ask(None, query=f"&delegation={token}")
    await asyncio.wait((first,))
    await s.ask(None, query=f"&delegation={token}")


async def change_secret(s: Setting) -> None:
    """After the NameNode's secret has changed and a cookie was refused once, it is refused everywhere."""
    alice = s.known_credentials.cookie("alice")
    for _ in range(2):
        await s.ask("alice", _field(alice))
    s.known_credentials.change_secret()
    if s.system.cache.why_no_trace(OTHER, clock()) is not None:
        return  # the cache inspects no reply that is passed through
    reported = await s.system.read_with(
        OTHER, "", (_field(alice), (b"Cache-Control", b"no-cache")), user="alice"
    )
    if reported is not None and reported.answer.status == 401:
        await s.ask(None, _field(alice))


async def act_for_others(s: Setting) -> None:
    """A proxy user's cookie reads for alice, bob and itself, each time with that user's rights only."""
    knox = s.known_credentials.cookie("knox")
    for _ in range(2):
        await s.ask("alice", _field(knox), query="&doas=alice")
    await s.ask("bob", _field(knox), query="&doas=bob")
    await s.ask("knox", _field(knox))
    await s.ask(None, _field(s.known_credentials.cookie("mallory")), query="&doas=alice")


async def act_as_knox(s: Setting) -> None:
    """Name the user in `doAs`, as Apache Knox does: some releases ignore it and answer for the proxy user."""
    is_asked_as = "alice" if s.known_credentials.reads_any_doas else "knox"
    await asyncio.sleep(MAX_STALENESS_S)  # the time when the directory was open no longer explains an answer
    for _ in range(2):
        await s.ask("alice", query="&user.name=knox&doas=alice")
        for name in ("doAs", "DOAS"):
            await s.ask(is_asked_as, query=f"&user.name=knox&{name}=alice")
    await s.ask("knox", query="&user.name=knox")
    await s.ask("alice", query="&user.name=alice")


SCENARIOS: Final[tuple[Callable[[Setting], Awaitable[None]], ...]] = (
    forge,
    name_alice,
    negotiate,
    bring_another_cookie,
    wait_beside_another_cookie,
    outlive,
    be_renewed,
    cancel,
    cancel_meanwhile,
    change_secret,
    act_for_others,
    act_as_knox,
)


async def steal(simulation: Simulation, number: int) -> None:
    """Run one of the scenarios."""
    draw, system = Draw(number), simulation.system
    scenario, setting = SCENARIOS[draw.of(len(SCENARIOS))], Setting(system, GAPS_S[draw.of(4)])
    simulation.features.add("credential")
    in_sight(system, DIRECTORY, 0o700)
    behind(system, operations.set_permission, DIRECTORY, 0o700)
    await setting.settle()
    await scenario(setting)
