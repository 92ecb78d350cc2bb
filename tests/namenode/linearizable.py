"""Whether what clients saw can have happened in one order, each call at a moment between its beginning and its end.

Source: "Testing for linearizability" (Lowe, 2017), the just-in-time algorithm: calls are put into the order as late as
possible, when one of them ends.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

State = TypeVar("State", bound=Hashable)
Asked = TypeVar("Asked", bound=Hashable)

UNKNOWN: Final = "unknown"
"""The answer of a call of which it is not known whether it was carried out."""


@dataclass(frozen=True, slots=True, eq=False)
class Call(Generic[Asked]):
    """A call as its client saw it; one whose answer is UNKNOWN has no end: it may be carried out later."""

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
    """Return a call that no order explains, with those that ended before it; None if there is an order for all.

    Args:
        history: the calls.
        state: what there was before them.
        apply: what one call does to a state, and what it answers.
        changes_nothing: whether a call that was answered as it was changes no state at all.
    """
    moments = [(call.begin, 0, call) for call in history]
    moments += [(call.end, 1, call) for call in history if call.answer is not UNKNOWN]
    under_way: list[Call[Asked]] = []
    possible = {(state, frozenset[Call[Asked]]())}  # states, with which of the calls under way are in them
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
    """Return the states in which a call is that ends now."""
    found: set[tuple[State, frozenset[Call[Asked]]]] = set()
    seen, waiting = set(possible), list(possible)
    while waiting:
        state, done = waiting.pop()
        changing: list[tuple[State, Call[Asked]]] = []
        for other in under_way:
            if other not in done:
                then, answer = apply(state, other.asked)
                if other.answer is UNKNOWN or answer == other.answer:
                    if changes_nothing(other):  # now is as good as later
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
