"""Hits must be kept, not only right."""

from tests.world import Where, World

SIBLINGS = 100


def test_a_change_under_one_of_many_siblings_costs_the_others_nothing(
    world: World, hdfs_directory: str
) -> None:
    """At least 99 % of the other entries are still there after each kind of change below one sibling."""
    places = [f"{hdfs_directory}/d{n:03}" for n in range(SIBLINGS)]
    for place in places:
        world.mkdirs(place, "alice")
    files = [f"{place}/_SUCCESS" for place in places]
    world.settle()
    for path in files:
        world.make_hit(path, "bob")
    changed = places[42]
    others = [path for path in files if not path.startswith(changed + "/")]
    world.must(world.write(Where.NAMENODE, f"{changed}/_SUCCESS", b"", "alice"))
    world.must(world.call(Where.NAMENODE, "PUT", "MKDIRS", f"{changed}/sub", "alice"))
    world.must(world.call(Where.PROXY, "PUT", "SETPERMISSION", f"{changed}/sub", "alice", permission="700"))
    world.must(
        world.call(Where.NAMENODE, "PUT", "RENAME", f"{changed}/sub", "alice", destination=f"{changed}/z")
    )
    world.must(world.call(Where.PROXY, "DELETE", "DELETE", f"{changed}/z", "alice", recursive="true"))
    world.must(world.call(Where.NAMENODE, "DELETE", "DELETE", changed, "alice", recursive="true"))
    world.settle()
    kept = sum(world.ask(path, "bob").is_hit for path in others)
    assert kept >= 0.99 * len(others), f"{kept} of {len(others)} are still hits"
    assert not any(world.disagreement(path, "bob") for path in files)


def test_a_refused_write_costs_next_to_nothing(world: World, hdfs_directory: str) -> None:
    """Refused writes must not empty the cache: only the path's and its parent's own entries go."""
    world.mkdirs(f"{hdfs_directory}/p/d", "alice")
    files = [f"{hdfs_directory}/p/d/{n}" for n in range(20)]
    world.settle()
    for path in files:
        world.make_hit(path, "alice")
    refused = world.call(Where.PROXY, "DELETE", "DELETE", f"{hdfs_directory}/p/d", "bob", recursive="true")
    assert refused.status == 403
    assert all(world.ask(path, "alice").is_hit for path in files)


def test_nobody_can_keep_a_directory_out_of_memory_by_pretending_to_write_it(
    world: World, hdfs_directory: str
) -> None:
    """The NameNode redirects a CREATE of any path for anybody; over a directory it will never be carried out."""
    world.mkdirs(f"{hdfs_directory}/p/d", "alice")
    files = [f"{hdfs_directory}/p/d/{n}" for n in range(20)]
    world.settle()
    for path in files:
        world.make_hit(path, "alice")
    for place in ("/", "/t", hdfs_directory, f"{hdfs_directory}/p", f"{hdfs_directory}/p/d"):
        begun = world.call(Where.PROXY, "PUT", "CREATE", place, "carol", noredirect="true")
        assert begun.status == 200
    assert all(world.ask(path, "alice").is_hit for path in files)


def test_making_a_directory_that_is_there_costs_next_to_nothing(world: World, hdfs_directory: str) -> None:
    """Jobs make their output directories again and again."""
    world.mkdirs(f"{hdfs_directory}/p/d", "alice")
    files = [f"{hdfs_directory}/p/d/{n}" for n in range(20)]
    world.settle()
    for path in files:
        world.make_hit(path, "alice")
    world.must(world.call(Where.PROXY, "PUT", "MKDIRS", f"{hdfs_directory}/p/d", "alice"))
    assert all(world.ask(path, "alice").is_hit for path in files)
