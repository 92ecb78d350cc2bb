"""The model's namespace compared with a real NameNode's: the same operations on both, read by all users.

After each operation the reply, the events of each transaction, and the status of every path for every user must be
equal. File ids and modification times, comparable only within one namespace, must change when the model's do.
"""

import json
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

import pytest

from nncache.hadoop.calls import PREFIX
from nncache.testbed import Cluster
from tests.contracts.real_namespace import RealNamespace, Reply, Shown, read
from tests.model import namespace as ns
from tests.model import operations
from tests.model.draws import DIRECTORIES, PATHS, USERS, Draw
from tests.model.namespace import SUPERUSER, Namespace, RefusedError, Step
from tests.model.upstream import redirect

SEEDS: Final = 6
OPERATIONS: Final = 70
KINDS: Final = {
    *("APPEND", "CREATE", "DELETE", "MKDIRS", "RENAME", "SETOWNER", "SETPERMISSION", "SETREPLICATION"),
    *("SETTIMES", "TRUNCATE", "close", "policy"),
}
"""All operations of the histories; each must have succeeded at least once."""

NUMBERS: Final = 10**12
TIMES_FROM_MS: Final = 1_700_000_000_000
WHO: Final = (SUPERUSER, *USERS)


@dataclass(frozen=True)
class Done:
    """An operation on the real NameNode, and its effect in the model."""

    op: str
    what: str  # the operation in words
    really: Callable[[RealNamespace], Reply]
    modelled: Callable[[Namespace, int], list[Step]]

    def __str__(self) -> str:
        return self.what


def draw(number: int, txid: int) -> Done:
    """Choose an operation as the histories do; `txid` is its first transaction in the model."""
    choice = Draw(number)
    match choice.of(12):
        case 0 | 1 | 2:
            return _opening(choice.file(), choice.writer(), is_append=choice.of(2) == 0)
        case 3 | 4 | 5:
            return _closing(choice.file())
        case 6:
            return _storage_policy(choice.path(), operations.policy_of(txid))
        case 7:
            write = choice.access()
        case 8:
            return _truncating(choice.file(), choice.writer())
        case _:
            write = choice.write()
    query = write.query
    if query == "op=SETTIMES":
        query += f"&modificationtime={TIMES_FROM_MS + txid}"
    if query == "op=SETREPLICATION":
        query += f"&replication={operations.replication_of(txid)}"
    return Done(
        query.removeprefix("op=").partition("&")[0],
        f"{write.user}: {query} {write.path}",
        lambda real: real.call(write.method, write.path, query, write.user),
        write.operation,
    )


def _made(path: str) -> Done:
    return Done(
        "MKDIRS",
        f"MKDIRS {path}",
        lambda real: real.call("PUT", path, "op=MKDIRS", SUPERUSER),
        lambda now, txid: operations.mkdirs(now, SUPERUSER, path, txid),
    )


def _opening(path: str, user: str, *, is_append: bool) -> Done:
    method, query = ("POST", "op=APPEND") if is_append else ("PUT", "op=CREATE&overwrite=true")
    opens = operations.append if is_append else operations.create
    return Done(
        "APPEND" if is_append else "CREATE",
        f"{user}: {query} {path}, held open",
        lambda real: real.open(method, path, query, user),
        lambda now, txid: opens(now, user, path, txid),
    )


def _closing(path: str) -> Done:
    def closed(now: Namespace, txid: int) -> list[Step]:
        return operations.close(now, SUPERUSER, path, txid) if ns.is_open(now, path) else []

    return Done("close", f"close {path}", lambda real: real.close(path), closed)


def _truncating(path: str, user: str) -> Done:
    query = "op=TRUNCATE&newlength=0"
    return Done(
        "TRUNCATE",
        f"{user}: {query} {path}",
        lambda real: real.call("POST", path, query, user),
        lambda now, txid: operations.truncate(now, user, path, txid),
    )


def _storage_policy(path: str, name: str) -> Done:
    return Done(
        "policy",
        f"policy {name} of {path}",
        lambda real: real.call("PUT", path, f"op=SETSTORAGEPOLICY&storagepolicy={name}", SUPERUSER),
        lambda now, txid: operations.set_storage_policy(now, SUPERUSER, path, txid),
    )


@dataclass
class Beside:
    """The model and the real namespace.

    Attributes:
        file_ids: the real file id, by the model's inode number.
        did: the number of operations by kind and status.
    """

    real: RealNamespace
    now: Namespace = field(default_factory=lambda: ns.EMPTY)
    txid: int = 1
    file_ids: dict[int, int] = field(default_factory=dict)
    times: dict[int, tuple[int, int]] = field(
        default_factory=dict
    )  # by file id: the model's and the real mtime
    did: Counter[str] = field(default_factory=Counter)

    def do(self, done: Done) -> None:
        """Apply the operation to both; compare everything visible."""
        before = self.real.last_txid()
        really = done.really(self.real)
        try:
            steps = done.modelled(self.now, self.txid)
        except RefusedError as refusal:
            steps, modelled = [], read(refusal.answer.status, refusal.answer.body)
        else:
            truth = operations.reply(done.op, steps).body if really.truth is not None else b""
            modelled = read(200, truth)
        assert really == modelled, f"{done}: {really}, modelled: {modelled}"
        reported = [list(step.events) for step in steps if step.events]
        events = self.real.events_since(before)
        assert events == reported, f"{done}: {events}, modelled: {reported}"
        if steps:
            self.now = steps[-1].namespace
        self.txid += max(1, len(steps))
        self.did[f"{done.op} {modelled.status}"] += 1
        self.compare(done)

    def compare(self, done: Done) -> None:
        """Compare the status of every path for every user."""
        for path in PATHS:
            for user in WHO:
                answer = ns.status_of(self.now, user, path)
                shown = self.real.status(path, user)
                modelled = Shown.of(answer.body) if answer.status == 200 else read(answer.status, answer.body)
                what = f"{path} for {user} after {done}: {shown}, modelled: {modelled}"
                assert type(shown) is type(modelled), what
                if isinstance(shown, Shown) and isinstance(modelled, Shown):
                    self._compare(shown, modelled, what)
                else:
                    assert shown == modelled, what

    def _compare(self, shown: Shown, modelled: Shown, what: str) -> None:
        assert replace(shown, file_id=0, mtime=0) == replace(modelled, file_id=0, mtime=0), what
        assert self.file_ids.setdefault(modelled.file_id, shown.file_id) == shown.file_id, what
        modelled_before, real_before = self.times.get(shown.file_id, (-1, -1))
        assert (modelled.mtime != modelled_before) == (shown.mtime != real_before), f"time of {what}"
        self.times[shown.file_id] = modelled.mtime, shown.mtime


def test_it_does_what_the_real_one_does(cluster: Cluster) -> None:
    """The operations are random. A failure names the first operation with a difference."""
    did: Counter[str] = Counter()
    for seed in range(SEEDS):
        random = Random(seed)
        with RealNamespace(cluster, f"/t{uuid.uuid4().hex[:12]}") as real:
            beside = Beside(real)
            for path in DIRECTORIES:
                beside.do(_made(path))
            for _ in range(OPERATIONS):
                beside.do(draw(random.randrange(NUMBERS), beside.txid))
        did += beside.did
    done = {kind.partition(" ")[0] for kind in did if kind.endswith(" 200")}
    assert done == KINDS, KINDS - done
    assert sum(count for kind, count in did.items() if not kind.endswith(" 200")) > SEEDS * OPERATIONS // 4, (
        did
    )


NAMES: Final = (
    "f",
    "cafe%CC%81/x",
    "%EF%A4%80",
    "%E1%84%80%E1%85%A1",
    "%CD%BE%E2%84%AA%E1%BF%AF",  # its form C is ASCII: ";K`"
    "f%FF",
    "a%20b%25%3F%23",
    "%3C%CC%A7",  # form C breaks its escape
    "%E2%80%80",  # a space that is escaped before form C can change it
)
"""Names as requested."""


@pytest.mark.parametrize("query", ["", "&noredirect=true"])
def test_its_redirects_name_what_the_real_ones_name(cluster: Cluster, query: str) -> None:
    """A Location is in form C; the JSON has the requested name."""
    with RealNamespace(cluster, f"/t{uuid.uuid4().hex[:12]}") as real:
        really = [real.led_to(name, query) for name in NAMES]
    modelled = []
    for name in NAMES:
        answer, fields = redirect(f"{PREFIX}/{name}?op=CREATE{query}")
        location = json.loads(answer.body)["Location"] if answer.body else dict(fields)[b"Location"].decode()
        modelled.append(location.partition(PREFIX)[2].partition("?")[0])
    assert really == modelled
