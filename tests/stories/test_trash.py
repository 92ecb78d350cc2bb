"""What `hdfs dfs` does that WebHDFS has no operation for."""

import time

from tests.world import USERS, World


def test_a_file_moved_to_the_trash_is_gone(world: World, hdfs_directory: str) -> None:
    """Trash: directories are made and the file is renamed, all behind the proxy's back."""
    path = f"{hdfs_directory}/d/f"
    shell = world.cluster.fs_shell
    assert shell("-mkdir", "-p", f"{hdfs_directory}/d").exit_code == 0
    assert shell("-touchz", path).exit_code == 0
    for user in USERS:
        assert world.make_hit(path, user).status == 200
    assert shell("-rm", path).exit_code == 0
    trashed = f"/user/{world.cluster.superuser}/.Trash/Current{path}"
    assert world.truth(trashed, world.cluster.superuser).status == 200, "trash is on"
    for user in USERS:
        world.await_agreement(path, user, since=time.monotonic())
        assert world.make_hit(path, user).status == 404
