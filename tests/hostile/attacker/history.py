"""One seeded history of an attacker, run and judged.

Two invariants, whatever the attacker sends: others' hits stay hits, and no answer differs from the NameNode's. The
third, that no reply reveals more than the NameNode's, compares two histories that differ only in hidden facts: every
reply about a path that the NameNode refuses to show must be equal.
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import unquote

from nncache.hadoop.calls import PREFIX
from nncache.proxy.clients.response import RawResponse
from tests.hostile.attacker.calls import ATTACKER, LAYOUT, PATHS, WATCHED, AttackCall, create, draw
from tests.hostile.attacker.upstream import OF_ANOTHER, AttackRequest, AttackUpstream, ServiceQueries
from tests.invalidation.virtual_time import clock, run
from tests.model import operations
from tests.model.channels import ChannelName
from tests.model.judge import Reported
from tests.model.replies import parts, unquoted
from tests.model.system import ModelSystem
from tests.model.writes import TwoSteps, Write, by, delete, mkdirs

ROUNDS: Final = 10
RECOVERY_S: Final = 12.0
"""Seconds in which the victims' hits return after their own change, or a fault that no client caused."""

_APPLIED_AFTER_S: Final = 4.0
"""Seconds after which the proxy knows every change."""

WARM_S: Final = 30.0
"""Seconds after which all polls are answered from memory."""

ZOOKEEPER_EVERY: Final = 7
"""One of this many histories uses the ZooKeeper channel, on which a history takes several times as long."""

PAIR_EVERY: Final = 4
"""One of this many seeds runs two histories, which must look the same to the attacker."""

MAX_WINDOWS: Final = 8
MAX_ENTRIES: Final = 80
FLOOD: Final = 24
SCAN: Final = 120
"""Paths that the attacker reads in turn: more than the cache can hold."""

GLOBS: Final = ("/p/*", "/p/w/*", "/h/*/w/*", "/h/*/w", "/t/*")
PRIVATE: Final = "/h/alice/"
_NEW: Final = "/h/alice/w/new"


class Broken(StrEnum):
    """The invariants that no attacker may break."""

    HITS_STAY_HITS = "others' hits stay hits"
    SAME_ANSWER = "no answer differs from the NameNode's"
    SAYS_NO_MORE = "no reply says more than the NameNode"
    BOUNDED_MEMORY = "no table grows beyond its bound"


@dataclass(frozen=True, slots=True)
class Finding:
    """A violated invariant, with a description."""

    broken: Broken
    what: str


@dataclass
class AttackHistory:
    """The outcome of a history."""

    seed: int
    channel: ChannelName
    calls: int = 0
    polls: int = 0
    hits: int = 0
    findings: list[Finding] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)


class _AttackedSystem(ModelSystem):
    upstream_class = AttackUpstream


class _WithoutRights(_AttackedSystem):
    queries_class = ServiceQueries


def tell(seed: int, *, channel: ChannelName | None = None) -> AttackHistory:
    """Run the history of a seed."""
    if channel is None:
        channel = ChannelName.ZOOKEEPER if seed % ZOOKEEPER_EVERY == 0 else ChannelName.DIRECT
    if seed % PAIR_EVERY:
        return _run(_Attack(seed, channel))
    reported = [_Attack(seed, channel, has_secret=has_secret) for has_secret in (False, True)]
    history, other = map(_run, reported)
    for without, with_secret in zip(reported[0].shown, reported[1].shown, strict=True):
        if without != with_secret:
            what = f"{with_secret} where it is {without} without a secret"
            history.findings.append(Finding(Broken.SAYS_NO_MORE, what))
    history.findings += other.findings
    history.calls += other.calls
    history.polls += other.polls
    history.hits += other.hits
    return history


def _run(attack: "_Attack") -> AttackHistory:
    random.seed(attack.history.seed)  # parts of the product draw from the module's global generator
    run(attack.story())
    return attack.history


class _Attack:
    """A history in progress.

    Attributes:
        shown: each call for a path hidden from the attacker, with the proxy's own part of the reply.
    """

    def __init__(self, seed: int, channel: ChannelName, *, has_secret: bool | None = None) -> None:
        self.history = AttackHistory(seed, channel)
        self.shown: list[str] = []
        self._chance = random.Random(seed)
        self._has_secret = has_secret  # None: the histories are not compared
        self._disturbed_at = 0.0
        self._sent: list[str] = []  # since the last poll

    async def story(self) -> None:
        """Run the history."""
        is_direct = self.history.channel is ChannelName.DIRECT
        self._system = (_AttackedSystem if is_direct else _WithoutRights)(
            random.Random(self.history.seed),
            self.history.channel,
            layout=LAYOUT,
            globs=GLOBS,
            max_two_step_windows=MAX_WINDOWS,
            max_cache_entries=MAX_ENTRIES,
            two_step_window_s=600.0,
        )
        async with self._system:
            if await self._is_warm(WARM_S):
                for number in range(ROUNDS):
                    await self._round(number)
                    if self.history.findings:
                        break
            self._system.queries.is_silent = False
        for violation in self._system.judge.violations:
            self._found(Broken.SAME_ANSWER, f"{violation.guarantee}: {violation.what}")

    async def _round(self, number: int) -> None:
        self._sent = []
        if self._has_secret is not None:
            await self._keep_secret(number)
            for _ in range(3):
                await self._send(draw(self._chance, [path for path in PATHS if path.startswith(PRIVATE)]))
            await asyncio.sleep(1.0)
            return
        match self._chance.randrange(12):
            case 0:
                await asyncio.gather(*(self._send(create(place)) for place in self._places()))
                self.history.kinds["flood"] += 1
            case 1:
                await self._upload()
            case 2:
                self._make_an_odd_name(number)
            case 3:
                await self._hiccup()
            case 4:
                await self._change()
            case 5:
                for number_read in range(SCAN):
                    await self._send(_status(f"/t/z{number}-{number_read}"))
                self.history.kinds["scan"] += 1
            case _:
                calls = [draw(self._chance, PATHS) for _ in range(1 + self._chance.randrange(4))]
                await asyncio.gather(*map(self._send, calls))
        await asyncio.sleep(self._chance.choice((0.01, 0.3, 1.0)))
        await self._poll()
        self._check_bounds()

    # -- the attacker ----------------------------------------------------------------------------------------

    async def _send(self, call: AttackCall) -> None:
        """Send a call, and judge that its answer is the NameNode's."""
        self._sent.append(str(call))
        self.history.calls += 1
        self.history.kinds[call.op or "odd"] += 1
        system, started = self._system, clock()
        request = AttackRequest(call.method, call.target, call.fields, call=call)
        try:
            response = await system.front_end.handle(request)  # type: ignore[arg-type]  # all that it uses
        except Exception as error:  # noqa: BLE001 - any failure is a violation
            self._found(Broken.SAME_ANSWER, f"{call}: raised {error!r}")
            return
        assert isinstance(response, RawResponse)
        fields, answer = parts(response)
        (made,) = (value for name, value in fields if name == b"Cache-Status")
        if answer.status != 200 and call.path is not None and call.path.startswith(PRIVATE):
            self.shown.append(f"{call}: {answer.status} {made.decode()}")
        if request.answers:
            if request.answers != [answer]:
                self._found(Broken.SAME_ANSWER, f"{call}: {answer}, but the NameNode said {request.answers}")
        elif call.is_odd:
            if answer != OF_ANOTHER:
                self._found(Broken.SAME_ANSWER, f"{call}: {answer}")
        elif call.path is not None:
            spelled = unquote(call.target.partition("?")[0].removeprefix(PREFIX))
            answer = unquoted(answer, call.path, spelled)
            system.judge.read(
                Reported(
                    path=call.path, user=ATTACKER, started=started, answer=answer, fields=fields, made=made
                )
            )

    def _places(self) -> list[str]:
        tops = [self._chance.choice(PATHS) for _ in range(2)]
        return [f"{self._chance.choice(tops)}/n{number}/x" for number in range(FLOOD)]

    async def _upload(self) -> None:
        """Write a file of the attacker's, in both steps, below a directory that is still missing."""
        path = f"/h/{ATTACKER}/up{self._chance.randrange(3)}/x"
        self._sent.append(f"both steps of a CREATE of {path}")
        self.history.calls += 1
        self.history.kinds["upload"] += 1
        kind = TwoSteps("PUT", "op=CREATE", operations.create, ATTACKER)
        await self._system.write_in_two_steps(kind, path, takes_s=0.2)

    def _make_an_odd_name(self, number: int) -> None:
        """Create a directory over RPC with a NUL in its name."""
        path = f"/t/{number}\0"
        self._sent.append(f"mkdirs of {path!r} over RPC")
        self.history.calls += 1
        self.history.kinds["odd name"] += 1
        self._system.cluster.try_write(by(ATTACKER, operations.mkdirs, path))

    # -- all other users -------------------------------------------------------------------------------------

    async def _hiccup(self) -> None:
        """Stop the NameNode's replies over RPC for a moment, during which the attacker writes."""
        self._system.queries.is_silent = True
        await self._send(create(f"/h/{ATTACKER}/n/x"))
        self._system.queries.is_silent = False
        self.history.kinds["hiccup"] += 1
        self._disturbed_at = clock()
        self._sent.append("(while the NameNode's RPC was silent)")
        await self._is_warm(RECOVERY_S)

    async def _change(self) -> None:
        """Let alice change something of her own, through the proxy or past it."""
        if self._chance.random() < 0.5:
            self._system.cluster.try_write(self._made_or_deleted().operation)
        else:
            await self._system.write(self._made_or_deleted())
        self.history.kinds["change of a victim"] += 1
        self._disturbed_at = clock()
        await asyncio.sleep(_APPLIED_AFTER_S)
        await self._is_warm(RECOVERY_S)

    def _made_or_deleted(self) -> Write:
        is_new = _NEW not in self._system.cluster.present.namespace
        return mkdirs(_NEW, "alice") if is_new else delete(_NEW, "alice")

    async def _keep_secret(self, number: int) -> None:
        """Do something that the attacker may not know of, if this history has a secret."""
        if not self._has_secret:
            return
        chance = random.Random(self.history.seed * ROUNDS + number)
        for path in ("/h/alice/w", "/h/alice/w/f", "/h/alice/w/_SUCCESS", _NEW):
            if chance.random() < 0.7:
                await self._system.read(path, "alice")
        match chance.randrange(4):
            case 0:
                self._system.cluster.try_write(self._made_or_deleted().operation)
            case 1:
                path = chance.choice(("/h/alice/w/_SUCCESS", "/h/alice/w/none/deeper"))
                request = AttackRequest("PUT", f"{PREFIX}{path}?op=CREATE&user.name=alice", call=create(path))
                await self._system.front_end.handle(request)  # type: ignore[arg-type]  # as above

    async def _poll(self) -> None:
        is_calm = clock() - self._disturbed_at > RECOVERY_S
        for user, path in WATCHED:
            reported = await self._system.read(path, user)
            self.history.polls += 1
            is_hit = reported is not None and reported.is_from_memory
            self.history.hits += is_hit
            if not is_hit and is_calm:
                made = reported.made.decode() if reported is not None else "no answer"
                self._found(
                    Broken.HITS_STAY_HITS, f"{path} for {user}: {made} after: {'; '.join(self._sent)}"
                )

    async def _is_warm(self, within_s: float) -> bool:
        """Poll until every poll is a hit; return whether that took no longer than `within_s`."""
        until = clock() + within_s
        while True:
            reported = [await self._system.read(path, user) for user, path in WATCHED]
            if all(each is not None and each.is_from_memory for each in reported):
                self._disturbed_at = 0.0
                return True
            if clock() >= until:
                what = ", ".join(
                    f"{path} for {user}: {each.made.decode() if each else 'no answer'}"
                    for (user, path), each in zip(WATCHED, reported, strict=True)
                    if each is None or not each.is_from_memory
                )
                self._found(
                    Broken.HITS_STAY_HITS, f"not back after {within_s:g} s: {what}; {'; '.join(self._sent)}"
                )
                return False
            await asyncio.sleep(1.0)

    def _check_bounds(self) -> None:
        stats = self._system.cache.stats(clock())
        for held, bound in ((stats.windows, MAX_WINDOWS), (stats.entries, MAX_ENTRIES)):
            if held > bound:
                self._found(Broken.BOUNDED_MEMORY, f"{held} where {bound} are allowed, after {self._sent}")

    def _found(self, broken: Broken, what: str) -> None:
        self.history.findings.append(Finding(broken, what))


def _status(path: str) -> AttackCall:
    target = f"{PREFIX}{path}?op=GETFILESTATUS&user.name={ATTACKER}"
    return AttackCall(method="GET", target=target, path=path, op="GETFILESTATUS")
