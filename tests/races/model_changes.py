"""The changes in a lane while a task is held there, by name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from nncache.hadoop.paths import parent
from tests.model import namespace as ns
from tests.model import operations
from tests.model.namespace import SUPERUSER, Namespace, RefusedError, Step
from tests.model.operations import Operation
from tests.model.system import ModelSystem
from tests.model.writes import (
    APPEND,
    CREATE,
    TwoSteps,
    Write,
    by,
    chmod,
    chown,
    delete,
    mkdirs,
    rename,
    replicate,
    set_policy,
    touch,
    truncate,
)
from tests.races.model_ground import Lane

Make: TypeAlias = Callable[[Lane, str], tuple[Write, ...]]
"""The writes of a lane, for the path of the race."""


CREATE_UNNAMED: Final = replace(CREATE, query=f"{CREATE.query}&DOAS=hdfs")
"""A CREATE whose caller cannot be queried: releases differ on whether that spelling counts."""
APPEND_REFUSED: Final = APPEND.by("bob")
"""An APPEND that is redirected, but whose second step its caller may not make."""


def _refuse(now: Namespace, user: str, path: str, number: int) -> list[Step]:
    raise RefusedError(ns.missing("/"))


async def redirected(kind: TwoSteps, system: ModelSystem, path: str) -> None:
    """Send the first step of a write; its client never sends the second."""
    await system.write_in_two_steps(replace(kind, opens=_refuse), path, takes_s=0)


def _is_above(path: str) -> str:
    above = parent(path)
    assert above is not None
    return above


def _past(path: str, step: Callable[[Namespace, str, str, int], list[Step]]) -> Write:
    """Return a change that never passes the proxy as one call."""
    return Write("", path, "", by(SUPERUSER, step, path))


def create(path: str) -> Write:
    """Create or overwrite a file and leave it open; only past the proxy."""
    return _past(path, operations.create)


def append(path: str) -> Write:
    """Reopen a file; only past the proxy."""
    return _past(path, operations.append)


def flush(path: str) -> Write:
    """Write to an open file; only past the proxy."""
    return _past(path, operations.flush)


def close(path: str) -> Write:
    """Close a file; only past the proxy."""
    return _past(path, operations.close)


CHANGES: Final[Mapping[str, Make]] = {
    "touch": lambda _, path: (touch(path),),
    "delete": lambda _, path: (delete(path),),
    "make directory": lambda _, path: (mkdirs(path),),
    "chmod": lambda _, path: (chmod(path, 0o700),),
    "chown": lambda _, path: (chown(path, "bob"),),
    "replicate": lambda _, path: (replicate(path),),
    "truncate": lambda _, path: (truncate(path),),
    "rename away": lambda lane, path: (rename(path, lane.elsewhere),),
    "rename into": lambda lane, path: (rename(lane.spare, path),),
    "delete and rename into": lambda lane, path: (delete(path), rename(lane.spare, path)),
    "delete and make again": lambda _, path: (delete(path), mkdirs(path)),
    "new sibling": lambda lane, _: (mkdirs(f"{lane.directory}/new"),),
    "delete sibling": lambda lane, _: (delete(lane.sibling),),
    "touch sibling": lambda lane, _: (touch(lane.sibling),),
    "rename sibling": lambda lane, _: (rename(lane.sibling, f"{lane.directory}/h"),),
    "new child": lambda _, path: (mkdirs(f"{path}/new"),),
    "touch parent": lambda _, path: (touch(_is_above(path)),),
    "delete parent": lambda _, path: (delete(_is_above(path)),),
    "rename parent": lambda lane, path: (rename(_is_above(path), lane.elsewhere),),
    "other parent": lambda lane, path: (
        rename(_is_above(path), lane.elsewhere),
        rename(lane.other, _is_above(path)),
    ),
    "chmod parent": lambda _, path: (chmod(_is_above(path), 0o700),),
    "chmod parent and back": lambda _, path: (chmod(_is_above(path), 0o700), chmod(_is_above(path), 0o755)),
    "chmod parent, then a secret": lambda _, path: (
        chmod(_is_above(path), 0o700),
        delete(path),
        mkdirs(path),
        chmod(path, 0o711),
    ),
    "chown parent": lambda _, path: (chmod(_is_above(path), 0o700), chown(_is_above(path), "bob")),
    "delete top": lambda lane, _: (delete(lane.top),),
    "rename top": lambda lane, _: (rename(lane.top, f"{lane.top}w"),),
    "chmod top": lambda lane, _: (chmod(lane.top, 0o700),),
    "policy": lambda lane, _: (set_policy(lane.top),),
}
"""Changes behind the proxy's back or through it, one after the other."""

PAST: Final[Mapping[str, Make]] = {
    "create": lambda _, path: (create(path),),
    "create and close": lambda _, path: (create(path), close(path)),
    "create, grow and close": lambda _, path: (create(path), flush(path), close(path)),
    "append": lambda _, path: (append(path),),
    "append and grow": lambda _, path: (append(path), flush(path)),
    "append and close": lambda _, path: (append(path), flush(path), close(path)),
    "close": lambda _, path: (close(path),),
    "grow": lambda _, path: (flush(path),),
    "create parents too": lambda lane, _: (create(lane.deep), close(lane.deep)),
}
"""Changes behind the proxy's back only."""

BEHIND: Final[Mapping[str, Make]] = {
    name: make for name, make in (*CHANGES.items(), *PAST.items()) if name != "policy"
}
"""All but the storage policy, which no event reports."""


def behind(system: ModelSystem, writes: tuple[Write, ...]) -> bool:
    """Make changes behind the proxy's back; return whether any had an effect."""
    return sum(_did_something(system, write.operation) for write in writes) > 0


def _did_something(system: ModelSystem, operation: Operation) -> bool:
    writing = system.cluster.try_write(operation)
    return writing is not None and bool(writing.made)


async def through(system: ModelSystem, writes: tuple[Write, ...]) -> None:
    """Make changes through the proxy."""
    for write in writes:
        await system.write(write)
