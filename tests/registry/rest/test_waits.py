"""Held requests to the registry, with a dict as its source."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from nncache.net.http1.conditional import Conditions, etag_of
from nncache.proxy.decide.waits import Waited, WaitEnd
from nncache.proxy.errors import ClientGoneError, EntryNotFoundError, RegistryUnavailableError
from nncache.registry.paths import MAX_PATH_CHARACTERS
from nncache.registry.rest.request import RegistryRequest, read_registry_request
from nncache.registry.rest.waits import (
    HELD,
    TREES,
    TREES_OF_ONE,
    Outcome,
    RegistryPage,
    RegistryQuestion,
    RegistryWaits,
)
from tests.patience import HANG_S
from tests.proxy.doubles import let_tasks_run

LONG_S = 1_000
OLD = b"1"
KNOWS_OLD = Conditions(frozenset({etag_of(OLD)}), LONG_S)


class Pages:
    """The registered pages, by path."""

    def __init__(self, pages: dict[str, bytes]) -> None:
        self.pages = pages
        self.is_open = asyncio.Event()  # until then there are no replies
        self.is_open.set()
        self.failure: Exception | None = None
        self.read: list[str] = []

    async def page(self, registry_request: RegistryRequest) -> RegistryPage:
        """Return a page, or raise the failure."""
        self.read.append(registry_request.path)
        there = self.pages.get(registry_request.path)  # its present state, however long the reply takes
        await self.is_open.wait()
        if self.failure is not None:
            raise self.failure
        if there is None:
            raise EntryNotFoundError(f"{registry_request.path}: there is no such entry")
        return RegistryPage(there)


@dataclass
class Line:
    """A client's connection."""

    on_lost: object = None
    transport: object | None = "open"

    def has_closed(self) -> bool:
        """Whether it is closed."""
        return self.transport is None


@dataclass
class Fixture:
    """The held requests, and the tasks that wait for them."""

    pages: Pages
    waits: RegistryWaits
    tasks: asyncio.TaskGroup

    async def hold(
        self,
        target: str = "/a",
        want: Conditions = KNOWS_OLD,
        *,
        holder: str = "h",
        client: Line | None = None,
    ) -> asyncio.Task[Waited[Outcome]]:
        """Return a request after it is held or answered."""
        registry_request, before = read_registry_request(f"/v1/registry{target}", ()), self.waits.held.waiting
        task = self.tasks.create_task(self._answer(registry_request, want, holder, client))
        async with asyncio.timeout(HANG_S):
            while not task.done() and self.waits.held.waiting == before:
                await let_tasks_run(1)
        return task

    async def _answer(
        self, registry_request: RegistryRequest, want: Conditions, holder: str, client: Line | None
    ) -> Waited[Outcome]:
        try:
            waited = await self.waits.held.answer(RegistryQuestion(registry_request, holder), want, client)  # type: ignore[arg-type] # a Line is enough
        except ClientGoneError as error:  # the test checks it
            return Waited(answer=error)
        assert waited is not None
        return waited

    async def answered(self, want: Conditions) -> Waited[Outcome]:
        """Return the answer to a request for /a."""
        return await self._answer(read_registry_request("/v1/registry/a", ()), want, "h", None)

    async def waits_on(self, *tasks: asyncio.Task[Waited[Outcome]]) -> bool:
        """Whether all of these are still waiting, after ample time."""
        await let_tasks_run(20)
        return not any(task.done() for task in tasks)


@asynccontextmanager
async def fixture() -> AsyncIterator[Fixture]:
    """Yield a fixture that is followed; on exit no request may remain held."""
    pages = Pages({"/a": OLD})
    waits = RegistryWaits(lambda registry_request, _: pages.page(registry_request), pages.page)
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        waits.held.resume(tasks)
        yield Fixture(pages, waits, tasks)
        waits.held.stop()
    assert not waits.held.is_used
    assert not len(waits._records) + len(waits._below) + len(waits._of_trees)  # noqa: SLF001 - nothing is left of those who waited
    assert waits.held._shares.in_use == waits._trees.in_use == 0  # noqa: SLF001 - the same


def body_of(waited: Waited[Outcome]) -> bytes:
    """Return the body of the answer."""
    assert isinstance(waited.answer, RegistryPage)
    return waited.answer.body


async def test_it_is_held_until_the_answer_differs() -> None:
    """A touch without a change costs one reading; otherwise the new page is the answer."""
    async with fixture() as s:
        held = await s.hold()
        s.waits.invalidated("/a")
        assert await s.waits_on(held)
        assert s.pages.read == ["/a", "/a"]
        s.pages.pages["/a"] = b"2"
        s.waits.invalidated("/a")
        waited = await held
        assert (body_of(waited), waited.applied_s) == (b"2", LONG_S)
        assert s.waits.held.ended[WaitEnd.CHANGED] == 1


async def test_what_differs_already_is_answered_at_once() -> None:
    """This also holds before following begins; a wait of 0 s is no wait."""
    async with fixture() as s:
        assert (await (await s.hold(want=Conditions(frozenset({b'"x"'}), LONG_S)))).applied_s == LONG_S
        assert (await (await s.hold(want=replace(KNOWS_OLD, wait_s=0)))).applied_s is None
        s.waits.held.pause()
        waited = await (await s.hold())
        assert (body_of(waited), waited.applied_s, waited.held_s) == (OLD, None, 0.0)
        assert not any(s.waits.held.ended.values())


async def test_at_the_end_of_the_time_it_is_read_once_more() -> None:
    """A watch that does not fire cannot cause an old answer; in this test the change is not reported."""
    async with fixture() as s:
        held = await s.hold(want=replace(KNOWS_OLD, wait_s=1))
        assert (body_of(await held), held.result().applied_s) == (OLD, 1)
        assert held.result().held_s >= 0.9
        assert s.waits.held.ended[WaitEnd.UNCHANGED] == 1
        s.pages.read.clear()
        s.pages.is_open.clear()
        untold = s.tasks.create_task(s.answered(replace(KNOWS_OLD, wait_s=1)))
        while not s.pages.read:
            await let_tasks_run(1)
        s.pages.pages["/a"] = b"2"
        s.pages.is_open.set()
        assert body_of(await untold) == b"2"


async def test_a_crowd_costs_one_reading() -> None:
    """Any number of waiting requests share one reading for a change, made after the change."""
    async with fixture() as s:
        held = [await s.hold(holder=f"h{number}") for number in range(20)]
        s.pages.read.clear()
        s.pages.pages["/a"] = b"2"
        s.waits.invalidated("/a")
        assert {body_of(await each) for each in held} == {b"2"}
        assert s.pages.read == ["/a"]


async def test_what_was_read_before_a_change_is_not_taken_after_it() -> None:
    """The reading in progress began before the change, so it is repeated."""
    async with fixture() as s:
        held = await s.hold()
        s.pages.is_open.clear()
        s.waits.invalidated("/a")
        while len(s.pages.read) < 2:
            await let_tasks_run(1)
        s.pages.pages["/a"] = b"2"
        s.waits.invalidated("/a")
        s.pages.is_open.set()
        assert body_of(await held) == b"2"
        assert len(s.pages.read) == 3


async def test_a_change_beside_the_first_reading_is_not_missed() -> None:
    """The request joins the group of its path before the first reading."""
    async with fixture() as s:
        s.pages.is_open.clear()
        held = s.tasks.create_task(s.answered(KNOWS_OLD))
        while not s.pages.read:
            await let_tasks_run(1)
        s.pages.pages["/a"] = b"2"
        s.waits.invalidated("/a")
        s.pages.is_open.set()
        assert body_of(await held) == b"2"


@pytest.mark.parametrize(
    ("target", "concerned", "others"),
    [
        ("/a", ["/a"], ["/", "/a/b", "/ab"]),
        ("/a?list", ["/a", "/a/b", "/a/b/c"], ["/", "/ab"]),
        ("/a?recursive", ["/a/b/c"], ["/ab"]),
        ("/a?find=x=y", ["/a/b/c"], ["/ab"]),
        ("/a?format=prometheus", ["/a/b/c"], ["/ab"]),
        ("//a/?format=html", ["/a/b"], ["/ab"]),
        ("?list", ["/", "/a", "/a/b"], []),
    ],
)
async def test_only_what_can_concern_it_makes_it_look(
    target: str, concerned: list[str], others: list[str]
) -> None:
    """A record depends only on its entry; every other page also depends on the entries below."""
    async with fixture() as s:
        path = read_registry_request(f"/v1/registry{target}", ()).path
        s.pages.pages[path] = OLD
        held = await s.hold(target)
        s.pages.read.clear()
        for other in others:
            s.waits.invalidated(other)
            assert await s.waits_on(held)
        assert s.pages.read == []
        for number, each in enumerate((*concerned, None), 1):
            s.waits.invalidated(each)
            while len(s.pages.read) < number:
                await let_tasks_run(1)
        assert await s.waits_on(held)


async def test_what_is_not_there_can_be_waited_for() -> None:
    """For a client without a tag; a client with a tag immediately gets a 404 when the entry is removed."""
    async with fixture() as s:
        held = await s.hold("/new", Conditions(None, LONG_S))
        s.waits.invalidated("/new")
        assert await s.waits_on(held)
        s.pages.pages["/new"] = b"3"
        s.waits.invalidated("/new")
        assert body_of(await held) == b"3"
        gone = await s.hold("/a")
        del s.pages.pages["/a"]
        s.waits.invalidated("/a")
        assert isinstance((await gone).answer, EntryNotFoundError)


async def test_a_lost_zookeeper_is_answered() -> None:
    """All waiting requests get the error, before their time ends."""
    async with fixture() as s:
        held = [await s.hold(), await s.hold("/a?recursive"), await s.hold("/new", Conditions(None, LONG_S))]
        s.pages.failure = RegistryUnavailableError("away")
        s.waits.invalidated(None)
        assert [type((await each).answer) for each in held] == [RegistryUnavailableError] * 3


@pytest.mark.parametrize("is_for_good", [False, True])
async def test_all_are_answered_when_changes_are_not_followed_any_more(*, is_for_good: bool) -> None:
    """They get the present page, without Preference-Applied; a stop is final."""
    async with fixture() as s:
        held = [await s.hold(), await s.hold("/a?recursive")]
        s.pages.pages["/a"] = OLD
        if is_for_good:
            s.waits.held.stop()
            s.waits.held.resume(s.tasks)
        else:
            s.waits.held.pause()
        assert [(body_of(await each), each.result().applied_s) for each in held] == [(OLD, None)] * 2
        assert s.waits.held.ended[WaitEnd.CUT_SHORT] == 2
        assert (await s.hold()).done()


async def test_repeated_changes_cost_no_answer() -> None:
    """The page is read again, since a change may have been missed, and the request stays held."""
    async with fixture() as s:
        held = await s.hold()
        s.waits.held.pause()
        s.waits.held.resume(s.tasks)
        assert await s.waits_on(held)
        assert s.pages.read == ["/a", "/a"]


async def test_so_many_are_held_and_no_more() -> None:
    """Each address has its share; further requests are answered immediately."""
    async with fixture() as s:
        first = [await s.hold(holder="greedy") for _ in range(HELD * 7 // 8)]
        assert await s.waits_on(*first)
        assert (await (await s.hold(holder="greedy"))).applied_s is None
        assert s.waits.held.not_admitted == 1
        other = await s.hold(holder="modest")
        assert await s.waits_on(other)
        assert s.waits.held.waiting == len(first) + 1


async def test_few_subtrees_are_waited_for() -> None:
    """Few in total, and fewer per address; an equal query joins the one that is already held."""
    async with fixture() as s:
        held = [await s.hold(f"/a?find=x={number}") for number in range(TREES_OF_ONE)]
        assert await s.waits_on(*held)
        assert (await (await s.hold("/a?find=x=another"))).applied_s is None
        assert s.waits.held.not_admitted == 1
        joined = await s.hold("/a?find=x=0")
        assert await s.waits_on(joined)
        others = [
            await s.hold(f"/a?find=x=of-{number}", holder=f"other{number}")
            for number in range(TREES - TREES_OF_ONE)
        ]
        assert await s.waits_on(*others)
        assert (await (await s.hold("/a?find=x=of-more", holder="more"))).applied_s is None


async def test_a_change_asks_no_group_that_it_cannot_concern() -> None:
    """The cost depends on the ancestors: with all requests held it is the same as with one."""
    path = "/a" + "/b" * 30
    async with fixture() as s:
        held = [
            await s.hold(f"/x{number}", Conditions(None, LONG_S), holder=f"{number % 9}")
            for number in range(300)
        ]
        asked: list[object] = []

        class Seen(dict[Any, Any]):
            def get(self, key: Any, default: Any = None) -> Any:
                asked.append(key)
                return super().get(key, default)

        held.append(await s.hold("/x?recursive", Conditions(None, LONG_S)))
        for watches in (s.waits._records, s.waits._below):  # noqa: SLF001 - to count what is looked at
            watches._at = Seen(watches._at)  # noqa: SLF001 - as above
        s.pages.read.clear()
        for changed, above in (
            (path, [path[: 2 * number] for number in range(31, 0, -1)]),
            ("/", []),
            (f"/a/{'b' * MAX_PATH_CHARACTERS}/c", ["/a"]),
        ):
            asked.clear()
            s.waits.invalidated(changed)
            assert asked == [changed, *above, "/"]
        assert await s.waits_on(*held)
        assert s.pages.read == []


async def test_changes_need_not_be_followed_while_no_request_waits() -> None:
    """One request must not cause following for ever."""
    async with fixture() as s:
        held = await s.hold()
        unused = s.tasks.create_task(s.waits.unused_for(0.0))
        await let_tasks_run(20)
        assert not unused.done()
        assert s.waits.is_wanted.is_set()
        s.pages.pages["/a"] = b"2"
        s.waits.invalidated("/a")
        await held
        await unused
        assert not s.waits.is_wanted.is_set()
        await s.hold()
        assert s.waits.is_wanted.is_set()


async def test_of_subtrees_one_is_read_at_a_time() -> None:
    """A registry in which everything changes must cost other clients little."""
    async with fixture() as s:
        held = [await s.hold(f"/a?find=x={number}", holder=f"h{number}") for number in range(3)]
        s.pages.read.clear()
        s.pages.is_open.clear()
        s.waits.invalidated(None)
        assert await s.waits_on(*held)
        assert len(s.pages.read) == 1
        s.pages.is_open.set()
        while len(s.pages.read) < 3:
            await let_tasks_run(1)  # after a pause


async def test_a_client_that_leaves_is_not_answered() -> None:
    """A client that closed only its sending half may still read: it is answered immediately."""
    async with fixture() as s:
        gone, halved = Line(), Line()
        left = await s.hold(client=gone)
        closed = await s.hold(client=halved)
        gone.transport = None
        for line in (gone, halved):
            assert callable(line.on_lost)
            line.on_lost()
        assert isinstance((await left).answer, ClientGoneError)
        assert (body_of(await closed), closed.result().applied_s) == (OLD, None)
        assert s.waits.held.ended[WaitEnd.ABANDONED] == 1
        assert gone.on_lost is None


async def test_a_client_that_left_before_it_is_held_is_not_waited_for() -> None:
    """Its connection reports no further event."""
    async with fixture() as s:
        left = await (await s.hold(client=Line(transport=None)))
        assert isinstance(left.answer, ClientGoneError)
