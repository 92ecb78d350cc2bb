"""The cached paths, and globs that do not match what they seem to."""

from nncache.checks.about_paths import filters, globs
from nncache.checks.facts import StoredFound
from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.filters.trust import Distrust
from tests.checks.samples import ON_ZOOKEEPER, of_proxy, of_publisher, published, reported


def in_force(name: str, glob: str) -> PublishedFilter:
    """Return a filter as stored in ZooKeeper."""
    return PublishedFilter(
        name=name, id="1", path_glob=glob, since_txid=1, owner="joe", allowed_subscribers=()
    )


def test_globs_of_a_proxy() -> None:
    """No glob is a warning, as at the start. For a doubtful glob, the line has its correction."""
    assert reported(globs(of_proxy({"glob": ("/a/*", "/b")}))) == [
        "ok: paths that match are answered from memory: /a/*, /b | "
    ]
    (line,) = reported(globs(of_proxy()))
    assert line.startswith("warning: no glob is given: nothing is answered from memory | set --glob to")
    (line,) = reported(globs(of_proxy({"glob": ("/a/**", "/b")})))
    assert line.startswith("warning: /a/**: ** stays within one level")
    assert line.endswith("| change --glob")
    assert reported(globs(of_proxy(ON_ZOOKEEPER))) == [
        "skipped: because the filters say which paths are meant | "
    ]
    assert reported(filters(of_proxy())) == ["skipped: because the globs say which paths are meant | "]


def test_filters_in_hdfs_are_a_publishers() -> None:
    """They may be unreadable, broken, doubtful or absent."""
    assert reported(filters(of_publisher())) == ["skipped: because no NameNode answers over HTTP | "]
    (line,) = reported(filters(of_publisher(stored=StoredFound(silence="HDFS says: no"))))
    assert line.startswith(
        "failed: the filters in /apps/nncache/filters cannot be read: HDFS says: no | see that hdfs"
    )
    assert "(--filters-path)" in line
    (line,) = reported(filters(of_publisher(stored=StoredFound(is_slow=True))))
    assert line.startswith(
        "skipped: because reading the filters in /apps/nncache/filters takes too long for a check"
    )
    (line,) = reported(filters(of_publisher(stored=StoredFound())))
    assert line.startswith("warning: there are no filters in /apps/nncache/filters")
    odd = StoredFound(globs={"deep": "/a/**"}, broken={"x": "no definition"})
    broken, deep = reported(filters(of_publisher(stored=odd)))
    assert broken == (
        "warning: filter x in /apps/nncache/filters is broken: no definition | "
        "nncache filters remove x, and add it again"
    )
    assert deep.startswith("warning: filter deep: /a/**: ** stays within one level")
    good = StoredFound(globs={"a": "/a"})
    assert reported(filters(of_publisher(stored=good)))[0].startswith(
        "ok: filters in /apps/nncache/filters: 1"
    )


def test_filters_that_others_may_write_fail() -> None:
    """Each cause has one finding with the command that mends it. The other filters are judged as usual."""
    why = Distrust("/apps may be written by others", "hdfs dfs -chmod go-w /apps")
    odd = StoredFound(globs={"a": "/a", "b": "/b", "c": "/c"}, untrusted={"a": why, "b": why})
    refused, good = reported(filters(of_publisher(stored=odd)))
    assert refused == (
        "failed: the publisher refuses a, b: /apps may be written by others | hdfs dfs -chmod go-w /apps"
    )
    assert good.startswith("ok: filters in /apps/nncache/filters: 1")
    alone = StoredFound(globs={"a": "/a"}, untrusted={"a": why})
    assert len(reported(filters(of_publisher(stored=alone)))) == 1


def test_filters_in_force_are_a_followers() -> None:
    """The proxy reads them from ZooKeeper."""
    assert reported(filters(of_proxy(ON_ZOOKEEPER)))[0].startswith(
        "skipped: because the nameservice is not published"
    )
    found = published(filters=(in_force("a", "/a"),), bad_filters={"b": "/x/b: odd"})
    bad, good = reported(filters(of_proxy(ON_ZOOKEEPER, zookeeper=found)))
    assert bad.startswith(
        "warning: a definition in ZooKeeper cannot be read: /x/b: odd | restart the publisher"
    )
    assert good.startswith("ok: filters in force: 1")
    assert (
        "there are no filters in force" in reported(filters(of_proxy(ON_ZOOKEEPER, zookeeper=published())))[0]
    )
