"""Many calls of ZooKeeper at the same time, but not too many."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from nncache.coordination.task_group import each_bounded

_A = TypeVar("_A")
_R = TypeVar("_R")

MOST: Final = 64
"""As many as a session has under way: a call's deadline begins with it, so that one more would only wait."""


async def at_once(
    call: Callable[[_A], Coroutine[Any, Any, _R]], arguments: Sequence[_A], most: int = MOST
) -> list[_R]:
    """Return what `call` returns for each argument, in their order; at most `most` calls are under way.

    The first error ends them all, and is raised itself.
    """
    returned: dict[int, _R] = {}

    async def keep(each: tuple[int, _A]) -> None:
        number, argument = each
        returned[number] = await call(argument)

    await each_bounded(enumerate(arguments), keep, at_once=min(most, len(arguments)))
    return [returned[number] for number in range(len(arguments))]
