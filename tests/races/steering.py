"""Hold tasks exactly where they wait, and let something happen there.

How to use it:

    steering = Steering(Places(FILL))
    loop.set_task_factory(steering.task_factory)
    steering.watcher = decide        # Callable[[Arrival], Verdict]

From then on each task of the loop is seen at each of its steps. When what it waits for is there, and before any code
of its own has seen it (the most adversarial moment there is), the watcher gets the listed places at which the task's
coroutines wait, the outermost first. It may

- return None: the task goes on. Whatever the watcher itself did happened at exactly this place.
- return `Throw(error)`: the error is raised there, instead of what came.
- return `CANCEL`: the task is cancelled there, as `Task.cancel` would when the reply has just arrived.
- return a `Hold`: the task stays where it is until `Hold.release(verdict)`; others run meanwhile. Whoever made the
  hold awaits `Hold.reached`. A cancellation from outside ends a hold at once and reaches the task as ever.

Nothing else of asyncio changes: tasks, their contexts, `asyncio.timeout`, TaskGroup and `shield` are the loop's own.
`LABEL` is inherited by the tasks that a task starts; `label_of` gives one to a task before its first step, so that also
what it starts without having waited has it.

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
"""Whose task it is, such as the number of a race; None: nobody's."""


@dataclass(frozen=True, slots=True, eq=False)
class WaitPoint:
    """Where a task stands. There is one object for each such chain of places, so `is` and hashing are quick."""

    places: tuple[Place, ...]  # the outermost first; never empty

    @property
    def innermost(self) -> Place:
        """The place that waits for something outside of the listed modules."""
        return self.places[-1]

    def __str__(self) -> str:
        return " > ".join(map(str, self.places))


@dataclass(frozen=True, slots=True)
class Throw:
    """Raise this at the place."""

    error: Exception


class Cancel:
    """Cancel the task at the place."""


CANCEL: Final = Cancel()


class Hold:
    """A task's stay at a place; make one, return it to the steering once."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.reached: asyncio.Future[Arrival] = loop.create_future()  # done when the task stands there
        self.is_over = False  # the task goes on, or was cancelled from outside
        self.verdict: Throw | Cancel | None = None
        self._gate: asyncio.Future[None] = loop.create_future()

    def release(self, verdict: Throw | Cancel | None = None) -> None:
        """Let the task go on; None: as if nothing had been."""
        if not self.is_over:
            self.verdict = verdict
            self.is_over = True
            if not self._gate.done():
                self._gate.set_result(None)

    def begin(self, arrival: "Arrival") -> asyncio.Future[None]:
        """Return what the task waits for meanwhile; for the steering alone."""
        if not self.reached.done():
            self.reached.set_result(arrival)
        return self._gate


Verdict: TypeAlias = Hold | Throw | Cancel | None


@dataclass(slots=True)
class Arrival:
    """A task at a place; what it waited for is there."""

    wait_point: WaitPoint
    label: object
    task: asyncio.Task[Any]


class Steering:
    """Makes a loop's tasks, sees each of their steps, and counts where they stood.

    Attributes:
        watcher: asked at each arrival; None: nobody is.
        label_of: the label of a task, by its coroutine; None: that of the task that starts it.
        stood: how often a task waited at each place.
    """

    def __init__(self, places: Places) -> None:
        self.watcher: Callable[[Arrival], Verdict] | None = None
        self.label_of: Callable[[Coroutine[Any, Any, Any]], object] = lambda _: None
        self._places = places
        self._wait_points: dict[
            tuple[tuple[int, int], ...], WaitPoint | None
        ] = {}  # by ids of codes: they hash slowly
        self._codes: dict[int, CodeType] = {}  # kept, so that no id is given twice
        self._seen: Counter[WaitPoint] = Counter()

    @property
    def stood(self) -> Counter[Place]:
        """How often a task waited at each place so far."""
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
        """Make a task: for `loop.set_task_factory`."""
        # uvloop's own coroutines call themselves generators, too
        stepped = cast("Coroutine[Any, Any, _T]", coroutine)
        label = self.label_of(stepped)
        if label is not None:
            context = copy_context() if context is None else context
            context.run(LABEL.set, label)
        return asyncio.Task(_Steered(self, stepped), loop=loop, context=context)

    def look(self, coroutine: Coroutine[Any, Any, Any]) -> WaitPoint | None:
        """Return where a suspended coroutine stands, and count it; None: at no listed place."""
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
    """Yield the frames of a suspended coroutine and of all that it awaits, the outermost first."""
    while awaited is not None:
        frame: FrameType | None
        if hasattr(awaited, "cr_frame"):
            frame, awaited = awaited.cr_frame, awaited.cr_await
        elif hasattr(awaited, "gi_frame"):
            frame, awaited = awaited.gi_frame, awaited.gi_yieldfrom
        elif hasattr(awaited, "ag_frame"):
            frame, awaited = awaited.ag_frame, awaited.ag_await
        else:  # a step of an asynchronous generator does not say of which one; the collector knows
            held = gc.get_referents(awaited) if type(awaited).__name__ in _STEPS else ()
            awaited = next((each for each in held if isinstance(each, AsyncGeneratorType)), None)
            continue
        if frame is not None:
            yield frame


_STEPS: Final = frozenset({"async_generator_asend", "async_generator_athrow", "anext_awaitable"})


class _Steered(Coroutine[Any, Any, _T]):
    """Passes a task's steps on to its coroutine, and asks the watcher in between."""

    __slots__ = ("_coroutine", "_error", "_hold", "_stand", "_steering")

    def __init__(self, steering: Steering, coroutine: Coroutine[Any, Any, _T]) -> None:
        self._steering = steering
        self._coroutine = coroutine
        self._stand: WaitPoint | None = None  # where it has waited since its last step
        self._hold: Hold | None = None  # it is held there
        self._error: BaseException | None = None  # what was on its way to it when the hold began

    def send(self, value: None) -> Any:
        """Take a step: what it waited for is there."""
        return self._step(None)

    def throw(self, kind: Any, value: Any = None, trace: Any = None) -> Any:
        """Take a step: what it waited for has failed, or it is cancelled."""
        return self._step(kind if isinstance(kind, BaseException) else value or kind())

    def close(self) -> None:
        """End it early."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, None, _T]:
        raise NotImplementedError  # a task steps it

    def _step(self, error: BaseException | None) -> Any:
        hold, wait_point = self._hold, self._stand
        if hold is not None:
            self._hold = None
            hold.is_over = True
            if error is None:  # not cancelled meanwhile
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
            case Throw(instead):  # a cancellation that is on its way is not lost to it
                return self._go_on(error if isinstance(error, asyncio.CancelledError) else instead)
            case Hold():
                assert self._stand is not None
                self._hold, self._error = verdict, error
                return _wait_for(verdict.begin(self._arrival(self._stand)))
            case _:  # cancelled: as soon as the task waits for anything it hears of it
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                self._stand = None  # what comes next is the cancellation itself
                return _wait_for(task.get_loop().create_future())

    def _go_on(self, error: BaseException | None) -> Any:
        coroutine = self._coroutine
        awaited = coroutine.send(None) if error is None else coroutine.throw(error)
        self._stand = self._steering.look(coroutine)
        return awaited


def _wait_for(future: asyncio.Future[None]) -> asyncio.Future[None]:
    """Return what a coroutine yields to its task to wait for a future (Lib/asyncio/futures.py, __await__)."""
    if future.done():
        raise AssertionError("a hold was released before it began")
    future._asyncio_future_blocking = True  # noqa: SLF001 - that is the protocol between task and future
    return future
