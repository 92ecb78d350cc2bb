"""Where everything stands in the store.

| path                           | data                                 | children                       |
|--------------------------------|--------------------------------------|--------------------------------|
| /inodes/ID                     | the inode, its parent and name in it |                                |
| /file_system/DIRID             | time of the last change, ms          | its entries                    |
| /file_system/DIRID/NAME        | the inode's id; never set            |                                |
| /block_locations/BLOCK         | file, targets                        | the DataNodes that hold it     |
| /leases/HOLDER                 | nothing; its version counts renewals | ids of the files that are open |
| /snapshottable/ID              | nothing: that directory is           |                                |
| /work_queues/trees/ID          | nothing: detached, to be reclaimed   |                                |
| /work_queues/recover/BLOCK     | an order to recover the block        |                                |
| /work_queues/delete/DN/BLOCK   | nothing: the replica may go          |                                |
| /work_queues/wait_for_acks/ITEM| a block or FILE-VERSION: its         |                                |
|                                | replicas are to be looked at         |                                |
| /work_queues/replicate/DN/BLOCK| how often the copy has failed        |                                |
| /work_queues/block_reports/DN  | nothing                              | buckets that differ            |
| /work_queues/claims/CLAIM      | ephemeral: QUEUE-ITEM-SESSION works  |                                |
| /edits                         | the first segment kept, its number   |                                |
| /edits/SEGMENT/e-NUMBER        | the events of one edit; sequential   | (hadoop/feed_znodes.py)        |
| /ids                           | the next id that is not taken        |                                |
| /version                       | which namespace this is              |                                |
| /settings                      | what all processes must agree on     |                                |
| /health/DN                     | where the DataNode is, and its state | `heartbeat`, ephemeral         |
| /health/DN/blocks/BUCKET       | which replicas the DataNode has      |                                |
| /name_nodes/NAME               | where the NameNode is; ephemeral     |                                |
| /active                        | the leader's name; ephemeral         |                                |
| /epoch                         | how often one was elected, and when  |                                |
| /marks/NAME/NUMBER             | coordination/linearizable.py         |                                |

Ids are never used twice, so the version of an inode's znode guards its place, its rights and its identity in one.
"""

import re
from collections.abc import Iterator
from typing import Final

INODES: Final = "/inodes"
FILE_SYSTEM: Final = "/file_system"
BLOCK_LOCATIONS: Final = "/block_locations"
LEASES: Final = "/leases"
WORK_QUEUES: Final = "/work_queues"
TREES: Final = f"{WORK_QUEUES}/trees"
RECOVER: Final = f"{WORK_QUEUES}/recover"
DELETE: Final = f"{WORK_QUEUES}/delete"
WAIT_FOR_ACKS: Final = f"{WORK_QUEUES}/wait_for_acks"
REPLICATE: Final = f"{WORK_QUEUES}/replicate"
BLOCK_REPORTS: Final = f"{WORK_QUEUES}/block_reports"
CLAIMS: Final = f"{WORK_QUEUES}/claims"
SNAPSHOTTABLE: Final = "/snapshottable"
IDS: Final = "/ids"
SETTINGS: Final = "/settings"
HEALTH: Final = "/health"
NAME_NODES: Final = "/name_nodes"
ACTIVE: Final = "/active"
EPOCH: Final = "/epoch"

ROOTS: Final = (
    INODES,
    FILE_SYSTEM,
    BLOCK_LOCATIONS,
    LEASES,
    WORK_QUEUES,
    TREES,
    RECOVER,
    DELETE,
    WAIT_FOR_ACKS,
    REPLICATE,
    BLOCK_REPORTS,
    CLAIMS,
    SNAPSHOTTABLE,
    HEALTH,
    NAME_NODES,
)
"""The znodes that a format makes empty, parents first."""

# What ZooKeeper's PathUtils.validatePath refuses, as Java counts characters, and the escape itself.
_REFUSED: Final = re.compile(
    "[%/\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]|^\\.{1,2}$"
)
_ESCAPE: Final = re.compile(r"%([0-9a-f]+);")


def inode(number: int) -> str:
    """Return where an inode is."""
    return f"{INODES}/{number}"


def directory(number: int) -> str:
    """Return where a directory's entries are."""
    return f"{FILE_SYSTEM}/{number}"


def entry(directory_id: int, name: str) -> str:
    """Return where an entry is."""
    return f"{FILE_SYSTEM}/{directory_id}/{escape(name)}"


def location(block: int) -> str:
    """Return where a block's location is."""
    return f"{BLOCK_LOCATIONS}/{block}"


def replica(block: int, datanode: str) -> str:
    """Return where it stands that a DataNode holds a block."""
    return f"{BLOCK_LOCATIONS}/{block}/{datanode}"


def health(datanode: str) -> str:
    """Return where a DataNode says where it is."""
    return f"{HEALTH}/{datanode}"


def heartbeat(datanode: str) -> str:
    """Return what is there as long as a DataNode is."""
    return f"{HEALTH}/{datanode}/heartbeat"


def deletions(datanode: str) -> str:
    """Return where the replicas are named that a DataNode may delete."""
    return f"{DELETE}/{datanode}"


def deletion(datanode: str, block: int) -> str:
    """Return what lets a DataNode delete a replica."""
    return f"{DELETE}/{datanode}/{block}"


def waiting(block: int) -> str:
    """Return what is there while a block's replicas are to be looked at."""
    return f"{WAIT_FOR_ACKS}/{block}"


def waiting_file(file: int, version: int) -> str:
    """Return the same for all blocks of a file, of which this version of its inode is to be looked at."""
    return f"{WAIT_FOR_ACKS}/{file}-{version}"


def copies(datanode: str) -> str:
    """Return where the blocks are named that a DataNode is to copy to itself."""
    return f"{REPLICATE}/{datanode}"


def copy(datanode: str, block: int) -> str:
    """Return the order to copy a block to a DataNode."""
    return f"{REPLICATE}/{datanode}/{block}"


def inventory(datanode: str) -> str:
    """Return where it stands which replicas a DataNode has."""
    return f"{HEALTH}/{datanode}/blocks"


def bucket(datanode: str, number: int) -> str:
    """Return a part of that."""
    return f"{HEALTH}/{datanode}/blocks/{number}"


def report(datanode: str) -> str:
    """Return where a DataNode's report is."""
    return f"{BLOCK_REPORTS}/{datanode}"


def claim(queue: str, item: str, session: int) -> str:
    """Return what is there while a session works on an item of a queue."""
    return f"{CLAIMS}/{queue}-{item}-{session:x}"


def lease(holder: str) -> str:
    """Return where a holder's lease is."""
    return f"{LEASES}/{escape(holder)}"


def leased(holder: str, file: int) -> str:
    """Return where it stands that a holder has a file open."""
    return f"{LEASES}/{escape(holder)}/{file}"


def escape(name: str) -> str:
    """Spell a name so that ZooKeeper takes it: emoji and control characters among others do not go in."""
    return _REFUSED.sub(lambda found: "".join(_escaped(found[0])), name)


def _escaped(text: str) -> Iterator[str]:
    return (f"%{ord(character):x};" for character in text)


def unescape(spelled: str) -> str:
    """Undo `escape`."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), spelled)
