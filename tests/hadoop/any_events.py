"""Any events that the wire can carry, for property tests."""

from typing import get_args

from hypothesis import strategies as st

from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Change,
    Closed,
    EverythingUnknown,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.hadoop.events import (
    AclKind,
    AclScope,
    Action,
    Append,
    Close,
    Create,
    Event,
    EventBatch,
    FileAclEntry,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Truncate,
    Unlink,
    XAttr,
    XAttrNamespace,
)
from nncache.hadoop.filestatus import FileType
from nncache.hadoop.paths import ROOT

texts = st.text(max_size=8)
paths = texts.map("/".__add__) | texts
numbers = st.sampled_from([-1, 0, 1]) | st.integers(-(1 << 63), (1 << 63) - 1)
modes = (st.sampled_from([0, 0o644, 0o1777]) | st.integers(0, (1 << 32) - 1)).map("{:o}".format)

acls = st.builds(
    FileAclEntry,
    scope=st.sampled_from(AclScope),
    kind=st.sampled_from(AclKind),
    name=texts,
    permissions=st.sampled_from(get_args(Action)),
)
xattrs = st.builds(XAttr, st.sampled_from(XAttrNamespace), texts, st.binary(max_size=8))

events: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        Create,
        kind=st.sampled_from(FileType),
        path=paths,
        ctime=numbers,
        owner=texts,
        group=texts,
        permission=modes,
        replication=numbers,
        symlink_target=texts,
        overwrite=st.booleans(),
        default_block_size=numbers,
        erasure_coded=st.booleans(),
    ),
    st.builds(Close, paths, numbers, numbers),
    st.builds(Append, paths, st.booleans()),
    st.builds(Rename, paths, paths, numbers),
    st.builds(
        MetadataUpdate,
        path=paths,
        kind=st.sampled_from(MetadataKind),
        mtime=numbers,
        atime=numbers,
        replication=numbers,
        owner=texts,
        group=texts,
        permission=modes,
        acls=st.lists(acls, max_size=3).map(tuple),
        xattrs=st.lists(xattrs, max_size=3).map(tuple),
        xattrs_removed=st.booleans(),
    ),
    st.builds(Unlink, paths, numbers),
    st.builds(Truncate, paths, numbers, numbers),
)


def batches(previous: int, txid: int) -> st.SearchStrategy[tuple[EventBatch, ...]]:
    """Return batches of transactions after `previous` up to `txid`, in order."""
    txids = st.lists(st.integers(previous + 1, txid), unique=True, max_size=4).map(sorted)
    return txids.flatmap(
        lambda chosen: st.tuples(
            *(
                st.builds(EventBatch, st.just(each), st.lists(events, max_size=3).map(tuple))
                for each in chosen
            )
        )
    )


def changes_at(paths: st.SearchStrategy[str]) -> st.SearchStrategy[Change]:
    """Return changes of these paths, and EverythingUnknown in a few cases."""
    single = st.sampled_from([Appeared, Vanished, Touched, Opened, Closed, AccessChanged, SubtreeUnknown])
    moved = st.lists(paths, min_size=2, max_size=2, unique=True).map(lambda pair: Moved(*pair))
    change: st.SearchStrategy[Change] = st.builds(lambda made, path: made(path), single, paths)
    return st.integers(0, 40).flatmap(
        lambda n: st.just(EverythingUnknown("test")) if n == 7 else moved if n % 5 == 4 else change
    )


def in_order(
    changes: st.SearchStrategy[Change], first_txid: int = 1, *, min_size: int = 0, max_size: int = 30
) -> st.SearchStrategy[list[tuple[int, Change]]]:
    """Return changes with ascending transaction ids; one transaction may have several."""

    def number(steps: list[tuple[int, Change]]) -> list[tuple[int, Change]]:
        txid, numbered = first_txid, []
        for step, change in steps:
            txid += step
            numbered.append((txid, change))
        return numbered

    return st.lists(st.tuples(st.integers(0, 2), changes), min_size=min_size, max_size=max_size).map(number)


names = st.sampled_from(["a", "b", "c"])
few_paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: ROOT + ROOT.join(parts))
any_paths = st.lists(st.text(max_size=4).map(lambda text: "x" + text.replace("/", "").replace("\0", ""))).map(
    lambda parts: ROOT + ROOT.join(parts)
)
