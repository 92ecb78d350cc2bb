"""Any events that the wire can carry, for property tests."""

from typing import get_args

from hypothesis import strategies as st

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
    """Batches of transactions after `previous` up to `txid`, in order."""
    txids = st.lists(st.integers(previous + 1, txid), unique=True, max_size=4).map(sorted)
    return txids.flatmap(
        lambda chosen: st.tuples(
            *(
                st.builds(EventBatch, st.just(each), st.lists(events, max_size=3).map(tuple))
                for each in chosen
            )
        )
    )
