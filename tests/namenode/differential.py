"""Run the same random operations at a real NameNode and at a light cluster; compare replies, trees and events.

python -m tests.namenode.differential REAL_HTTP --rpc REAL_RPC --operations 1000 --seed 1
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import cycle, zip_longest

from nncache.namenode.cluster import LightCluster
from tests.namenode.asking import call, comparable
from tests.namenode.drawing import Operation, draw
from tests.namenode.edits import edits_of, last_txid

SUPERUSER = "root"


@dataclass
class Comparison:
    """The number of comparisons, and the differences found."""

    operations: int = 0
    trees: int = 0
    events: int = 0
    differences: list[str] = field(default_factory=list)


def tree(addresses: Iterator[str], superuser: str, path: str) -> list[tuple[str, object]]:
    """Return the whole tree below a path: statuses, ACLs, extended attributes and data."""
    found: list[tuple[str, object]] = []
    for status in call(next(addresses), "GET", path, "LISTSTATUS", superuser).json["FileStatuses"][
        "FileStatus"
    ]:
        below = f"{path}/{status['pathSuffix']}"
        for name in ("accessTime", "modificationTime", "fileId"):
            del status[name]
        acl = call(next(addresses), "GET", below, "GETACLSTATUS", superuser).body
        xattrs = sorted(
            (each["name"], each["value"])
            for each in call(next(addresses), "GET", below, "GETXATTRS", superuser, encoding="HEX").json[
                "XAttrs"
            ]
        )
        found.append((below, (status, acl, xattrs)))
        if status["type"] == "DIRECTORY":
            summary = call(next(addresses), "GET", below, "GETCONTENTSUMMARY", superuser).body
            usage = call(next(addresses), "GET", below, "GETQUOTAUSAGE", superuser).body
            found.append((below, (summary, usage)))
            found += tree(addresses, superuser, below)
        else:
            found.append((below, call(next(addresses), "GET", below, "OPEN", superuser).body))
    return found


def compare(
    real: Sequence[str],
    light: Sequence[str],
    superuser: str,
    *,
    operations: int,
    seed: int,
    every: int,
    rpc: tuple[str, str] | None = None,
) -> Comparison:
    """Run the operations at both; stop at the first difference between the trees. With `rpc`, also compare the events.

    The addresses of each side take the calls in turn.
    """
    begins = [] if rpc is None else [last_txid(address, superuser) for address in rpc]
    rng = random.Random(seed)
    comparison = Comparison()
    root = f"/differential-{seed}-{rng.randrange(10**9)}"
    sides = cycle(real), cycle(light)
    for side in sides:
        call(next(side), "PUT", root, "MKDIRS", superuser, permission="777")
    for number in range(operations):
        operation = draw(rng, root)
        user = superuser if operation.user == SUPERUSER else operation.user
        replies = [
            _own(
                root,
                operation,
                comparable(
                    call(
                        next(side), operation.method, operation.path, operation.op, user, operation.body,
                        **operation.parameters,
                    )
                ),
            )
            for side in sides
        ]  # fmt: skip
        comparison.operations += 1
        if replies[0] != replies[1]:
            comparison.differences.append(described(number, operation, *replies))
        if number % every == every - 1 or number == operations - 1:
            comparison.trees += 1
            trees = [tree(side, superuser, root) for side in sides]
            if trees[0] != trees[1]:
                pairs = zip(*trees, strict=False)
                first = next((pair for pair in pairs if pair[0] != pair[1]), (len(trees[0]), len(trees[1])))
                comparison.differences.append(f"trees after {number}: {first[0]}\n  light: {first[1]}")
                break
    for side in sides:
        call(next(side), "DELETE", root, "DELETE", superuser, recursive="true")
    if rpc is not None:
        edits = [
            edits_of(address, superuser, begin, root) for address, begin in zip(rpc, begins, strict=True)
        ]
        comparison.events = sum(map(len, edits[0]))
        unlike = next((at for at, pair in enumerate(zip_longest(*edits)) if pair[0] != pair[1]), None)
        if unlike is not None:
            real_edit, light_edit = (found[unlike : unlike + 1] for found in edits)
            comparison.differences.append(f"edit {unlike}:\n  real:  {real_edit}\n  light: {light_edit}")
    return comparison


def _own(root: str, operation: Operation, reply: tuple[int, bytes]) -> tuple[int, object]:
    """Return a reply without the snapshottable directories outside `root`."""
    status, body = reply
    if operation.op != "GETSNAPSHOTTABLEDIRECTORYLIST" or status != HTTPStatus.OK:
        return reply
    found = json.loads(body)["SnapshottableDirectoryList"] or ()
    return status, [each for each in found if f"{each['parentFullPath']}/".startswith(f"{root}/")]


def described(number: int, operation: Operation, real: object, light: object) -> str:
    """Return a difference as text for the report."""
    what = f"{operation.method} {operation.path} {operation.op} {operation.user} {operation.parameters}"
    return f"{number}: {what}\n  real:  {real}\n  light: {light}"


def main(arguments: list[str]) -> int:
    """Compare a running cluster with a light one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("real", help="host:port of the real NameNode's WebHDFS")
    parser.add_argument("--rpc", help="host:port of its RPC: compare the events, too")
    parser.add_argument("--operations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--superuser", default=SUPERUSER)
    chosen = parser.parse_args(arguments)
    with LightCluster(superuser=chosen.superuser) as cluster:
        comparison = compare(
            [chosen.real], [cluster.namenode_http], chosen.superuser,
            operations=chosen.operations, seed=chosen.seed, every=chosen.every,
            rpc=(chosen.rpc, cluster.namenode_rpc) if chosen.rpc else None,
        )  # fmt: skip
    for difference in comparison.differences:
        sys.stdout.write(f"{difference}\n")
    sys.stdout.write(
        f"{comparison.operations} operations, {comparison.trees} trees, {comparison.events} events: "
        f"{len(comparison.differences)} differences\n"
    )
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
