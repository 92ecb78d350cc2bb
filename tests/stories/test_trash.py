"""What `hdfs dfs` does that WebHDFS has no operation for."""

import time

from tests.proxied_cluster import USERS, ProxiedCluster


def test_a_file_moved_to_the_trash_is_gone(proxied_cluster: ProxiedCluster, hdfs_directory: str) -> None:
    """Trash: directories are made and the file is renamed, all behind the proxy's back."""
    path = f"{hdfs_directory}/d/f"
    shell = proxied_cluster.cluster.fs_shell
    assert shell("-mkdir", "-p", f"{hdfs_directory}/d").exit_code == 0
    assert shell("-touchz", path).exit_code == 0
    for user in USERS:
        assert proxied_cluster.make_hit(path, user).status == 200
    assert shell("-rm", path).exit_code == 0
    trashed = f"/user/{proxied_cluster.cluster.superuser}/.Trash/Current{path}"
    assert proxied_cluster.truth(trashed, proxied_cluster.cluster.superuser).status == 200, "trash is on"
    for user in USERS:
        proxied_cluster.await_agreement(path, user, since=time.monotonic())
        assert proxied_cluster.make_hit(path, user).status == 404
