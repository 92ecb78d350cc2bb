"""The steering holds tasks at the places that it reports, and changes nothing else."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.invalidation import virtual_time
from tests.races.places import Kind, Places
from tests.races.steering import CANCEL, LABEL, Arrival, Cancel, Hold, Steering, Throw, Verdict

HERE = Places(["tests.races.test_steering"])


class Lock:
    """Waits at entry and at exit."""

    async def __aenter__(self) -> None:
        await asyncio.sleep(1)

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.sleep(1)


async def numbers() -> AsyncIterator[int]:
    """Yield one number after a wait."""
    await asyncio.sleep(1)
    yield 1


@asynccontextmanager
async def lent() -> AsyncIterator[str]:
    """Yield a string after a wait."""
    await asyncio.sleep(1)
    yield "it"


async def inner(value: asyncio.Future[str]) -> str:
    """Return the value in lower case."""
    return (await value).lower()


async def outer(value: asyncio.Future[str]) -> str:
    """Return it in brackets, whatever its outcome."""
    try:
        return f"[{await inner(value)}]"
    except ValueError as exc:
        return f"({exc})"


def steered(
    story: Callable[[Steering], Coroutine[Any, Any, None]],
    watcher: Callable[[Arrival], Verdict] | None = None,
) -> Steering:
    """Run a story in a steered loop."""
    steering = Steering(HERE)
    steering.watcher = watcher

    def steered_loop() -> asyncio.AbstractEventLoop:
        loop = virtual_time.VirtualLoop()
        loop.set_task_factory(steering.task_factory)
        return loop

    with asyncio.Runner(loop_factory=steered_loop) as runner:
        runner.run(story(steering))
    return steering


def at(arrival: Arrival, qualname: str) -> bool:
    """Whether a task waits in this function."""
    return arrival.wait_point.innermost.qualname == qualname


def test_a_task_has_its_label_before_its_first_step() -> None:
    """Tasks that it starts before its first wait have it too: otherwise they count as another's work."""
    seen: list[tuple[str, object]] = []

    async def child() -> None:
        await asyncio.sleep(1)

    async def served() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(child(), name="child of served")

    async def story(steering: Steering) -> None:
        steering.label_of = lambda coroutine: 7 if getattr(coroutine, "__name__", "") == "served" else None
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(served(), name="served")
            tasks.create_task(child(), name="child of nobody")

    def watcher(arrival: Arrival) -> Verdict:
        seen.append((arrival.task.get_name(), arrival.label))
        return None

    steered(story, watcher)
    labels = dict(seen)
    assert (labels["child of served"], labels["child of nobody"], labels["served"]) == (7, None, 7)


def test_each_way_of_waiting_is_seen() -> None:
    """`await`, both ends of an `async with`, `async for`, also below a generator and in a comprehension."""

    async def story(steering: Steering) -> None:
        async with Lock():
            async for number in numbers():
                assert number == 1
        async with lent() as thing:
            assert thing == "it"
        assert [await asyncio.sleep(1, each) for each in (1, 2)] == [1, 2]

    stood = steered(story).stood
    name = "test_each_way_of_waiting_is_seen.story"
    seen = {(place.kind, place.text) for place in stood if place.qualname == name}
    assert seen == {
        (Kind.ENTER, "Lock"),
        (Kind.EXIT, "Lock"),
        (Kind.STEP, "numbers"),
        (Kind.ENTER, "lent"),
        (Kind.AWAIT, "asyncio.sleep"),
    }
    assert {place.qualname for place in stood} == {
        name,
        "Lock.__aenter__",
        "Lock.__aexit__",
        "numbers",
        "lent",
    }
    assert all(place in HERE.all for place in stood)


BROKEN = Throw(ValueError("broken"))


@pytest.mark.parametrize(
    ("is_held", "verdict", "cancelled", "result"),
    [
        pytest.param(True, None, "", "[a]", id="held, and goes on with its value"),
        pytest.param(False, BROKEN, "", "(broken)", id="an error at once"),
        pytest.param(True, BROKEN, "", "(broken)", id="an error at the end of a hold"),
        pytest.param(False, BROKEN, "before", None, id="an error replaces no cancellation"),
        pytest.param(True, BROKEN, "before", None, id="an error at the end of a hold replaces none"),
        pytest.param(False, CANCEL, "", None, id="cancelled at once"),
        pytest.param(True, CANCEL, "", None, id="cancelled at the end of a hold"),
        pytest.param(True, None, "meanwhile", None, id="cancelled from outside in a hold"),
    ],
)
def test_a_task_meets_its_verdict_where_it_waits(
    is_held: bool, verdict: Throw | Cancel | None, cancelled: str, result: str | None
) -> None:
    """The verdict applies before its result is seen, immediately or at the end of a hold."""
    holds: list[Hold] = []

    def watch(arrival: Arrival) -> Verdict:
        if not at(arrival, "inner") or holds:
            return None
        assert [place.qualname for place in arrival.wait_point.places] == ["outer", "inner"]
        if not is_held:
            return verdict
        holds.append(Hold())
        return holds[0]

    async def story(steering: Steering) -> None:
        value: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(outer(value))
            await asyncio.sleep(1)
            if cancelled == "before":
                task.cancel()
            else:
                value.set_result("A")
            await asyncio.sleep(1)
            if is_held:
                assert holds[0].reached.done()
                assert not task.done()
            if cancelled == "meanwhile":
                task.cancel()
            elif is_held:
                holds[0].release(verdict)
        assert (None if task.cancelled() else task.result()) == result
        assert task.cancelling() == (result is None)

    steered(story, watch)


def test_timeouts_groups_and_shields_work_as_ever() -> None:
    """A timeout fires during a hold, a group cancels its other tasks, and a shielded task continues."""
    holds: list[Hold] = []

    def watch(arrival: Arrival) -> Verdict:
        if arrival.label != "held" or not at(arrival, "inner"):
            return None
        holds.append(Hold())
        return holds[-1]

    async def slow(value: asyncio.Future[str]) -> None:
        LABEL.set("held")
        try:
            async with asyncio.timeout(5):
                await inner(value)
        except TimeoutError:
            LABEL.set("late")

    async def failing() -> None:
        await asyncio.sleep(1)
        raise ValueError

    async def together(waiting: list[asyncio.Task[str]]) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(failing())
            waiting.append(tasks.create_task(outer(asyncio.get_running_loop().create_future())))

    async def story(steering: Steering) -> None:
        loop = asyncio.get_running_loop()
        value: asyncio.Future[str] = loop.create_future()
        loop.call_later(1, value.set_result, "A")
        began = loop.time()
        await slow(value)
        assert loop.time() - began == pytest.approx(5)
        assert LABEL.get() == "late"
        assert holds[0].is_over
        waiting: list[asyncio.Task[str]] = []
        with pytest.raises(ExceptionGroup):
            await together(waiting)
        task = asyncio.current_task()
        assert task is not None
        while task.cancelling():
            task.uncancel()  # a group of Python 3.11.2 leaves its task marked as cancelled
        assert waiting[0].cancelled()
        async with asyncio.TaskGroup() as tasks:
            kept = tasks.create_task(inner(loop.create_future()))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await asyncio.shield(kept)
            assert not kept.done()
            kept.cancel()

    steered(story, watch)


def test_a_task_that_never_began_leaves_no_trace() -> None:
    """Its coroutine is closed as by asyncio itself (a warning would fail this test)."""

    async def story(steering: Steering) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(outer(asyncio.get_running_loop().create_future())).cancel()

    steered(story)
