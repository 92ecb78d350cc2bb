"""Hits must be kept, not only right."""

from tests.proxied_cluster import ProxiedCluster, Where

SIBLINGS = 100


def test_a_change_below_one_sibling_costs_no_other(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """At least 99 % of the other entries are still there after each kind of change below one sibling."""
    places = [f"{hdfs_directory}/d{n:03}" for n in range(SIBLINGS)]
    for place in places:
        proxied_cluster.mkdirs(place, "alice")
    files = [f"{place}/_SUCCESS" for place in places]
    proxied_cluster.settle()
    for path in files:
        proxied_cluster.make_hit(path, "bob")
    changed = places[42]
    others = [path for path in files if not path.startswith(changed + "/")]
    proxied_cluster.must(proxied_cluster.write(Where.NAMENODE, f"{changed}/_SUCCESS", b"", "alice"))
    proxied_cluster.must(proxied_cluster.call(Where.NAMENODE, "PUT", "MKDIRS", f"{changed}/sub", "alice"))
    proxied_cluster.must(
        proxied_cluster.call(Where.PROXY, "PUT", "SETPERMISSION", f"{changed}/sub", "alice", permission="700")
    )
    proxied_cluster.must(
        proxied_cluster.call(
            Where.NAMENODE, "PUT", "RENAME", f"{changed}/sub", "alice", destination=f"{changed}/z"
        )
    )
    proxied_cluster.must(
        proxied_cluster.call(Where.PROXY, "DELETE", "DELETE", f"{changed}/z", "alice", recursive="true")
    )
    proxied_cluster.must(
        proxied_cluster.call(Where.NAMENODE, "DELETE", "DELETE", changed, "alice", recursive="true")
    )
    proxied_cluster.settle()
    kept = sum(proxied_cluster.ask(path, "bob").is_hit for path in others)
    assert kept >= 0.99 * len(others), f"{kept} of {len(others)} are still hits"
    assert not any(proxied_cluster.disagreement(path, "bob") for path in files)


def test_a_refused_write_costs_next_to_nothing(proxied_cluster: ProxiedCluster, hdfs_directory: str) -> None:
    """Refused writes must not empty the cache: only the path's and its parent's own entries go."""
    proxied_cluster.mkdirs(f"{hdfs_directory}/p/d", "alice")
    files = [f"{hdfs_directory}/p/d/{n}" for n in range(20)]
    proxied_cluster.settle()
    for path in files:
        proxied_cluster.make_hit(path, "alice")
    refused = proxied_cluster.call(
        Where.PROXY, "DELETE", "DELETE", f"{hdfs_directory}/p/d", "bob", recursive="true"
    )
    assert refused.status == 403
    assert all(proxied_cluster.ask(path, "alice").is_hit for path in files)


def test_pretended_writes_keep_no_directory_uncached(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """The NameNode redirects a CREATE of any path for anybody; over a directory it will never be carried out."""
    proxied_cluster.mkdirs(f"{hdfs_directory}/p/d", "alice")
    files = [f"{hdfs_directory}/p/d/{n}" for n in range(20)]
    proxied_cluster.settle()
    for path in files:
        proxied_cluster.make_hit(path, "alice")
    for place in ("/", "/t", hdfs_directory, f"{hdfs_directory}/p", f"{hdfs_directory}/p/d"):
        begun = proxied_cluster.call(Where.PROXY, "PUT", "CREATE", place, "carol", noredirect="true")
        assert begun.status == 200
    assert all(proxied_cluster.ask(path, "alice").is_hit for path in files)


def test_making_a_directory_that_is_there_costs_next_to_nothing(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """Jobs make their output directories again and again."""
    proxied_cluster.mkdirs(f"{hdfs_directory}/p/d", "alice")
    files = [f"{hdfs_directory}/p/d/{n}" for n in range(20)]
    proxied_cluster.settle()
    for path in files:
        proxied_cluster.make_hit(path, "alice")
    proxied_cluster.must(proxied_cluster.call(Where.PROXY, "PUT", "MKDIRS", f"{hdfs_directory}/p/d", "alice"))
    assert all(proxied_cluster.ask(path, "alice").is_hit for path in files)
