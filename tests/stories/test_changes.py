"""A hit before a change is correct after it, whoever makes the change, through the proxy or not."""

import time

import pytest

from tests.real.proxied_cluster import USERS, CallTarget, ProxiedCluster
from tests.stories.changes import CHANGES, UNANNOUNCED, Change


def _by_name(value: object) -> str | None:
    return value.name if isinstance(value, Change) else None


def _hits_of(proxied_cluster: ProxiedCluster, root: str, change: Change) -> list[tuple[str, str]]:
    """Make hits of all watched paths that the user may see; return all pairs of path and user."""
    watched = [(f"{root}/{name}", user) for name in change.watched for user in USERS]
    for path, user in watched:
        if proxied_cluster.truth(path, user).status in {200, 404}:
            proxied_cluster.make_hit(path, user)
        assert not proxied_cluster.disagreement(path, user)
    return watched


@pytest.mark.parametrize("change", [*CHANGES, *UNANNOUNCED], ids=_by_name)
def test_own_writes(proxied_cluster: ProxiedCluster, hdfs_directory: str, change: Change) -> None:
    """OwnWrites: after the reply to a write through the proxy, the next read sees the change."""
    change.before(proxied_cluster, hdfs_directory, CallTarget.NAMENODE)
    watched = _hits_of(proxied_cluster, hdfs_directory, change)
    before = {pair: proxied_cluster.ask(*pair) for pair in watched}
    change.act(proxied_cluster, hdfs_directory, CallTarget.PROXY)
    if change.goes_on:
        since = time.monotonic()
        seen = {pair: proxied_cluster.ask(*pair) for pair in watched}
        assert not [pair for pair in watched if seen[pair].is_hit and seen[pair].body == before[pair].body]
        for pair in watched:
            proxied_cluster.await_agreement(*pair, since=since)
        return
    wrong = {
        (path, user): found for path, user in watched if (found := proxied_cluster.disagreement(path, user))
    }
    assert not wrong, wrong


@pytest.mark.parametrize("change", CHANGES, ids=_by_name)
def test_bounded(proxied_cluster: ProxiedCluster, hdfs_directory: str, change: Change) -> None:
    """Bounded: a change at the NameNode is visible soon, and then the answer comes from memory again."""
    change.before(proxied_cluster, hdfs_directory, CallTarget.NAMENODE)
    watched = _hits_of(proxied_cluster, hdfs_directory, change)
    change.act(proxied_cluster, hdfs_directory, CallTarget.NAMENODE)
    since = time.monotonic()
    for path, user in watched:
        proxied_cluster.await_agreement(path, user, since=since)
    for path, user in watched:
        if proxied_cluster.truth(path, user).status in {200, 404}:
            proxied_cluster.make_hit(path, user)


def test_a_file_moved_to_the_trash_is_gone(proxied_cluster: ProxiedCluster, hdfs_directory: str) -> None:
    """The shell makes directories and renames the file, all directly at the NameNode."""
    path = f"{hdfs_directory}/d/f"
    shell = proxied_cluster.cluster.fs_shell
    assert shell("-mkdir", "-p", f"{hdfs_directory}/d").returncode == 0
    assert shell("-touchz", path).returncode == 0
    for user in USERS:
        assert proxied_cluster.make_hit(path, user).status == 200
    assert shell("-rm", path).returncode == 0
    trashed = f"/user/{proxied_cluster.cluster.superuser}/.Trash/Current{path}"
    assert proxied_cluster.truth(trashed, proxied_cluster.cluster.superuser).status == 200, "trash is on"
    for user in USERS:
        proxied_cluster.await_agreement(path, user, since=time.monotonic())
        assert proxied_cluster.make_hit(path, user).status == 404
