"""How a run on several workers (`pytest -n 2`) is cut into shares; each worker has a cluster of its own."""

from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("tests/bench/", "tests/demo/", "tests/stories/", "tests/clients/", "tests/secured/")
"""Directories whose tests lean on one costly thing, made once a session: Spark, the tellings, the proxies, a cluster
with Kerberos.
"""

FIRST = (
    *TOGETHER,
    "tests/faults/",
    "tests/differential/",
    "tests/races/",
    "tests/testbed/",
    "tests/job_commit/",
)
"""Where the long tests are. The short ones come last, so that no worker is left alone with much in the end."""


def share_of(nodeid: str) -> str:
    """Return what the test shares a worker with: its file, or a directory of TOGETHER."""
    return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid.partition("::")[0])


def turn_of(nodeid: str) -> int:
    """Return which tests come before it: those of lower turns."""
    return next((turn for turn, place in enumerate(FIRST) if nodeid.startswith(place)), len(FIRST))


class Shares(LoadScopeScheduling):  # type: ignore[misc] # xdist ships no types
    """Gives whole shares to workers, in the order of the first test of each."""

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)
