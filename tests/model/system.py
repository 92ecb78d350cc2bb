"""A proxy in virtual time: the product's own front end, cache, consumer and stream before model NameNodes.

Models replace the network to the NameNode (`tests/model/upstream.py`), the NameNode itself, and ZooKeeper's wire.
Clients are tasks; each reply is judged when its client gets it.
"""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Self, cast
from urllib.parse import unquote

from nncache.cache import CacheSettings
from nncache.hadoop.calls import PREFIX
from nncache.hadoop.change import EverythingUnknown, Footprint
from nncache.invalidation.consumer import Consumer
from nncache.proxy.clients.request import CallInFlight
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.decide.direct_calls import DirectCalls
from nncache.proxy.decide.front_end import FrontEnd
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import Header, Headers
from nncache.proxy.settings import ProxySettings
from tests.invalidation.fakes import FakePool
from tests.invalidation.virtual_time import clock
from tests.model import operations, unprivileged_calls
from tests.model.channels import CHANNELS, GLOBS, ChannelName, polling
from tests.model.cluster import Cluster, Version, Writing
from tests.model.draws import Follows, normal
from tests.model.exceptions import Exceptions
from tests.model.guarantee import Guarantee
from tests.model.judge import Judge, Reported
from tests.model.namespace import SUPERUSER, NameNodeReply
from tests.model.replies import Remembered, made, parts, unquoted
from tests.model.unprivileged_calls import UnprivilegedCall
from tests.model.upstream import ClientRequest, Door, ModelQueries, ModelUpstream, ended
from tests.model.watched_cache import WatchedCache
from tests.model.writes import TwoSteps, Write, by

PROBE_S: Final = 1.0
TWO_STEP_WINDOW_S: Final = 30.0

PATIENCE_S: Final = 600.0
"""The time in seconds, without new faults, after which every client has an answer."""

LAYOUT: Final[Mapping[str, tuple[bool, str, int]]] = {
    "/a": (True, "alice", 0o755),
    "/a/b": (True, "alice", 0o711),
    "/a/b/f": (False, "alice", 0o644),
    "/c": (True, "bob", 0o777),
    "/c/f": (False, "bob", 0o600),
}


class ModelSystem:
    """The whole system, as an async context manager."""

    upstream_class: type[ModelUpstream] = ModelUpstream
    queries_class: type[ModelQueries] = ModelQueries

    def __init__(
        self,
        chance: random.Random,
        channel: ChannelName,
        *,
        layout: Mapping[str, tuple[bool, str, int]] = LAYOUT,
        globs: Sequence[str] = GLOBS,
        poll_interval_s: float = 0.2,
        has_standby: bool = True,
        two_step_query_timeout_s: float = 10.0,
        **settings: Any,
    ) -> None:
        """Create the parts.

        Args:
            chance: determines the duration of calls and the jitter of retries.
            channel: the channel by which changes arrive.
            layout: the initial namespace.
            globs: the paths that may be answered from memory.
            poll_interval_s: between two polls of the edits while nothing changes.
            has_standby: a second NameNode can take over.
            two_step_query_timeout_s: how long a redirect waits to know what its second step can create.
            settings: of the cache, where they differ from these.
        """
        self.chance = chance
        self.call_takes_s = 0.001  # maximum for each half of a call to the NameNode
        self.cluster = Cluster(clock, layout, has_standby=has_standby)
        self.pool = FakePool(clock, *self.cluster.namenodes)
        cached = CacheSettings(**{"glob": globs, "two_step_window_s": TWO_STEP_WINDOW_S, **settings})
        self.cache = WatchedCache(cached)
        self.channel = CHANNELS[channel](self.cluster, self.pool, polling(poll_interval_s), globs)
        self.judge = Judge(self.cluster, self.cache, self.pool, clock)
        self.judge.has_all_events = self.channel.tells_each_event
        self.cache.at_first_sight = self.channel.at_first_sight
        self.cache.on_cost = self._cost
        self.consumer = Consumer(self.cache, self.channel.stream, clock, chance=chance.random)
        self.queries = self.queries_class(self.cluster, self._takes_s)
        self.fast_path = Remembered(self.cache.is_good)
        self.door: Door = self  # the entrance of its clients
        self._tasks = asyncio.TaskGroup()
        self.upstream = self.upstream_class(self.cluster, self.pool, clock, self._takes_s, self._tasks)
        self.judge.user_of = self.upstream.known_credentials.user_of
        proxy = ProxySettings(two_step_query_timeout_s=two_step_query_timeout_s)
        self.exceptions = Exceptions(
            self.cluster,
            self.cache,
            self.queries,
            proxy.namenode_query_timeout_s,
            cached.max_two_step_windows,
        )
        self.front_end = FrontEnd(self.cache, self.upstream, self.queries, self.consumer, proxy, clock)
        self.front_end.answers.remember = self.fast_path.remember
        calls = DirectCalls(self.front_end, self.cache, cast("Any", self.upstream), clock)
        self._server = Server(self.front_end.handle, cast("Any", None), LimitSettings(), calls)
        self._reads = 0  # every second one starts without a task
        self._background: list[asyncio.Task[Any]] = []
        self._clients: dict[asyncio.Task[Any], None] = {}  # in order of arrival

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        await self.front_end.__aenter__()
        self.pool.probe()
        self.channel.start(self._tasks)
        self._background = [
            self._tasks.create_task(self.consumer.run()),
            self._tasks.create_task(self._probe()),
        ]
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.clients_left()
        for task in self._background:
            task.cancel()
        await self.channel.stop()
        await self.front_end.__aexit__(None, None, None)
        await self._tasks.__aexit__(None, None, None)

    def _takes_s(self) -> float:
        return self.chance.random() * self.call_takes_s

    async def _probe(self) -> None:
        while True:
            self.pool.probe()
            await asyncio.sleep(PROBE_S)

    def of(self, _path: str) -> "ModelSystem":
        """Return the system of a path: this one, unless there are several (`tests/model/federation.py`)."""
        return self

    # -- clients -------------------------------------------------------------------------------------------------------

    def come(self, client: Any) -> asyncio.Task[Any]:
        """Start a client's task."""
        task = self._tasks.create_task(client)
        self._clients[task] = None
        task.add_done_callback(self._clients.pop)
        return task

    def hang_up(self, number: int) -> None:
        """Cancel one of the waiting clients, as if it had left."""
        waiting = [task for task in self._clients if not task.done()]
        if waiting:
            waiting[number % len(waiting)].cancel()

    async def clients_left(self) -> None:
        """Wait until all clients have left; a client without an answer is a violation."""
        deadline = clock() + PATIENCE_S
        while self._clients:
            _, waiting = await asyncio.wait(self._clients, timeout=max(0.0, deadline - clock()))
            if waiting and clock() >= deadline:
                self.judge.failed("", f"{len(waiting)} clients have no answer after {PATIENCE_S:g} s")
                for task in waiting:
                    task.cancel()
                deadline += PATIENCE_S

    async def read(
        self, path: str, user: str, *, refresh: bool = False, spelled: str | None = None
    ) -> Reported | None:
        """Read a status as a client, and judge the answer. Return None if there was none.

        The path may be spelled with extra slashes: a 404 must quote that spelling.
        """
        here = self.of(path)
        spelled = spelled or path
        extra_fields: tuple[Header, ...] = ((b"Cache-Control", b"no-cache"),) if refresh else ()
        request = ClientRequest("GET", f"{PREFIX}{spelled}?op=GETFILESTATUS&user.name={user}", extra_fields)
        reported = await here.answer_to(request, path, user, spelled)
        if reported is None:
            return None
        here.judge.read(reported)
        if refresh and reported.is_from_memory:
            here.judge.say(
                Guarantee.BOUNDED, f"{path} is answered from memory to whoever wants the NameNode's word"
            )
        return reported

    async def read_with(
        self, path: str, query: str, headers: Headers, *, user: str | None
    ) -> Reported | None:
        """Read a status with credentials; `user` is the caller that a NameNode sees, None if it accepts none.

        Only answers from memory are judged: the NameNode's own depend on the store of known credentials.
        """
        here = self.of(path)
        request = ClientRequest("GET", f"{PREFIX}{path}?op=GETFILESTATUS{query}", headers)
        reported = await here.answer_to(request, path, user or "", path)
        if reported is not None and reported.is_from_memory:
            if user is None:
                here.judge.say(
                    Guarantee.PROVEN_GRANT,
                    f"{path} is answered from memory to who is not authenticated: {reported}",
                )
            else:
                here.judge.read(reported)
        return reported

    async def answer_to(self, request: ClientRequest, path: str, user: str, spelled: str) -> Reported | None:
        """Send a read, through the fast path if it knows the request; return None if there was no answer."""
        started = clock()
        known = (request.door or self.door).fast_path.answer(request)
        if known is None:
            response = await self.call(request, path)
            if response is None:
                return None
            known = parts(response)
        fields, answer = known
        answer = unquoted(answer, path, spelled)
        return Reported(
            path=path, user=user, started=started, answer=answer, fields=fields, made=made(fields)
        )

    async def write(self, write: Write) -> Writing | None:
        """Change something through the proxy, in one step."""
        here = self.of(write.path)
        path, target = write.path, f"{PREFIX}{write.path}?{write.query}&user.name={write.user}"
        began, filters, began_at = here.exceptions.last_known(), here.channel.filters_changed, clock()
        request = ClientRequest(write.method, target, operation=write.operation)
        response = await here.call(request, path)
        writing = request.writing
        if writing is not None:
            if response is not None:
                _end_silent(writing)
            # With an unknown outcome, only what is durable by now was in the edits before the client's reply.
            known = [made for made in writing.made if response or (writing.is_done and made.has_event)]
            excused = filters != here.channel.filters_changed or here.exceptions.is_disturbed(
                path, began, writing.made
            )
            for made in writing.made:
                made.took_s = clock() - began_at
            _report(known, is_excused=excused)
        return writing

    async def pester(self, method: str, target: str, user: str, answer: NameNodeReply) -> None:
        """Send a call of a user who may change nothing there; it must cost other callers no hits."""
        here = self.of(target.partition("?")[0])
        token = unprivileged_calls.now.set(UnprivilegedCall(target, here.queries.given_up))
        first_steps = unprivileged_calls.is_first_step(target)  # from the writers' address
        here.exceptions.begun += first_steps
        try:
            await here.call(
                ClientRequest(method, f"{PREFIX}{target}&user.name={user}", answer=answer), target
            )
        finally:
            here.exceptions.answered += first_steps
            unprivileged_calls.now.reset(token)

    async def call_that_changes_nothing(self, method: str, target: str, answer: NameNodeReply) -> None:
        """Send a call that gets this answer and changes nothing in the namespace."""
        here = self.of(target.partition("?")[0])
        await here.call(ClientRequest(method, f"{PREFIX}{target}", answer=answer), target)

    def _cost(self, change: Footprint) -> None:
        """Judge the loss of an entry or grant that a call has caused."""
        is_fault = isinstance(change, EverythingUnknown) and change.reason.startswith("the cache")
        if (
            (unprivileged_call := unprivileged_calls.now.get())
            and not is_fault
            and not unprivileged_call.may_make(self.cluster, self.queries)
        ):
            self.judge.say(
                Guarantee.HITS_KEPT, f"{unprivileged_call.target} has changed nothing, and has cost {change}"
            )

    async def write_in_two_steps(
        self,
        kind: TwoSteps,
        path: str,
        *,
        takes_s: float,
        between: Callable[[], Awaitable[None]] | None = None,
        follows: Follows = Follows.REDIRECT,
    ) -> None:
        """Create or append through the proxy; the second step bypasses it, and the client sees it end.

        It starts after half of `takes_s` and the call of `between`, at the path to which the reply of the first step
        leads.
        """
        here = self.of(path)
        began, filters = here.cluster.present, here.channel.filters_changed
        known, given_up = here.exceptions.last_known(), here.queries.given_up
        more = "" if follows is Follows.REDIRECT else "&noredirect=true"
        request = ClientRequest(kind.method, f"{PREFIX}{path}?{kind.query}{more}&user.name={kind.user}")
        here.exceptions.begun += 1
        response = await here.call(request, path)
        here.exceptions.answered += 1
        if response is None or response.status not in {200, 307}:
            return
        written = _led_to(response, follows)
        opening = by(kind.user, kind.opens, written)
        redirected, answered = here.cluster.present, here.exceptions.answered
        await asyncio.sleep(takes_s / 2)
        if between is not None:
            await between()
        opened = here.cluster.try_write(opening)
        if opened is None or not opened.made:
            return
        await ended(opened)
        inode = here.cluster.present.namespace.get(written)
        await asyncio.sleep(takes_s / 2)
        now = here.cluster.present.namespace.get(written)
        if opened.is_lost or inode is None or now is None or now.number != inode.number or not now.is_open:
            return  # another writer owns the file
        closed = here.cluster.try_write(by(SUPERUSER, operations.close, written))  # the lease holder may
        if closed is None:
            return
        await ended(closed)
        if not closed.is_lost:
            made = (*opened.made, *closed.made)
            excused = (
                here.exceptions.has_a_late_right(
                    opening, began, redirected, opened.made[0], answered=answered, given_up=given_up
                )
                or filters != here.channel.filters_changed
                or here.exceptions.is_written_by_others(path, began, made)
                or here.exceptions.is_written_by_others(written, began, made)
                or here.exceptions.is_disturbed(written, known, made)
            )
            _report(made, is_excused=excused)

    def _begun(self, request: ClientRequest) -> RawResponse | None:
        """Start every second GET as a connection does; return None if the handler must answer it."""
        if request.method != "GET":
            return None
        self._reads += 1
        if self._reads % 2:
            return None
        begun = self._server.begin(request)  # type: ignore[arg-type]  # all that it uses
        assert not isinstance(begun, CallInFlight), "no connection is open at once"
        return begun

    async def call(self, request: ClientRequest, path: str) -> RawResponse | None:
        """Send a request; return None for a failure, which is judged."""
        failures = self.upstream.failures
        try:
            door = request.door or self.door
            response = self._begun(request) if door is self else None
            if response is None:
                response = await door.front_end.handle(request)  # type: ignore[arg-type]  # all that it uses
            if response is None:
                response = await request.connection.answer()
        except Exception as error:  # noqa: BLE001 - any failure is a violation
            self.judge.failed(path, f"raised {error!r}")
            return None
        assert isinstance(response, RawResponse)
        self.judge.made(path, response.status, made(parts(response)[0]))
        if response.status >= 500:
            if failures == self.upstream.failures:
                self.judge.failed(path, f"{response.status} {parts(response)[1].body!r}")
            return None
        return response


def _end_silent(writing: Writing) -> None:
    """End the versions without events: the cache knows the change when the call ends, with any outcome."""
    for before, after in zip(writing.replaced, writing.made, strict=True):
        if not after.has_event:
            before.ended = min(before.ended, clock())
            _report((after,), is_excused=True)


def _report(made: Sequence[Version], *, is_excused: bool) -> None:
    """Mark these versions as acknowledged to the client."""
    for version in made:
        version.acknowledged_at, version.is_excused = clock(), is_excused


def _led_to(response: RawResponse, follows: Follows) -> str:
    """Return the path to which the reply of the first step leads a client."""
    fields, answer = parts(response)
    if follows is Follows.REDIRECT:
        location = next(value.decode() for name, value in fields if name == b"Location")
    else:
        location = json.loads(answer.body)["Location"]
    if follows is Follows.NORMALIZED:
        location = normal(location)
    return unquote(location.partition(PREFIX)[2].partition("?")[0])
