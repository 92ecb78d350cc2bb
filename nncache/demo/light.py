"""The story of `make demo LIGHT=1`, for which a NameNode and a proxy are enough; the whole story tells it, too."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

from nncache.demo.clients import (
    BOUND_S,
    DENIED,
    EMPTY,
    INTERVAL_S,
    MISSING,
    OWNER,
    PATIENCE_S,
    Clients,
    DemoError,
    PolledChange,
    StatusQuestion,
    seen_in_time,
)  # fmt: skip
from nncache.demo.terminal import Chapter, Step, Story, Terminal, counted, shown
from nncache.testbed.daemon import LightClusterProgram, ProxyDaemon
from nncache.testbed.spec import own_user

NAMESERVICE: Final = "ns1"
WORKFLOW: Final = "/user/alice/workflow"
"""The directory of all files of the story."""

FIRST_FILE: Final = f"{WORKFLOW}/day-1/_SUCCESS"
GLOB: Final = "/user/*/workflow/*/_SUCCESS"
_LINGER_S: Final = BOUND_S + 0.3  # polling after the last lock, so that some reads are past the bound

_CONTENT: Final = b"42317 rows\n"
_WHOLE: Final = f"200 with {len(_CONTENT)} bytes"
_DAYS: Final = 5
_RENAMES: Final = 6  # even: the directory ends with its first name
_LOCKS: Final = 3
_OWN_WRITES: Final = 20


@contextmanager
def running(terminal: Terminal) -> Iterator[Story]:
    """Start a light cluster and a proxy that reads its edits itself, yield their story, and stop them afterwards."""
    with ExitStack() as stack:
        namenode, superuser = LightClusterProgram(), own_user()
        terminal.start(stack, "A light cluster: NameNode and DataNode in one process, without Java", namenode)
        addresses = ("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc)
        proxy = ProxyDaemon("--nameservice", NAMESERVICE, *addresses, "--user", superuser, "--glob", GLOB)
        what = "The proxy: answers clients, and reads the NameNode's edits itself"
        terminal.start(stack, what, proxy, proxy.await_gate)
        clients = Clients(proxy.address, namenode.http)
        make_home(clients, superuser)
        target = f"/webhdfs/v1{FIRST_FILE}?op=GETFILESTATUS&user.name="
        asking = f"curl -i 'http://{proxy.address}{target}bob'"
        hints = (
            ("Read through nncache; ask twice and look at Cache-Status:", asking),
            ("Ask the light NameNode itself:", f"curl 'http://{namenode.http}{target}{OWNER}'"),
            ("The proxy's own pages, for a browser:", f"http://{proxy.admin}/"),
        )
        yield Story(chapters(clients), hints, proxy)


def make_home(clients: Clients, superuser: str) -> None:
    """Create the owner's home and the directory of the first file."""
    home = f"/user/{OWNER}"
    clients.write(lambda root: root.mkdirs(home), user=superuser)
    clients.write(lambda root: root.set_owner(home, OWNER), user=superuser)
    clients.write(lambda owner: owner.mkdirs(FIRST_FILE.rpartition("/")[0]))


def chapters(clients: Clients, *, lingers: bool = False) -> tuple[Chapter, ...]:
    """Return the chapters; with `lingers`, clients poll beyond the bound after the last lock."""
    return (
        Chapter(
            "The job finishes",
            f"The job writes the file at the NameNode, not through nncache; {_DAYS} days, one after the other. Times "
            "count from the acknowledgement to the start of the first read that shows the whole file.",
            partial(_finishing, clients),
        ),
        Chapter(
            "A directory is renamed",
            f"{WORKFLOW}/draft becomes {WORKFLOW}/final, and back, {_RENAMES} times, at the NameNode. alice and bob "
            "ask for _SUCCESS under both names: one is there and the other is not, both from memory.",
            partial(_renaming, clients),
        ),
        Chapter(
            "A directory is locked",
            f"alice does chmod 700 on {WORKFLOW}/salaries at the NameNode, {_LOCKS} times. The status of the file in "
            "it that is in memory is still true, but bob may not see it any more.",
            partial(_locking, clients, lingers=lingers),
        ),
        Chapter(
            "A write through the proxy",
            f"alice creates {WORKFLOW}/own/_SUCCESS through the proxy and deletes it again, {_OWN_WRITES // 2} times. "
            "bob has each old answer from memory just before, and reads once just after.",
            partial(_writing, clients),
        ),
    )


def _finishing(clients: Clients) -> tuple[Step, ...]:
    def day(number: int) -> PolledChange:
        path = f"{WORKFLOW}/day-{number}/_SUCCESS"
        questions = [StatusQuestion(user, path) for user in ("alice", "bob", "carol")]
        clients.write(lambda job: job.mkdirs(path.rpartition("/")[0]))
        before, after = dict.fromkeys(questions, MISSING), dict.fromkeys(questions, _WHOLE)
        return PolledChange(lambda job: job.create(path, _CONTENT), before, after)

    days = clients.observe(map(day, range(1, _DAYS + 1)))
    return (seen_in_time("The finished file is seen", *days),)


def _renaming(clients: Clients) -> tuple[Step, ...]:
    names = f"{WORKFLOW}/draft", f"{WORKFLOW}/final"
    clients.write(lambda owner: owner.create(f"{names[0]}/_SUCCESS"))

    def rename(number: int) -> PolledChange:
        old, new = names if number % 2 == 0 else names[::-1]
        gone, come = (
            [StatusQuestion(user, f"{name}/_SUCCESS") for user in ("alice", "bob")] for name in (old, new)
        )
        before = dict.fromkeys(gone, EMPTY) | dict.fromkeys(come, MISSING)
        after = dict.fromkeys(gone, MISSING) | dict.fromkeys(come, EMPTY)
        return PolledChange(lambda owner: owner.rename(old, new), before, after)

    renames = clients.observe(map(rename, range(_RENAMES)))
    return (seen_in_time("Old name 404, new name 200", *renames),)


def _locking(clients: Clients, *, lingers: bool) -> tuple[Step, ...]:
    directory = f"{WORKFLOW}/salaries"
    alice, bob = (
        StatusQuestion("alice", f"{directory}/_SUCCESS"),
        StatusQuestion("bob", f"{directory}/_SUCCESS"),
    )
    clients.write(lambda owner: owner.create(alice.path))

    def lock(number: int) -> PolledChange:
        clients.write(lambda owner: owner.set_permission(directory, "755"))
        before, after = {alice: EMPTY, bob: EMPTY}, {alice: EMPTY, bob: DENIED}
        last_s = _LINGER_S if lingers and number == _LOCKS else 0.0
        return PolledChange(lambda owner: owner.set_permission(directory, "700"), before, after, last_s)

    locks = clients.observe(map(lock, range(1, _LOCKS + 1)))
    is_seen, last = seen_in_time("bob gets 403, alice 200", *locks), locks[-1]
    if not lingers:
        return (is_seen,)
    late = f"the last wrong one after {shown(last.oldest_s)}" if last.oldest_s else "none wrong"
    seen = ", ".join(last.wrong) or f"{counted(last.reads, 'read')} in {shown(_LINGER_S)}, {late}"
    came_true = bool(last.reads) and not last.wrong and not last.failed and last.oldest_s <= BOUND_S
    holds = Step("The lock holds", f"no other answer after {BOUND_S:g} s", seen, came_true)
    return is_seen, holds


def _writing(clients: Clients) -> tuple[Step, ...]:
    bob = StatusQuestion("bob", f"{WORKFLOW}/own/_SUCCESS")
    clients.write(lambda owner: owner.mkdirs(bob.path.rpartition("/")[0]))
    stale: list[str] = []
    for number in range(_OWN_WRITES):
        is_there = number % 2 == 1
        now, then = (_WHOLE, MISSING) if is_there else (MISSING, _WHOLE)
        deadline = time.monotonic() + PATIENCE_S
        while not ((seen := clients.read(bob)).is_hit and seen.view == now):
            if time.monotonic() > deadline:
                raise DemoError(f"after {number} writes bob's {now} is no longer answered from memory")
            time.sleep(INTERVAL_S)
        if is_there:
            clients.write(lambda writer: writer.delete(bob.path), through_proxy=True)
        else:
            clients.write(lambda writer: writer.create(bob.path, _CONTENT), through_proxy=True)
            clients.own_at_most += bob.path.count("/") + 1  # one for each level, including the root
        if (view := clients.read(bob).view) != then:
            stale.append(view)
    seen_by_bob = f"{_OWN_WRITES - len(stale)} of {counted(_OWN_WRITES, 'write')}"
    seen_by_bob += f"; another read got {stale[0]}" if stale else ""
    expected = f"{_OWN_WRITES} of {_OWN_WRITES} writes"
    return (Step("The very next read sees it", expected, seen_by_bob, not stale),)
