"""Judge the contents of ZooKeeper.

Pure.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Final, TypeAlias

from nncache.checks.facts import MOVES_S, CheckFacts, ZooKeeperFound
from nncache.checks.finding import Finding, failed, ok, skipped, warning
from nncache.coordination.acl import CHANGES, Acl, ZnodePerms
from nncache.coordination.settings import ZooKeeperSettings
from nncache.net.some_names import some_names

_SHOWN: Final = 5  # maximum number of znodes in a line


_Judge: TypeAlias = Callable[[CheckFacts, ZooKeeperSettings, ZooKeeperFound], Iterator[Finding]]


def _if_asked(judge: _Judge) -> Callable[[CheckFacts], Iterator[Finding]]:
    """Skip the check if the daemon does not use ZooKeeper, or if no ZooKeeper answers."""

    @wraps(judge)
    def judged(facts: CheckFacts) -> Iterator[Finding]:
        if (settings := facts.subject.zookeeper) is None:
            yield skipped("nothing goes through ZooKeeper (no zookeeper, or another channel)")
        elif facts.zookeeper is None:
            yield skipped("no ZooKeeper answers")
        else:
            yield from judge(facts, settings, facts.zookeeper)

    return judged


@_if_asked
def session(facts: CheckFacts, settings: ZooKeeperSettings, found: ZooKeeperFound) -> Iterator[Finding]:
    """Judge whether ZooKeeper grants a session and can be read."""
    if found.silence:
        yield failed(
            found.silence,
            "see that the ensemble has a leader (srvr), and that its ACLs let this host read "
            f"{settings.zookeeper_root} ({facts.subject.at('zookeeper_root')})",
        )
    else:
        state = "can be read" if found.has_root else "is not there yet"
        yield ok(f"a session was granted; {settings.zookeeper_root} {state}")


@_if_asked
def acls(_: CheckFacts, settings: ZooKeeperSettings, found: ZooKeeperFound) -> Iterator[Finding]:
    """Judge whether unauthenticated clients can write or read, if this daemon authenticates."""
    if not settings.has_identity:
        yield skipped(
            "no login at ZooKeeper is set (zookeeper_sasl, zookeeper_certificate): nothing is protected"
        )
        return
    if not found.acls:
        yield skipped("no ACL could be read")
        return
    writable = [path for path, acl in found.acls.items() if rights_of_strangers(acl) & CHANGES]
    readable = [path for path, acl in found.acls.items() if rights_of_strangers(acl) & ZnodePerms.READ]
    if writable:
        yield failed(
            f"clients that have not logged in can change {some_names(writable, shown=_SHOWN)}: they can forge what is "
            "published",
            "start the publisher again with its login, which sets its ACLs, and see that its zookeeper_acl names "
            "neither world nor ip",
        )
    elif readable:
        yield warning(
            f"clients that have not logged in can read {some_names(readable, shown=_SHOWN)}",
            "see that zookeeper_acl of the publisher names neither world nor ip, and start it again",
        )
    else:
        yield ok(
            f"clients that have not logged in can neither read nor change the {len(found.acls)} znodes seen"
        )


def rights_of_strangers(acl: Acl) -> ZnodePerms:
    """Return the rights of clients that ZooKeeper has not authenticated."""
    rights = ZnodePerms(0)
    for entry in acl:
        if not entry.is_known_identity:
            rights |= entry.rights
    return rights


@_if_asked
def nameservice(facts: CheckFacts, settings: ZooKeeperSettings, found: ZooKeeperFound) -> Iterator[Finding]:
    """Judge whether the nameservice is published, and whether it is that of the NameNodes."""
    subject = facts.subject
    root, name = settings.zookeeper_root, subject.names.nameservice
    if found.silence and found.block_pool is None:
        yield skipped("ZooKeeper could not be read")
    elif found.block_pool is not None:
        yield _same_namespace(facts, f"{root}/{name}", found.block_pool)
    elif not found.has_root and subject.command == "proxy":
        yield failed(
            f"there is no {root} in ZooKeeper: nothing was published there{_elsewhere(found)}",
            f"set {subject.at('zookeeper_root')} to that of the publisher, or start nncache publisher",
        )
    elif not found.nameservices:
        text = f"nothing is published below {root} yet{_elsewhere(found)}"
        if subject.command == "proxy":
            yield failed(text, f"start nncache publisher, or correct {subject.at('zookeeper_root')}")
        else:
            yield ok(f"{text}: this publisher would be the first")
    else:
        yield _other_nameservices(
            facts, f"there is no nameservice {name} below {root}, but: ", found.nameservices
        )


def _elsewhere(found: ZooKeeperFound) -> str:
    return f"; there is {some_names(found.elsewhere, shown=_SHOWN)}" if found.elsewhere else ""


def _other_nameservices(facts: CheckFacts, text: str, others: tuple[str, ...]) -> Finding:
    at = facts.subject.at("nameservice")
    shown = text + ", ".join(others)
    if facts.subject.command == "proxy":
        return failed(shown, f"set {at} to one of them, or start a publisher with this nameservice")
    return warning(
        f"{shown}; this publisher would make a second tree beside them",
        f"if one of them is meant, set {at} to {others[0] if len(others) == 1 else 'it'}",
    )


def _same_namespace(facts: CheckFacts, path: str, block_pool: str) -> Finding:
    subject = facts.subject
    for each in facts.active:
        answer = facts.found(each).answer
        if answer is None or answer.namespace is None or not block_pool:
            continue
        if answer.namespace.block_pool != block_pool:
            return failed(
                f"{path} in ZooKeeper belongs to namespace {block_pool}, but {each.http} serves {answer.namespace}",
                f"set {subject.at('nameservice')} to the nameservice of these NameNodes, or "
                f"{subject.at('namenode_http')} to the NameNodes of that nameservice; if the namespace was "
                "formatted, delete that znode",
            )
        return ok(f"{path} belongs to the namespace {block_pool} of {each.http}")
    return ok(
        f"{path} is published, of namespace {block_pool or '(none yet)'}; no active NameNode to compare it with"
    )


@_if_asked
def publisher(facts: CheckFacts, _: ZooKeeperSettings, found: ZooKeeperFound) -> Iterator[Finding]:
    """Judge whether a publisher is running, and whether `.cache` makes progress."""
    if found.block_pool is None:
        yield skipped(
            "the nameservice is not published" if not found.silence else "ZooKeeper could not be read"
        )
        return
    who = str(found.publisher) if found.publisher is not None else "an unknown process"
    if facts.subject.command == "publisher":
        yield ok(
            f"another publisher leads: {who}; this one would stand by"
            if found.has_publisher
            else "no publisher is running: this one would publish at once"
        )
    elif found.has_publisher:
        yield _moves(facts, found, who)
    else:
        yield failed(
            "no publisher is running: nothing is answered from memory without one",
            "start nncache publisher with the same nameservice and zookeeper_root",
        )


def _moves(facts: CheckFacts, found: ZooKeeperFound, who: str) -> Finding:
    """Judge the progress of `.cache`. Without changes in HDFS it stays at the NameNode's last transaction."""
    journals = [answer.journal for each in facts.active if (answer := facts.found(each).answer) is not None]
    written = max((journal.last_txid for journal in journals if journal is not None), default=None)
    txid = -1 if found.txid is None else found.txid
    if found.has_moved or written is None or txid >= written:
        return ok(f"{who} publishes; .cache covers transaction {found.txid}")
    return warning(
        f"{who} is there, but .cache has stood still for {MOVES_S:g} s at transaction {found.txid}, and the NameNode "
        f"has come to {written}: calls are forwarded",
        "see /ready of that publisher and its log; a coverage_interval_s of such a length explains it, too",
    )
