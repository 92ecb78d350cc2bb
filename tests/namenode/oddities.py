"""Send the same odd requests to a real NameNode and to a light cluster; compare the replies.

python -m tests.namenode.oddities REAL_HTTP --sample 1000 --seed 1
"""

import argparse
import random
import re
import sys

from nncache.namenode.cluster import LightCluster
from tests.namenode.asking import Reply, ask, call, comparable
from tests.namenode.odd_requests import Odd, odd_requests

SUPERUSER = "root"
_ADDRESSES = re.compile(rb"127\.0\.0\.1:\d+|BP-[^\"]+|\"blockId\":\d+")
_OTHERS = re.compile(
    rb'(?<=^\{"SnapshottableDirectoryList":).*'
)  # null, [] or longer, depending on the directories of other tests


def prepare(address: str, directory: str, superuser: str) -> None:
    """Create the directory that the requests name."""
    call(address, "DELETE", directory, "DELETE", superuser, recursive="true")
    call(address, "PUT", directory, "MKDIRS", superuser, permission="777")
    call(address, "PUT", f"{directory}/f", "CREATE", "alice", b"12345")
    call(address, "PUT", f"{directory}/e", "CREATE", "alice", b"")
    call(address, "PUT", f"{directory}/s", "MKDIRS", "alice")
    call(address, "PUT", f"{directory}/s/g", "CREATE", "alice", b"x")


def shown(reply: Reply) -> tuple[int, str, bytes, bytes]:
    """Return the parts of a reply to compare: status, media type, Location and body."""
    status, body = comparable(reply)
    kind = reply.headers.get("Content-Type", "").partition(";")[0]
    if kind == "text/html" or status == 500 or (status == 404 and kind != "application/json"):
        return status, "", b"", b""
    location = reply.headers.get("Location", "").encode()
    return (
        status,
        kind,
        _ADDRESSES.sub(b"ADDRESS", location),
        _ADDRESSES.sub(b"ADDRESS", _OTHERS.sub(b"", body)),
    )


def compare(real: str, light: str, superuser: str, requests: list[Odd], directory: str) -> list[str]:
    """Send the requests to both, restoring the directory after each write that succeeds; return the differences."""
    differences: list[str] = []
    for address in (real, light):
        prepare(address, directory, superuser)
    for odd in requests:
        replies = [ask(address, odd.method, odd.target, odd.body, odd.headers) for address in (real, light)]
        one, other = map(shown, replies)
        if one != other:
            differences.append(f"{odd.method} {odd.target} {odd.headers}\n  real:  {one}\n  light: {other}")
        if odd.method != "GET" and any(reply.status < 300 for reply in replies):
            for address in (real, light):
                prepare(address, directory, superuser)
    for address in (real, light):
        call(address, "DELETE", directory, "DELETE", superuser, recursive="true")
    return differences


def drawn(directory: str, number: int, seed: int) -> list[Odd]:
    """Draw a random sample of the requests."""
    every = list(odd_requests(directory))
    return random.Random(seed).sample(every, min(number, len(every)))


def main(arguments: list[str]) -> int:
    """Compare a running cluster with a light one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("real", help="host:port of the real NameNode's WebHDFS")
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--superuser", default=SUPERUSER)
    chosen = parser.parse_args(arguments)
    requests = drawn("/odd", chosen.sample, chosen.seed)
    with LightCluster(superuser=chosen.superuser) as cluster:
        differences = compare(chosen.real, cluster.namenode_http, chosen.superuser, requests, "/odd")
    for difference in differences:
        sys.stdout.write(f"{difference}\n")
    sys.stdout.write(f"{len(requests)} requests: {len(differences)} differences\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
