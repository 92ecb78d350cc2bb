"""The paths of all znodes of the store.

| path                           | data                                 | children                       |
|--------------------------------|--------------------------------------|--------------------------------|
| /inodes/ID                     | the inode with its parent and name   |                                |
| /file_system/DIRID             | time of the last change, ms          | its entries                    |
| /file_system/DIRID/NAME        | the inode's id; never changed        |                                |
| /block_locations/BLOCK         | file, targets                        | the DataNodes that hold it     |
| /leases/HOLDER                 | nothing; its version counts renewals | ids of the files that are open |
| /snapshottable/ID              | nothing: marks the directory         |                                |
| /work_queues/trees/ID          | nothing: detached, to be reclaimed   |                                |
| /work_queues/recover/BLOCK     | an order to recover the block        |                                |
| /work_queues/delete/DN/BLOCK   | nothing: the replica may be deleted  |                                |
| /work_queues/wait_for_acks/ITEM| state of the replica check of a      |                                |
|                                | block or FILE-VERSION                |                                |
| /work_queues/replicate/DN/BLOCK| number of failed attempts to copy    |                                |
| /work_queues/block_reports/DN  | nothing                              | buckets that differ            |
| /work_queues/claims/CLAIM      | QUEUE-ITEM-SESSION; ephemeral        |                                |
| /edits                         | number of the first segment kept     |                                |
| /edits/SEGMENT/e-NUMBER        | the events of one edit; sequential   | (hadoop/feed_znodes.py)        |
| /ids                           | the next free id                     |                                |
| /version                       | identity of the namespace            |                                |
| /settings                      | settings that all processes share    |                                |
| /health/DN                     | the DataNode's address and state     | `heartbeat`, ephemeral         |
| /health/DN/blocks/BUCKET       | the DataNode's replicas              |                                |
| /name_nodes/NAME               | the NameNode's address; ephemeral    |                                |
| /active                        | the leader's name; ephemeral         |                                |
| /epoch                         | number of elections, time of the last|                                |
| /marks/NAME/NUMBER             | coordination/linearizable.py         |                                |

Ids are never used twice, so the version of an inode's znode guards its place, permissions and identity together.
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
"""The znodes that a format creates empty, parents first."""

# Characters that ZooKeeper's PathUtils.validatePath refuses, in Java's UTF-16 terms, and the escape character.
_REFUSED: Final = re.compile(
    "[%/\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]|^\\.{1,2}$"
)
_ESCAPE: Final = re.compile(r"%([0-9a-f]+);")


def inode(number: int) -> str:
    """Return the path of an inode."""
    return f"{INODES}/{number}"


def directory(number: int) -> str:
    """Return the path below which a directory's entries are."""
    return f"{FILE_SYSTEM}/{number}"


def entry(directory_id: int, name: str) -> str:
    """Return the path of a directory entry."""
    return f"{FILE_SYSTEM}/{directory_id}/{escape(name)}"


def location(block: int) -> str:
    """Return the path of a block's location."""
    return f"{BLOCK_LOCATIONS}/{block}"


def replica(block: int, datanode: str) -> str:
    """Return the path of the record that a DataNode holds a block."""
    return f"{BLOCK_LOCATIONS}/{block}/{datanode}"


def health(datanode: str) -> str:
    """Return the path of a DataNode's address and state."""
    return f"{HEALTH}/{datanode}"


def heartbeat(datanode: str) -> str:
    """Return the path of the ephemeral znode of a live DataNode."""
    return f"{HEALTH}/{datanode}/heartbeat"


def deletions(datanode: str) -> str:
    """Return the path of the queue of replicas that a DataNode may delete."""
    return f"{DELETE}/{datanode}"


def deletion(datanode: str, block: int) -> str:
    """Return the path of the order to delete a replica."""
    return f"{DELETE}/{datanode}/{block}"


def waiting(block: int) -> str:
    """Return the path of the queued replica check of a block."""
    return f"{WAIT_FOR_ACKS}/{block}"


def waiting_file(file: int, version: int) -> str:
    """Return the path of the queued replica check of a file's blocks, at this version of its inode."""
    return f"{WAIT_FOR_ACKS}/{file}-{version}"


def copies(datanode: str) -> str:
    """Return the path of the queue of blocks that a DataNode must copy to itself."""
    return f"{REPLICATE}/{datanode}"


def copy(datanode: str, block: int) -> str:
    """Return the path of the order to copy a block to a DataNode."""
    return f"{REPLICATE}/{datanode}/{block}"


def inventory(datanode: str) -> str:
    """Return the path below which a DataNode's inventory is."""
    return f"{HEALTH}/{datanode}/blocks"


def bucket(datanode: str, number: int) -> str:
    """Return the path of a bucket of the inventory."""
    return f"{HEALTH}/{datanode}/blocks/{number}"


def report(datanode: str) -> str:
    """Return the path below which a DataNode's block report is."""
    return f"{BLOCK_REPORTS}/{datanode}"


def claim(queue: str, item: str, session: int) -> str:
    """Return the path of the ephemeral claim of a session that works on an item of a queue."""
    return f"{CLAIMS}/{queue}-{item}-{session:x}"


def lease(holder: str) -> str:
    """Return the path of a holder's lease."""
    return f"{LEASES}/{escape(holder)}"


def leased(holder: str, file: int) -> str:
    """Return the path of the record that a holder has a file open."""
    return f"{LEASES}/{escape(holder)}/{file}"


def escape(name: str) -> str:
    """Escape the characters that ZooKeeper refuses in a name, such as emoji and control characters."""
    return _REFUSED.sub(lambda found: "".join(_escaped(found[0])), name)


def _escaped(text: str) -> Iterator[str]:
    return (f"%{ord(character):x};" for character in text)


def unescape(spelled: str) -> str:
    """Undo `escape`."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), spelled)
