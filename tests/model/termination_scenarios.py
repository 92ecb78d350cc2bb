"""Attempts to be answered as another user at a proxy that authenticates its clients itself.

In each scenario alice gets from memory what she alone may see; then another credential is tried.
"""

import asyncio
import json
from asyncio import sleep
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from nncache.hadoop.calls import PREFIX
from nncache.proxy.cache_status import NOT_ADMITTED
from nncache.proxy.messages import Header, Headers
from tests.invalidation.virtual_time import clock
from tests.model import operations
from tests.model.acts import Simulation
from tests.model.draws import Draw
from tests.model.guarantee import Guarantee
from tests.model.judge import Reported
from tests.model.keeping import ModelConnection
from tests.model.known_credentials import INVALID_TOKEN
from tests.model.namespace import NameNodeReply
from tests.model.scenario_setup import GAPS_S, SETTLED_S, behind, in_sight
from tests.model.system import ModelSystem
from tests.model.terminated import FOREIGN_KEY, GATE, KEY, OLD_KEY, Terminated
from tests.model.upstream import ClientRequest

DIRECTORY: Final = "/a/b"
PATH: Final = "/a/b/f"
CLOSED_S: Final = 5.0
"""The time in seconds after the directory was closed by which no one else may see its earlier contents."""
COOKIE_S: Final = 8.0
TICK_S: Final = 0.002
"""The uncertainty of a cookie's expiry, which is in milliseconds."""


@dataclass
class Setting:
    """The state in which each scenario starts."""

    system: ModelSystem
    door: Terminated
    gap_s: float
    is_kept: bool

    async def ask(self, user: str | None, *fields: Header, query: str = "", remote: str = "10.0.0.9") -> None:
        """Read as the user that the proxy must authenticate; None: the proxy must authenticate no one."""
        target = f"{PREFIX}{PATH}?op=GETFILESTATUS{query}"
        request = ClientRequest("GET", target, fields, remote, door=self.door)
        reported = await self.system.answer_to(request, PATH, user or "", PATH)
        if reported is None:
            return
        judge = self.system.judge
        if reported.made == NOT_ADMITTED[1]:
            if user is not None:
                judge.failed(PATH, f"{user} was not let in: {reported}")
        elif user is None and (
            reported.is_from_memory or "delegation=" not in query
        ):  # the NameNode checks a token
            judge.say(Guarantee.PROVEN_GRANT, f"nobody was let in with {fields}: {reported}")
        elif user is not None and reported.is_from_memory:
            judge.read(
                replace(reported, fields=tuple(field for field in reported.fields if not _is_ours(field)))
            )
        if any(name == b"Set-Cookie" and b"u=nncache&" in value for name, value in reported.fields):
            judge.say(Guarantee.PROVEN_GRANT, f"a client has the service's own cookie: {reported}")

    async def see(
        self, *fields: Header, query: str = "", remote: str = "10.0.0.9", ends_at: float = inf
    ) -> None:
        """Fill the cache with alice's answer and read it; a cookie may expire during a slow call."""
        for _ in range(3):
            if clock() < ends_at - TICK_S:
                await self.ask("alice", *fields, query=query, remote=remote)
            await sleep(self.gap_s)

    async def wait(self, *fields: Header, query: str = "", wait_s: int) -> Reported | None:
        """Wait as alice for a changed answer; some connections hold the request without its task."""
        target = f"{PREFIX}{PATH}?op=GETFILESTATUS{query}"
        inode = self.system.cluster.present.namespace.get(PATH)
        known: Headers = () if inode is None else ((b"If-None-Match", b"*"),)
        extra_fields = (*fields, (b"Prefer", b"wait=%d" % wait_s), *known)
        connection = ModelConnection(may_hold=self.is_kept)
        request = ClientRequest("GET", target, extra_fields, door=self.door, connection=connection)
        return await self.system.answer_to(request, PATH, "alice", PATH)

    async def end_a_wait(
        self, end: Callable[[], Awaitable[None]], *fields: Header, query: str = "", wait_s: int = 20
    ) -> None:
        """End alice's credential while she waits: she must then get no answer from memory."""
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(self.wait(*fields, query=query, wait_s=wait_s))
            await sleep(self.gap_s + SETTLED_S)
            was_held = self.door.front_end.waits.waiting > 0
            await end()
            reported = await waiting
        if reported is None or not was_held or reported.made == NOT_ADMITTED[1]:
            return
        if reported.is_from_memory or not query:
            self.system.judge.say(
                Guarantee.PROVEN_GRANT, f"a wait was answered whose credential had ended: {reported}"
            )


def _is_ours(field: Header) -> bool:
    """Whether the proxy itself adds this field for the client's ticket."""
    name, value = field
    return name == b"WWW-Authenticate" or (name == b"Set-Cookie" and b"&t=nncache&" in value)


async def forge(s: Setting) -> None:
    """Cookies signed with another key, or no cookie, authenticate no one."""
    await s.see(s.door.cookie("alice"))
    await s.ask(None, s.door.cookie("alice", key=FOREIGN_KEY))
    await s.ask("bob", s.door.cookie("bob"), query="&user.name=alice")
    await s.ask(None)
    await s.ask(None, query="&user.name=alice")


async def outlive(s: Setting) -> None:
    """A remembered request expires with its cookie."""
    ends_at = clock() + COOKIE_S
    alice = s.door.cookie("alice", lives_s=COOKIE_S)
    await s.see(alice, ends_at=ends_at)
    await sleep(max(TICK_S, ends_at + TICK_S - clock()))
    await s.ask(None, alice)


async def retire_a_key(s: Setting) -> None:
    """A cookie is refused after its key is retired."""
    alice = s.door.cookie("alice", key=OLD_KEY)
    await s.see(alice)
    s.door.write_keys(KEY)
    s.door.keys.look()
    await s.ask(None, alice)
    await s.ask("alice", s.door.cookie("alice"))


async def act_for_alice(s: Setting) -> None:
    """Impersonation needs a rule and a permitted host, which `X-Forwarded-For` does not change."""
    await s.see(s.door.cookie("alice"))
    await s.ask(None, s.door.cookie("mallory"), query="&doas=alice")
    await s.ask("alice", s.door.cookie("knox"), query="&doas=alice", remote=GATE)
    await s.ask(None, s.door.cookie("knox"), query="&doas=alice")
    await s.ask(None, s.door.cookie("knox"), (b"X-Forwarded-For", GATE.encode()), query="&doas=alice")


async def act_from_another_host(s: Setting) -> None:
    """A proxy user may not repeat a request from a host that the rule does not permit."""
    knox = s.door.cookie("knox")
    await s.see(knox, query="&doas=alice", remote=GATE)
    await s.ask(None, knox, query="&doas=alice")


async def negotiate(s: Setting) -> None:
    """A ticket takes precedence over a cookie, and a used ticket is refused."""
    await s.see(s.door.cookie("alice"))
    await s.ask("bob", s.door.cookie("alice", key=FOREIGN_KEY), s.door.ticket("bob"))
    await s.ask("alice", s.door.cookie("alice"), s.door.ticket("bob"))
    used = s.door.ticket("alice")
    await s.ask("alice", used)
    await s.ask(None, used)


async def take_a_token(s: Setting) -> None:
    """A token works immediately after it was issued, and not after it was cancelled."""
    await s.see(s.door.cookie("alice"))
    token = await _token(s)
    for _ in range(2):
        await s.ask("alice", query=f"&delegation={token}")
    s.system.upstream.known_credentials.cancel(token)
    await _call(s, "PUT", f"/?op=CANCELDELEGATIONTOKEN&token={token}", NameNodeReply(200, b""))
    await s.ask(None, query=f"&delegation={token}")


async def wait_past_a_key(s: Setting) -> None:
    """A wait with a cookie ends without an answer from memory when its key is retired."""
    alice = s.door.cookie("alice", key=OLD_KEY)
    await s.see(alice)

    async def retire() -> None:
        s.door.write_keys(KEY)
        s.door.keys.look()

    await s.end_a_wait(retire, alice)


async def wait_past_a_cookie(s: Setting) -> None:
    """A wait with a cookie ends without an answer from memory when the cookie expires."""
    await s.see(s.door.cookie("alice"))
    lives_s = s.gap_s + SETTLED_S + 1.0

    async def outlived() -> None:
        await sleep(1.0 + TICK_S)

    await s.end_a_wait(outlived, s.door.cookie("alice", lives_s=lives_s))


async def _token(s: Setting) -> str:
    """Issue a token to alice, through the proxy."""
    token = s.system.upstream.known_credentials.token("alice")
    body = json.dumps({"Token": {"urlString": token}}).encode()
    await _call(s, "GET", "/?op=GETDELEGATIONTOKEN", NameNodeReply(200, body))
    return token


async def wait_past_a_token(s: Setting) -> None:
    """A wait with a token ends without an answer from memory when the token is cancelled."""
    await s.see(s.door.cookie("alice"))
    token = await _token(s)

    async def cancel() -> None:
        s.system.upstream.known_credentials.cancel(token)
        await _call(s, "PUT", f"/?op=CANCELDELEGATIONTOKEN&token={token}", NameNodeReply(200, b""))

    await s.end_a_wait(cancel, query=f"&delegation={token}", wait_s=5)


async def wait_beside_a_token(s: Setting) -> None:
    """A refusal of one caller's token, cancelled through another proxy, does not end a wait with a cookie."""
    await s.see(s.door.cookie("alice"))
    token = await _token(s)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(s.wait(query=f"&delegation={token}", wait_s=5))
        await sleep(TICK_S)
        by_cookie = tasks.create_task(s.wait(s.door.cookie("alice"), wait_s=5))
        await sleep(s.gap_s)
        s.system.upstream.known_credentials.cancel(token)
        behind(s.system, operations.set_permission, DIRECTORY, 0o700)
        reported = await by_cookie
    if reported is not None and reported.answer == INVALID_TOKEN:
        s.system.judge.failed(PATH, f"a cookie was refused for a token: {reported}")


async def _call(s: Setting, method: str, target: str, answer: NameNodeReply) -> None:
    fields = (s.door.cookie("alice"),)
    request = ClientRequest(method, f"{PREFIX}{target}", fields, answer=answer, door=s.door)
    await s.system.call(request, target)


SCENARIOS: Final[tuple[Callable[[Setting], Awaitable[None]], ...]] = (
    forge,
    outlive,
    retire_a_key,
    act_for_alice,
    act_from_another_host,
    negotiate,
    take_a_token,
    wait_past_a_key,
    wait_past_a_cookie,
    wait_past_a_token,
    wait_beside_a_token,
)


async def terminate(simulation: Simulation, number: int) -> None:
    """Run one of the scenarios."""
    draw, system = Draw(number), simulation.system
    scenario, gap_s, is_kept = SCENARIOS[draw.of(len(SCENARIOS))], GAPS_S[draw.of(4)], bool(draw.of(2))
    simulation.features.add("termination")
    in_sight(system, DIRECTORY, 0o700)
    behind(system, operations.set_permission, DIRECTORY, 0o700)
    await sleep(CLOSED_S)
    async with Terminated(system) as door:
        await scenario(Setting(system, door, gap_s, is_kept))
