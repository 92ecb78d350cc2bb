"""A linearizability checker: whether one order explains a history, with each call between its begin and its end.

Source: "Testing for linearizability" (Lowe, 2017), the just-in-time algorithm: a call enters the order as late as
possible, when a call ends.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

State = TypeVar("State", bound=Hashable)
Asked = TypeVar("Asked", bound=Hashable)

UNKNOWN: Final = "unknown"
"""The answer of a call that may or may not have been carried out."""


@dataclass(frozen=True, slots=True, eq=False)
class Call(Generic[Asked]):
    """A call as its client saw it. A call with the answer UNKNOWN has no end: it may still be carried out."""

    asked: Asked
    answer: object
    begin: float
    end: float


def first_impossible(
    history: Sequence[Call[Asked]],
    state: State,
    apply: Callable[[State, Asked], tuple[State, object]],
    changes_nothing: Callable[[Call[Asked]], bool],
) -> Call[Asked] | None:
    """Return the first call to end that no order explains; None if an order explains the whole history.

    Args:
        history: the calls.
        state: the state before the first call.
        apply: returns the state after a call, and the call's answer.
        changes_nothing: whether a call, by its answer, leaves every state unchanged.
    """
    moments = [(call.begin, 0, call) for call in history]
    moments += [(call.end, 1, call) for call in history if call.answer is not UNKNOWN]
    under_way: list[Call[Asked]] = []
    possible = {(state, frozenset[Call[Asked]]())}  # states, each with the calls under way that it includes
    for _, is_end, call in sorted(moments, key=lambda moment: moment[:2]):
        if not is_end:
            under_way.append(call)
            continue
        possible = _with(call, possible, under_way, apply, changes_nothing)
        if not possible:
            return call
        under_way.remove(call)
    return None


def _with(
    call: Call[Asked],
    possible: set[tuple[State, frozenset[Call[Asked]]]],
    under_way: Sequence[Call[Asked]],
    apply: Callable[[State, Asked], tuple[State, object]],
    changes_nothing: Callable[[Call[Asked]], bool],
) -> set[tuple[State, frozenset[Call[Asked]]]]:
    """Return the possible states that include the call that ends now."""
    found: set[tuple[State, frozenset[Call[Asked]]]] = set()
    seen, waiting = set(possible), list(possible)
    while waiting:
        state, done = waiting.pop()
        changing: list[tuple[State, Call[Asked]]] = []
        for other in under_way:
            if other not in done:
                then, answer = apply(state, other.asked)
                if other.answer is UNKNOWN or answer == other.answer:
                    if changes_nothing(other):  # applying it now is as good as later
                        done |= {other}
                    else:
                        changing.append((then, other))
        if call in done:
            found.add((state, done - {call}))
            continue
        for then, other in changing:
            more = (then, done | {other})
            if more not in seen:
                seen.add(more)
                waiting.append(more)
    return found
