"""Choose the replicas of a block to create and to delete.

Pure. Source: BlockManager and BlockPlacementPolicyDefault of Hadoop 3.5.0, without racks. Between equally good
DataNodes the order of the arguments decides: the caller shuffles them.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from nncache.namenode.namespace.inode import Block, BlockState, DataNodeRecord
from nncache.namenode.namespace.view import BlockReplicas

MAX_FAILURES: Final = 3
"""Number of failed attempts after which another DataNode makes the copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A block, and the state that decides on its replicas."""

    block: Block
    factor: int
    replicas: BlockReplicas
    there: Mapping[str, DataNodeRecord]  # live DataNodes
    copying: Mapping[str, int]  # DataNodes ordered to copy the block: their failed attempts
    deleting: AbstractSet[str]  # DataNodes ordered to delete a replica
    failed: AbstractSet[str] = field(default_factory=frozenset)  # DataNodes that could not copy it


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationPlan:
    """The next step for a block's replicas.

    Invariants:
        P1  A replica is deleted only while live DataNodes keep as many good ones as the file wants.
        P2  The only good replica is never deleted.
    """

    copy_to: tuple[str, ...] = ()
    withdraw: tuple[str, ...] = ()  # orders to copy that are impossible or unneeded
    failed: frozenset[str] = frozenset()  # the new `Situation.failed`
    delete: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()  # good replicas that allow the deletions
    is_done: bool = False  # no further step is needed


def plan(situation: Situation) -> ReplicationPlan:
    """Return the next step for a block. The step after it depends on the state at that time.

    A good replica counts also while its DataNode is unavailable, until the DataNode is declared dead and its replicas
    are dropped. A block that is not complete gets an empty step.
    """
    block, there, replicas = situation.block, situation.there, situation.replicas
    if block.state is not BlockState.COMPLETE:
        return ReplicationPlan(failed=frozenset(situation.failed))
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
        failed = frozenset[str]()  # all have failed: retry them
    wanted = situation.factor - len(good) - len(copying)
    copy_to: tuple[str, ...] = ()
    if wanted > 0 and present:
        # A DataNode with a corrupt replica is the last resort: it keeps that replica until the copy is complete.
        room = [name for name in there if name in able - failed and there[name].free >= block.length]
        copy_to = fewest_transfers(room, there, wanted, last=bad)
    delete: tuple[str, ...] = ()
    if len(present) >= situation.factor:
        fullest = sorted(present, key=lambda name: there[name].free)
        delete = (*sorted(bad - copying), *fullest[: len(present) - situation.factor])
    return ReplicationPlan(
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
    """Choose `number` names: `first`, then those with the fewest transfers in flight; those of `last` come last."""

    def key(name: str) -> tuple[bool, bool, int]:
        return name != first, name in last, there[name].transfers

    return tuple(sorted(names, key=key)[:number])
