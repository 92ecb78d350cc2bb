"""Decide the result of a block's recovery from its replicas.

Pure. Source: BlockRecoveryWorker.RecoveryTaskContiguous of Hadoop 3.5.0.
"""

from collections.abc import Mapping

from nncache.namenode.datanode.replicas import ReplicaInfo
from nncache.namenode.namespace.inode import Recovery
from nncache.namenode.namespace.leases import Recovered


def decide_recovery(order: Recovery, found: Mapping[str, ReplicaInfo | None]) -> Recovered | None:
    """Return the length and the DataNodes that keep the block; None: a later recovery is under way.

    A pipeline continued without the DataNodes that have an older stamp: they do not take part. If any replica is
    finalized, its length counts, and unfinished replicas of that length take part. Otherwise the smallest length
    counts, which all have. A truncation sets the length itself; shorter replicas do not take part.
    """
    if any(replica is not None and replica.stamp > order.recovery_id for replica in found.values()):
        return None
    usable = {name: replica for name, replica in found.items() if replica is not None and replica.length > 0}
    if not usable:
        return Recovered(order=order)
    newest = max(replica.stamp for replica in usable.values())
    usable = {name: replica for name, replica in usable.items() if replica.stamp == newest}
    whole = {name: replica for name, replica in usable.items() if replica.is_finalized}
    length = min(replica.length for replica in (whole or usable).values())
    taking_part = {
        name: replica
        for name, replica in usable.items()
        if name in whole or not whole or replica.length == length
    }
    if order.truncate_to >= 0:
        taking_part = {name: each for name, each in taking_part.items() if each.length >= order.truncate_to}
        length = order.truncate_to
    return Recovered(order=order, length=length, datanodes=tuple(sorted(taking_part)))
