"""The tree of directories."""

import gc
import weakref

from hypothesis import given
from hypothesis import strategies as st

from nncache.cache.entries import Directory, EntryKind
from nncache.cache.store import CacheStore
from nncache.cache.tree import Tree
from tests.cache.cases import ALICE, missing, status

PATHS = ["/", "/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f"]


def test_finds_what_was_ensured() -> None:
    """A path has one node, and so has each of its ancestors."""
    tree = Tree()
    node = tree.ensure("/a/b")
    assert tree.find("/a/b") is node is tree.ensure("/a/b")
    assert tree.find("/a") is node.parent
    assert tree.find("/") is tree.root
    assert tree.find("/a/b/c/d") is None
    assert tree.directories == 2


def test_detaching_cuts_all_below_in_one_step() -> None:
    """T1: everything below a detached directory is no longer attached; its siblings are."""
    tree = Tree()
    deep, sibling = tree.ensure("/a/b/c/d"), tree.ensure("/a/x")
    assert tree.detach("/a/b")
    assert not tree.is_attached(deep)
    assert tree.is_attached(sibling)
    assert not tree.detach("/a/b")
    assert tree.ensure("/a/b/c/d") is not deep
    tree.check()


def test_a_node_knows_its_path_while_it_is_attached() -> None:
    """T1: a node below a detached one has no path."""
    tree = Tree()
    deep, above = tree.ensure("/a/b/c"), tree.ensure("/a")
    assert [tree.path_of(node) for node in (deep, above, tree.root)] == ["/a/b/c", "/a", "/"]
    tree.detach("/a/b")
    assert (tree.path_of(deep), tree.path_of(above)) == (None, "/a")


def test_detaching_the_root_leaves_a_new_one() -> None:
    """A flush detaches the root like any other directory."""
    tree = Tree()
    old = tree.ensure("/a")
    assert tree.detach("/")
    assert not tree.is_attached(old)
    assert tree.is_attached(tree.ensure("/a"))
    tree.check()
    assert list(tree.dismantle()) == [None, None]
    assert tree.directories == 1


def test_detaching_costs_the_same_whatever_lies_below() -> None:
    """One link is cut; nothing below is visited."""
    tree = Tree()
    for n in range(1_000):
        tree.ensure(f"/a/{n}")
    top = tree.find("/a")
    assert top is not None
    tree.detach("/a")
    assert len(top.children) == 1_000
    assert all(child.parent is top for child in top.children.values())


def test_pruning_stops_at_the_first_directory_in_use() -> None:
    """A directory is needed for its children, its entries and grants, and its open tickets."""
    tree = Tree()
    tree.ensure("/a/x")
    node = tree.ensure("/a/b/c")
    tree.prune(node)
    assert tree.find("/a/b") is None
    assert tree.find("/a/x") is not None
    assert tree.directories == 2
    tree.prune(tree.root)


def test_what_was_dismantled_needs_no_garbage_collection(store: CacheStore) -> None:
    """No reference cycles are left: memory is freed immediately, in slices that the caller chooses."""
    ticket = None
    for n in range(10):
        ticket = store.take_ticket(f"/a/{n}/f", ALICE, 0.0, joinable=True)
        store.return_ticket(ticket)
        known = missing(0.0)
        store.keep_entry(ticket, known.reply, kind=known.kind, replied_at=0.0, since_txid=0)
        store.keep_grant(ticket.directory, ALICE, of_status=False, proven_at=0.0, expires_at=1.0)
    watched = [weakref.ref(node) for node in _nodes(store.tree.root)]
    del ticket
    gc.collect()
    gc.disable()
    try:
        store.forget_all()
        store.tree.ensure("/a/still/attached")
        slices = 0
        while store.reclaim(3):
            slices += 1
        assert slices >= 6
        assert [ref() for ref in watched if ref() is not None] == []
    finally:
        gc.enable()
    assert (store.entries, store.grants) == (0, 0)
    store.check()


class _Watched(Directory):
    """A directory that allows weak references."""

    __slots__ = ("__weakref__",)


def _nodes(root: Directory) -> list[_Watched]:
    """Replace each node below the root by one that allows weak references; return the new nodes."""
    found = []
    for own_name, child in list(root.children.items()):
        node = _Watched(root, own_name)
        node.children, node.entries = child.children, child.entries
        node.grants, node.positives = child.grants, child.positives
        for grandchild in node.children.values():
            grandchild.parent = node
        for entry in node.entries.values():
            entry.directory = node
        for grant in node.grants.values():
            grant.directory = node
        root.children[own_name] = node  # the root has a table of its own, because it had a child
        found += [node, *_nodes(node)]
    return found


def test_what_is_held(store: CacheStore) -> None:
    """The tree holds a path with an entry or an open ticket, and all its ancestors."""
    tree = store.tree
    assert not tree.holds("/a/b")
    assert not tree.holds("/")
    kept = [
        ("/a/b/c/f", missing(0.0)),
        ("/a/b", status(0.0, kind=EntryKind.DIRECTORY)),
        ("/x/y", status(0.0)),
    ]
    for path, known in kept:
        ticket = store.take_ticket(path, ALICE, 0.0, joinable=True)
        store.return_ticket(ticket)
        store.keep_entry(ticket, known.reply, kind=known.kind, replied_at=0.0, since_txid=0)
    paths = ("/a", "/a/b", "/a/b/c", "/a/b/c/f", "/x", "/x/y", "/z", "/a/z")
    assert [path for path in paths if tree.holds(path)] == list(paths[:6])
    store.take_ticket("/z", ALICE, 0.0, joinable=True)
    assert tree.holds("/z")
    assert tree.holds("/")


@given(
    st.lists(st.tuples(st.sampled_from(["ensure", "detach", "prune", "dismantle"]), st.sampled_from(PATHS)))
)
def test_agrees_with_a_set_of_paths(steps: list[tuple[str, str]]) -> None:
    """T1 to T3 hold after any steps; a node is found exactly where a plain set of paths has one."""
    tree, twin = Tree(), {"/"}
    for step, path in steps:
        match step:
            case "ensure":
                tree.ensure(path)
                twin |= {p for p in PATHS if path == p or path.startswith(p.rstrip("/") + "/")}
            case "detach":
                assert tree.detach(path) == (path in twin)
                twin = {p for p in twin if p != path and not p.startswith(path.rstrip("/") + "/")} | {"/"}
            case "prune":
                node = tree.find(path)
                if node is not None:
                    tree.prune(node)
                bare = path
                while bare != "/" and bare in twin and not any(p.startswith(bare + "/") for p in twin):
                    twin.discard(bare)
                    bare = bare.rsplit("/", 1)[0] or "/"
            case "dismantle":
                assert set(tree.dismantle()) <= {None}
                assert tree.directories == len(twin) - 1
        assert {p for p in PATHS if tree.find(p) is not None} == twin
        tree.check()


def test_the_deepest_directory_above_a_path_is_found_in_one_walk(store: CacheStore) -> None:
    """The cached status of a directory or of its child proves it, at any level; a 404 below it proves nothing."""
    for path, outcome in (
        ("/a/b/f", status(1.0)),
        ("/d/e", status(1.0, kind=EntryKind.DIRECTORY)),
        ("/m/n", missing(1.0)),
    ):
        ticket = store.take_ticket(path, ALICE, 0.0, joinable=True)
        store.keep_entry(ticket, outcome.reply, kind=outcome.kind, replied_at=1.0, since_txid=0)
    asked = ("/", "/a", "/a/b", "/a/b/f/x", "/a/b/g", "/d/e/f", "/d/e/f/g", "/m/n/o", "/x/y")
    assert [store.tree.proven_depth(path) for path in asked] == [0, 0, 0, 2, 2, 2, 2, 0, 0]
