"""Inode and block ids are unique."""

import asyncio

import pytest

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.zookeeper import CreateOp
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.view import IdsNeededError
from nncache.namenode.node.filesystem import IDS_AT_ONCE, IDS_OF_ONE_OPERATION, Ids


async def test_no_id_is_given_twice() -> None:
    """Several NameNodes take ids, each with concurrent operations that all found enough ids in reserve."""
    znodes = EmbeddedZnodes()
    await znodes.commit([CreateOp(layout.IDS, b"1")])
    several = [Ids(znodes), Ids(znodes)]
    taken: list[int] = []
    for _ in range(3):
        await asyncio.gather(*(ids.prepare() for ids in several for _ in range(2)))
        taken += [ids.take() for ids in several for _ in range(IDS_AT_ONCE)]
    assert len(set(taken)) == len(taken)


async def test_what_was_not_taken_from_the_store_is_not_given() -> None:
    """Without ids in reserve, take() raises; the operation is decided again after another prepare()."""
    znodes = EmbeddedZnodes()
    await znodes.commit([CreateOp(layout.IDS, b"1")])
    ids = Ids(znodes)
    await ids.prepare()
    for _ in range(IDS_AT_ONCE + IDS_OF_ONE_OPERATION):
        ids.take()
    with pytest.raises(IdsNeededError):
        ids.take()
    await ids.prepare()
    assert ids.take() == 1 + IDS_AT_ONCE + IDS_OF_ONE_OPERATION
