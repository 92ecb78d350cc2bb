"""What a caller may not see, `Cache-Status` does not tell."""

from nncache.hadoop.calls import PREFIX
from tests.real.proxied_cluster import ProxiedCluster, Where

REFUSED = 403, "nncache; fwd=miss"


def test_cache_status_leaks_nothing_of_a_private_tree(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """ProvenGrant: existing, missing, kept, changed and being written look alike to carol, and to alice not."""
    home = f"{hdfs_directory}/home"
    proxied_cluster.mkdirs(home, "alice", "700")
    proxied_cluster.mkdirs(f"{home}/there", "alice")
    for name in ("there", "missing"):
        proxied_cluster.make_hit(f"{home}/{name}", "alice")

    def carol(name: str, *fields: tuple[str, str]) -> tuple[int, str]:
        target = f"{PREFIX}{home}/{name}?op=GETFILESTATUS&user.name=carol"
        reply = proxied_cluster.through.ask("GET", target, headers=fields)
        return reply.status, reply.header("Cache-Status")

    def begin(name: str, user: str) -> tuple[int, str]:
        reply = proxied_cluster.call(Where.PROXY, "PUT", "CREATE", f"{home}/{name}", user)
        return reply.status, reply.header("Cache-Status")

    for name in ("there", "missing", "unknown"):
        assert carol(name) == carol(name, ("Cache-Control", "no-cache")) == REFUSED
    assert begin("missing", "alice")[0] == 307
    hers = proxied_cluster.ask(f"{home}/missing", "alice")
    assert hers.header("Cache-Status") == "nncache; fwd=bypass; detail=two-step-write"
    assert carol("missing") == REFUSED
    for name in ("there", "unknown"):
        assert begin(name, "carol") == (307, "nncache; fwd=method"), (
            "the first step is redirected for anybody"
        )
        assert carol(name) == carol(f"{name}/below") == REFUSED
