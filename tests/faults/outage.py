"""The story of every outage: no read fails, no answer is older than the bound, and caching resumes by itself."""

import time
from collections.abc import Callable

from tests.patience import HANG_S
from tests.real.pollers import Pollers
from tests.real.proxied_cluster import MAX_STALENESS_S, CallTarget, ProxiedCluster


def survive(
    proxied_cluster: ProxiedCluster, directory: str, breaks: Callable[[], object], mends: Callable[[], object]
) -> None:
    """Let clients read and files change while something is broken, until the gate closes; then mend it.

    Raises:
        AssertionError: FailToNameNode or Bounded is broken, or hits do not return after `mends` returned.
    """
    made, gone = f"{directory}/d/made", f"{directory}/d/gone"
    proxied_cluster.mkdirs(f"{directory}/d", "alice")
    proxied_cluster.put(CallTarget.NAMENODE, gone, b"x", "alice")
    asked = [(path, user) for path in (made, gone) for user in ("alice", "bob")]
    for path, user in asked:
        proxied_cluster.make_hit(path, user)
    with Pollers(proxied_cluster.proxy.address, asked) as pollers:
        pollers.await_hits(after=time.monotonic(), timeout_s=HANG_S)
        try:
            breaks()
            made_at = proxied_cluster.put(CallTarget.NAMENODE, made, b"x", "alice").ended_at
            gone_at = proxied_cluster.do(CallTarget.NAMENODE, "DELETE", "DELETE", gone, "alice").ended_at
            proxied_cluster.proxy.await_gate(is_open=False)
            for path, user in asked:
                proxied_cluster.await_agreement(path, user, since=gone_at)
        finally:
            mends()
        mended_at = time.monotonic()
        resumed_at = pollers.await_hits(after=mended_at, timeout_s=HANG_S)
    print(f"from memory again {resumed_at - mended_at:.2f} s after it was mended")  # noqa: T201 - shown on failure
    assert pollers.failed() == []
    assert pollers.older_than(MAX_STALENESS_S, path=made, changed_at=made_at, old_status=404) == []
    assert pollers.older_than(MAX_STALENESS_S, path=gone, changed_at=gone_at, old_status=200) == []
    for path, user in asked:
        assert proxied_cluster.make_hit(path, user).status == (200 if path == made else 404)


def is_never_wrong(proxied_cluster: ProxiedCluster, *paths: str) -> None:
    """Create and delete each path at the NameNode: each change is seen within the bound, and cached again."""
    for path in paths:
        made = proxied_cluster.put(CallTarget.NAMENODE, path, b"x", "alice")
        proxied_cluster.await_agreement(path, "alice", since=made.ended_at)
        proxied_cluster.make_hit(path, "alice")
        gone = proxied_cluster.do(CallTarget.NAMENODE, "DELETE", "DELETE", path, "alice")
        proxied_cluster.await_agreement(path, "alice", since=gone.ended_at)
        proxied_cluster.make_hit(path, "alice")
