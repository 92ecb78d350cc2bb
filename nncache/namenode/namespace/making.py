"""Create directories, with the checks that MKDIRS and CREATE share.

Source: FSDirMkdirOp and FSDirectory.addLastINode of Hadoop 3.5.0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from nncache.namenode.namespace import events
from nncache.namenode.namespace.acls import inherited
from nncache.namenode.namespace.inode import Inode
from nncache.namenode.namespace.permissions import Caller, check_ancestor, check_traverse
from nncache.namenode.namespace.refusal import Java, Refusal, io_error, not_found
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, View

MAX_NAME_BYTES: Final = 255
MAX_PATH_CHARS: Final = 8_000
MAX_PATH_LEVELS: Final = 1_000

NewId: TypeAlias = Callable[[], int]
_OWNER_WX: Final = 0o300
_RIGHTS: Final = 0o777


@dataclass(frozen=True, slots=True)
class Modes:
    """A mode, and the mode before the client's umask if the client sends it."""

    masked: int
    unmasked: int | None = None

    def for_ancestors(self) -> "Modes":
        """Return the modes of missing ancestors: no sticky bit, write and execute for the owner (addImplicitUwx)."""
        return Modes(self.masked & _RIGHTS | _OWNER_WX, self.unmasked)


def mkdirs(
    view: View, tx: Transaction, caller: Caller, modes: Modes, new_id: NewId, *, create_parent: bool = True
) -> bool | Refusal:
    """Create a directory and its missing ancestors; an existing directory stays unchanged.

    A returned Refusal is an answer with changes to commit: HDFS creates one directory after the other, as far as
    quotas and limits allow.
    """
    (chain,) = view.chains
    check_path_length(chain.asked, "mkdirs")
    check_name(chain)
    check_traverse(caller, chain, creates=True)
    if chain.last is not None:
        if not chain.last.inode.is_directory:
            raise Refusal(Java.FILE_ALREADY_EXISTS, f"Path is not a directory: {chain.asked}")
        return True
    check_ancestor(caller, chain)
    if not create_parent:
        check_parent_exists(chain)
    above = make_ancestors(tx, chain, caller, modes.for_ancestors(), new_id)
    if isinstance(above, Refusal):
        return above
    try:
        _make(tx, chain, len(chain.names) - 1, above, caller, modes, new_id)
    except Refusal as refusal:
        return refusal
    return True


def make_ancestors(
    tx: Transaction, chain: Chain, caller: Caller, modes: Modes, new_id: NewId
) -> Inode | Refusal:
    """Create the missing ancestors of a path. Return its parent directory."""
    above = tx.now(chain.nodes[-1])
    for index in range(len(chain.nodes) - 1, len(chain.names) - 1):
        try:
            above = _make(tx, chain, index, above, caller, modes, new_id)
        except Refusal as refusal:
            return refusal
    return above


def _make(
    tx: Transaction, chain: Chain, index: int, above: Inode, caller: Caller, modes: Modes, new_id: NewId
) -> Inode:
    """Create the directory at one index of a path."""
    check_new_name(chain, index)
    mode, acl = inherited(above, modes.masked, modes.unmasked, is_directory=True)
    tx.consume(chain, 1, 0)
    made = Inode(
        id=new_id(),
        parent=above.id,
        name=chain.names[index],
        is_directory=True,
        owner=caller.user,
        group=above.group,  # inherited, as in BSD and HDFS
        mode=mode,
        acl=acl,
        mtime=tx.now_ms,
    )
    tx.make(made)
    tx.log(events.made(chain.path_of(index + 1), made))
    if above.id == chain.nodes[-1].inode.id:
        tx.touch(above.id)
    return made


def check_name(chain: Chain) -> None:
    """Refuse a path that is not valid (DFSUtil.isValidName)."""
    if not is_valid(chain.asked):
        raise Refusal(Java.INVALID_PATH, f"Invalid path name Invalid file name: {chain.asked}")


def is_valid(path: str) -> bool:
    """Tell whether a path, as requested, is valid for a new file or directory."""
    names = path.split("/")
    return path.startswith("/") and not any(
        name in {".", ".."} or ":" in name or (name == "" and 0 < index < len(names) - 1)
        for index, name in enumerate(names)
    )


def check_new_name(chain: Chain, index: int) -> None:
    """Refuse a new name, at one index of a path, that is too long or reserved."""
    name = chain.names[index]
    if index == 0 and name == ".reserved":
        raise Refusal(
            Java.HADOOP_ILLEGAL_ARGUMENT,
            f'File name "{name}" is reserved and cannot be created. If this is during upgrade change the name of '
            "the existing file or directory to another name before upgrading to the new release.",
        )
    size = len(name.encode("utf-8", "surrogatepass"))
    if size > MAX_NAME_BYTES:
        raise Refusal(
            Java.PATH_COMPONENT_TOO_LONG,
            f"The maximum path component name limit of {name} in directory {chain.path_of(index)} is exceeded: "
            f"limit={MAX_NAME_BYTES} length={size}",
        )
    if name == ".snapshot":
        raise Refusal(Java.HADOOP_ILLEGAL_ARGUMENT, '".snapshot" is a reserved name.')


def check_path_length(path: str, operation: str) -> None:
    """Refuse a path that is longer or deeper than HDFS allows."""
    if len(path) > MAX_PATH_CHARS or path.rstrip("/").count("/") > MAX_PATH_LEVELS:
        raise io_error(
            f"{operation}: Pathname too long.  Limit {MAX_PATH_CHARS} characters, {MAX_PATH_LEVELS} levels."
        )


def check_parent_exists(chain: Chain) -> None:
    """Refuse a path whose parent does not exist."""
    if chain.names and chain.parent is None:
        raise not_found(f"Parent directory doesn't exist: {chain.path_of(len(chain.names) - 1)}")
