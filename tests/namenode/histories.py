"""Clients that create, move, delete and read a few directories at several NameNodes, and the history they record."""

import functools
import itertools
import random
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from nncache.coordination.errors import ConnectionLostError, OutcomeUnknownError
from nncache.namenode.namespace import reads
from nncache.namenode.namespace.refusal import Java, Refusal
from tests.namenode.fixture import Fixture, new_file
from tests.namenode.linearizable import UNKNOWN, Call, first_impossible

Asked: TypeAlias = tuple[str, ...]
"""An operation and its paths."""

Tree: TypeAlias = frozenset[str]
"""The paths of all directories but the root."""

NAMES: Final = ("a", "b")
NOT_EMPTY: Final = "not empty"
MISSING: Final = "missing"


@functools.lru_cache(maxsize=100_000)
def apply(tree: Tree, asked: Asked) -> tuple[Tree, object]:
    """Return the tree after an operation, and the operation's answer (HDFS's rules, for the superuser)."""
    operation, path, *more = asked
    match operation:
        case "mkdirs":
            names = path.split("/")
            return tree | {"/".join(names[:depth]) for depth in range(2, len(names) + 1)}, True
        case "delete":
            below = {each for each in tree if each.startswith(f"{path}/")}
            return tree - below - {path}, path in tree
        case "remove":
            if any(each.startswith(f"{path}/") for each in tree):
                return tree, NOT_EMPTY
            return tree - {path}, path in tree
        case "rename":
            return _renamed(tree, path, more[0])
        case "exists":
            return tree, path in tree
        case _:
            if path not in tree:
                return tree, MISSING
            names = [each.rpartition("/")[2] for each in tree if each.rpartition("/")[0] == path]
            return tree, tuple(sorted(names))


def impossible(history: Sequence[Call[Asked]]) -> Call[Asked] | None:
    """Return a call that no total order explains, starting from an empty tree; None if there is an order."""
    return first_impossible(history, frozenset[str](), apply, _changes_nothing)


def _changes_nothing(call: Call[Asked]) -> bool:
    return call.asked[0] in {"exists", "list"} or call.answer in (False, NOT_EMPTY)


def _renamed(tree: Tree, source: str, destination: str) -> tuple[Tree, bool]:
    if destination in tree:
        destination = f"{destination}/{source.rpartition('/')[2]}"
    above = destination.rpartition("/")[0]
    if source not in tree or destination in tree or (above and above not in tree):
        return tree, False
    moved = {each for each in tree if each == source or each.startswith(f"{source}/")}
    return tree - moved | {destination + each.removeprefix(source) for each in moved}, True


def draw(rng: random.Random) -> Asked:
    """Draw a random operation."""
    operation = rng.choice(
        ("mkdirs", "mkdirs", "delete", "remove", "rename", "rename", "rename", "exists", "list")
    )
    path = _path(rng)
    if operation != "rename":
        return operation, path
    while True:
        other = _path(rng)
        if not f"{other}/".startswith(f"{path}/") and other != path.rpartition("/")[0]:
            return operation, path, other


def _path(rng: random.Random) -> str:
    return "".join(f"/{rng.choice(NAMES)}" for _ in range(rng.choice((1, 2, 2, 3))))


async def carried_out(fixture: Fixture, asked: Asked) -> object:
    """Run an operation at a NameNode; return its answer in the form that `apply` uses."""
    namenode, root = fixture.namenode, fixture.root
    operation, path, *more = asked
    try:
        match operation:
            case "mkdirs":
                return await namenode.mkdirs(root, path, new_file().modes)
            case "delete" | "remove":
                return await namenode.delete(root, path, recursive=operation == "delete")
            case "rename":
                return await namenode.rename(root, path, more[0])
            case "exists":
                return bool(await namenode.read(path, reads.status, root))
            case _:
                statuses, _ = await namenode.listing(root, path)
                return tuple(sorted(status.path_suffix for status in statuses))
    except Refusal as refusal:
        match refusal.java:
            case Java.FILE_NOT_FOUND:
                return False if operation == "exists" else MISSING
            case Java.PATH_IS_NOT_EMPTY_DIRECTORY:
                return NOT_EMPTY
        raise
    except OutcomeUnknownError:
        return UNKNOWN


async def work(
    fixtures: Sequence[Fixture],
    rng: random.Random,
    operations: int,
    history: list[Call[Asked]],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Act as a client of several NameNodes in turn; append its calls to the history."""
    rotation = itertools.cycle(rng.sample(list(fixtures), len(fixtures)))
    for _ in range(operations):
        asked = draw(rng)
        begin = clock()
        try:
            answer = await carried_out(next(rotation), asked)
        except ConnectionLostError:
            continue  # it was not carried out, and never will be
        history.append(Call(asked, answer, begin, clock()))
