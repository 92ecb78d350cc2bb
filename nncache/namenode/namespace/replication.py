"""Which replicas of a block are to be made, and which are to go.

Pure. Source: BlockManager and BlockPlacementPolicyDefault of Hadoop 3.5.0, without racks. Where two DataNodes are as
good, the order in which they are passed decides: the caller shuffles them.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from nncache.namenode.namespace.inode import Block, BlockState, DataNodeRecord
from nncache.namenode.namespace.view import Replicas

MAX_FAILURES: Final = 3
"""After so many failed attempts a copy is made elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A block, and what its replicas depend on."""

    block: Block
    factor: int
    replicas: Replicas
    there: Mapping[str, DataNodeRecord]  # the DataNodes that are there
    copying: Mapping[str, int]  # the DataNodes that are to copy it, and how often each has failed
    deleting: AbstractSet[str]  # those that are to delete a replica of it
    failed: AbstractSet[str] = field(default_factory=frozenset)  # those that could not copy it


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done about a block.

    Invariants:
        P1  A replica is deleted only while as many good ones stay, at DataNodes that are there, as the file wants.
        P2  A replica that is the only good one is never deleted.
    """

    copy_to: tuple[str, ...] = ()
    withdraw: tuple[str, ...] = ()  # orders to copy that cannot be carried out, or need not be
    failed: frozenset[str] = frozenset()  # as `Situation.failed` is from now on
    delete: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()  # the good ones because of which others may be deleted
    is_done: bool = False  # nothing more is to be done


def plan(situation: Situation) -> Plan:
    """Say what is to be done about a block: one step; the next one is decided on what is there then.

    A replica counts as good also while its DataNode is away, until that is taken for dead (its replicas are dropped
    then). Of a block that is still being written nothing is decided.
    """
    block, there, replicas = situation.block, situation.there, situation.replicas
    if block.state is not BlockState.COMPLETE:
        return Plan(failed=frozenset(situation.failed))
    good = replicas.good(block)
    present = [name for name in there if name in good]
    bad = replicas.held.keys() - good
    is_enough = len(good) >= situation.factor
    given_up = {
        name
        for name, failures in situation.copying.items()
        if failures >= MAX_FAILURES or name not in there or name in good or is_enough
    }
    failed = situation.failed | {
        name for name in given_up if name in there and name not in good and not is_enough
    }
    copying = situation.copying.keys() - given_up
    able = there.keys() - good - copying - situation.deleting
    if not able - failed:
        failed = frozenset[str]()  # all have failed: they are asked again
    wanted = situation.factor - len(good) - len(copying)
    copy_to: tuple[str, ...] = ()
    if wanted > 0 and present:
        # One with a corrupt replica is the last resort: it keeps that until the copy is whole.
        room = [name for name in there if name in able - failed and there[name].free >= block.length]
        copy_to = fewest_transfers(room, there, wanted, last=bad)
    delete: tuple[str, ...] = ()
    if len(present) >= situation.factor:
        fullest = sorted(present, key=lambda name: there[name].free)
        delete = (*sorted(bad - copying), *fullest[: len(present) - situation.factor])
    return Plan(
        copy_to=copy_to,
        withdraw=tuple(sorted(given_up)),
        failed=frozenset(failed),
        delete=delete,
        keep=tuple(name for name in present if name not in delete),
        is_done=len(good) == situation.factor and not bad and not situation.copying,
    )


def fewest_transfers(
    names: Iterable[str],
    there: Mapping[str, DataNodeRecord],
    number: int,
    last: AbstractSet[str] = frozenset(),
    first: str = "",
) -> tuple[str, ...]:
    """Choose so many: `first` before all, then those with the fewest transfers under way; those of `last` after all."""

    def key(name: str) -> tuple[bool, bool, int]:
        return name != first, name in last, there[name].transfers

    return tuple(sorted(names, key=key)[:number])
