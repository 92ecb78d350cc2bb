"""Hold tasks exactly where they wait, and let something happen there.

Usage:

    steering = Steering(Places(FILL))
    loop.set_task_factory(steering.task_factory)
    steering.watcher = decide                # Callable[[Arrival], Verdict]

From then on the steering sees each step of each task of the loop. When the awaited result is there, and before the
task's own code has seen it (the most adversarial moment), the watcher gets the listed places where the task's
coroutines wait, outermost first. It may

- return None: the task continues. Whatever the watcher itself did happened at exactly this place.
- return `Throw(error)`: the error is raised there, instead of the result.
- return `CANCEL`: the task is cancelled there, as if by `Task.cancel` just after the result arrived.
- return a `Hold`: the task stays there until `Hold.release(verdict)`; other tasks run. The creator of the hold
  awaits `Hold.reached`. A cancellation from outside ends a hold immediately and reaches the task as usual.

Nothing else of asyncio changes: tasks, their contexts, `asyncio.timeout`, TaskGroup and `shield` are the loop's own.
Tasks inherit `LABEL` from the task that starts them; `label_of` sets it before a task's first step, so that tasks
which it starts before its first wait have it as well.

Only places of the modules in `Places` count. A task that waits at none of them is never held.
"""

import asyncio
import gc
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from types import AsyncGeneratorType, CodeType, FrameType
from typing import Any, Final, TypeAlias, TypeVar, cast

from tests.races.places import Place, Places

_T = TypeVar("_T")

LABEL: Final[ContextVar[object]] = ContextVar("LABEL", default=None)
"""The owner of a task, such as the number of a race; None: it has no owner."""


@dataclass(frozen=True, slots=True, eq=False)
class WaitPoint:
    """The places where a task waits. Equal chains share one object, so `is` and hashing are fast."""

    places: tuple[Place, ...]  # outermost first; never empty

    @property
    def innermost(self) -> Place:
        """The place that waits for something outside the listed modules."""
        return self.places[-1]

    def __str__(self) -> str:
        return " > ".join(map(str, self.places))


@dataclass(frozen=True, slots=True)
class Throw:
    """Raise this error at the place."""

    error: Exception


class Cancel:
    """Cancel the task at the place."""


CANCEL: Final = Cancel()


class Hold:
    """A task's stay at a place; return each instance to the steering only once."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.reached: asyncio.Future[Arrival] = loop.create_future()  # done when the task is held
        self.is_over = False  # released, or cancelled from outside
        self.verdict: Throw | Cancel | None = None
        self._gate: asyncio.Future[None] = loop.create_future()

    def release(self, verdict: Throw | Cancel | None = None) -> None:
        """Let the task continue; None: with its own result."""
        if not self.is_over:
            self.verdict = verdict
            self.is_over = True
            if not self._gate.done():
                self._gate.set_result(None)

    def begin(self, arrival: "Arrival") -> asyncio.Future[None]:
        """Return the future that the task awaits during the hold; only for the steering."""
        if not self.reached.done():
            self.reached.set_result(arrival)
        return self._gate


Verdict: TypeAlias = Hold | Throw | Cancel | None


@dataclass(slots=True)
class Arrival:
    """A task at a place; the result that it awaited is there."""

    wait_point: WaitPoint
    label: object
    task: asyncio.Task[Any]


class Steering:
    """Creates a loop's tasks, sees each of their steps, and counts where they waited.

    Attributes:
        watcher: called at each arrival; None: none.
        label_of: the label of a task, by its coroutine; None: that of the task that starts it.
        stood: number of waits at each place.
    """

    def __init__(self, places: Places) -> None:
        self.watcher: Callable[[Arrival], Verdict] | None = None
        self.label_of: Callable[[Coroutine[Any, Any, Any]], object] = lambda _: None
        self._places = places
        self._wait_points: dict[
            tuple[tuple[int, int], ...], WaitPoint | None
        ] = {}  # by ids of codes: they hash slowly
        self._codes: dict[int, CodeType] = {}  # kept, so that no id is reused
        self._seen: Counter[WaitPoint] = Counter()

    @property
    def stood(self) -> Counter[Place]:
        """The number of waits at each place so far."""
        stood: Counter[Place] = Counter()
        for wait_point, times in self._seen.items():
            for place in wait_point.places:
                stood[place] += times
        return stood

    def task_factory(
        self,
        loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, _T] | Generator[Any, None, _T],
        *,
        context: Context | None = None,
    ) -> asyncio.Task[_T]:
        """Create a task: for `loop.set_task_factory`."""
        # uvloop's own coroutines claim to be generators, too
        stepped = cast("Coroutine[Any, Any, _T]", coroutine)
        label = self.label_of(stepped)
        if label is not None:
            context = copy_context() if context is None else context
            context.run(LABEL.set, label)
        return asyncio.Task(_Steered(self, stepped), loop=loop, context=context)

    def look(self, coroutine: Coroutine[Any, Any, Any]) -> WaitPoint | None:
        """Return where a suspended coroutine waits, and count it; None: at no listed place."""
        chain = tuple([(id(frame.f_code), frame.f_lasti) for frame in _frames(coroutine)])
        try:
            wait_point = self._wait_points[chain]
        except KeyError:
            wait_point = self._wait_points[chain] = self._stand(coroutine)
        if wait_point is not None:
            self._seen[wait_point] += 1
        return wait_point

    def _stand(self, coroutine: Coroutine[Any, Any, Any]) -> WaitPoint | None:
        frames = tuple(_frames(coroutine))
        self._codes.update((id(frame.f_code), frame.f_code) for frame in frames)
        found = (self._places.at(frame.f_code, frame.f_lasti) for frame in frames)
        places = tuple(place for place in found if place is not None)
        for known in self._wait_points.values():
            if known is not None and known.places == places:
                return known
        return WaitPoint(places) if places else None


def _frames(awaited: Any) -> Generator[FrameType, None, None]:
    """Yield the frames of a suspended coroutine and of all that it awaits, outermost first."""
    while awaited is not None:
        frame: FrameType | None
        if hasattr(awaited, "cr_frame"):
            frame, awaited = awaited.cr_frame, awaited.cr_await
        elif hasattr(awaited, "gi_frame"):
            frame, awaited = awaited.gi_frame, awaited.gi_yieldfrom
        elif hasattr(awaited, "ag_frame"):
            frame, awaited = awaited.ag_frame, awaited.ag_await
        else:  # a step of an asynchronous generator has no reference to the generator; the collector has
            held = gc.get_referents(awaited) if type(awaited).__name__ in _STEPS else ()
            awaited = next((each for each in held if isinstance(each, AsyncGeneratorType)), None)
            continue
        if frame is not None:
            yield frame


_STEPS: Final = frozenset({"async_generator_asend", "async_generator_athrow", "anext_awaitable"})


class _Steered(Coroutine[Any, Any, _T]):
    """Passes a task's steps to its coroutine, and asks the watcher in between."""

    __slots__ = ("_coroutine", "_error", "_hold", "_stand", "_steering")

    def __init__(self, steering: Steering, coroutine: Coroutine[Any, Any, _T]) -> None:
        self._steering = steering
        self._coroutine = coroutine
        self._stand: WaitPoint | None = None  # where it waits since its last step
        self._hold: Hold | None = None  # the current hold
        self._error: BaseException | None = None  # the error for its next step when the hold began

    def send(self, value: None) -> Any:
        """Take a step: the awaited result is there."""
        return self._step(None)

    def throw(self, kind: Any, value: Any = None, trace: Any = None) -> Any:
        """Take a step: the awaited call failed, or the task is cancelled."""
        return self._step(kind if isinstance(kind, BaseException) else value or kind())

    def close(self) -> None:
        """Close the coroutine."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, None, _T]:
        raise NotImplementedError  # a task steps it

    def _step(self, error: BaseException | None) -> Any:
        hold, wait_point = self._hold, self._stand
        if hold is not None:
            self._hold = None
            hold.is_over = True
            if error is None:  # not cancelled during the hold
                error, verdict = self._error, hold.verdict
                self._error = None
                if verdict is not None:
                    return self._carry_out(verdict, error)
        elif wait_point is not None and self._steering.watcher is not None:
            verdict_now = self._steering.watcher(self._arrival(wait_point))
            if verdict_now is not None:
                return self._carry_out(verdict_now, error)
        return self._go_on(error)

    def _arrival(self, wait_point: WaitPoint) -> Arrival:
        task = asyncio.current_task()
        assert task is not None
        return Arrival(wait_point, LABEL.get(), task)

    def _carry_out(self, verdict: Hold | Throw | Cancel, error: BaseException | None) -> Any:
        match verdict:
            case Throw(instead):  # a pending cancellation is not lost
                return self._go_on(error if isinstance(error, asyncio.CancelledError) else instead)
            case Hold():
                assert self._stand is not None
                self._hold, self._error = verdict, error
                return _wait_for(verdict.begin(self._arrival(self._stand)))
            case _:  # cancelled: the task gets the error as soon as it waits for anything
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                self._stand = None  # the next arrival is the cancellation itself
                return _wait_for(task.get_loop().create_future())

    def _go_on(self, error: BaseException | None) -> Any:
        coroutine = self._coroutine
        awaited = coroutine.send(None) if error is None else coroutine.throw(error)
        self._stand = self._steering.look(coroutine)
        return awaited


def _wait_for(future: asyncio.Future[None]) -> asyncio.Future[None]:
    """Return what a coroutine yields to its task to await a future (Lib/asyncio/futures.py, __await__)."""
    if future.done():
        raise AssertionError("a hold was released before it began")
    future._asyncio_future_blocking = True  # noqa: SLF001 - this is the protocol between task and future
    return future
