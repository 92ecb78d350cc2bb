"""What the benchmark does not show, said in every report."""

from typing import Final

_SAID: Final = """
Everything runs on one machine: pollers, proxy and NameNode share its cores, so rates are no capacities. CPU-seconds,
calls and lateness carry over; requests per second do not.

The network is the loopback: no packet is lost, and a round trip takes microseconds.

The NameNode is small: a few thousand files, one DataNode, no other load, no high availability, no Kerberos. On a large
cluster a call waits for the namespace's lock, and saving it saves more than its CPU time.

A cache that is warm is measured. What it costs to fill it, once for each path and caller, falls into the warm-up. Each
pair of caller and directory is proven again after `grant_ttl` (300 s), unless a miss has done so meanwhile: a run that
measures less than 300 s, or begins soon after the cache was filled, meets few of these proofs or none. There are at
most (pairs of caller and directory) / 300 s of them: 3.3 a second in the design scenario, where a caller's six files
lie in one directory, 20 where each of the 6,000 has a directory of its own (workload directory_per_file), 33 with
10,000 different callers.

nginx is what one gets by putting a cache with a time limit before WebHDFS. It knows nothing of callers' rights: the URL
with `user.name` is its key, and what it has kept it tells until the time is over.

The open-loop clients keep one connection each. Clients that open a connection for each poll cost all three more.
"""

LIMITS: Final = tuple(" ".join(each.split()) for each in _SAID.strip().split("\n\n"))
"""One paragraph each."""
