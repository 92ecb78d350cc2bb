"""The outcome of a forwarded call, and the statuses that it has made stale, as far as its reply shows.

`hadoop/changes.py` is its counterpart for events. Source: the measured table "Operation -> events and changed statuses"
(Hadoop 3.4.1 and 3.5.0); `NamenodeWebHdfsMethods`, `ExceptionHandler`, `FSDirMkdirOp` and namespaces (3.5.0).
docs/decisions/0013 explains why doubtful changes are left to the events.
"""

from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import Final, assert_never

from nncache.hadoop.calls import WebHdfsCall
from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Change,
    FileTouched,
    Footprint,
    LineTouched,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.hadoop.changes import moved
from nncache.hadoop.operations import Effect, operation
from nncache.hadoop.paths import (
    ROOT,
    InvalidPathError,
    canonical,
    exceeds_limits,
    has_dot_segments,
    is_reserved,
    name,
    parent,
)
from nncache.hadoop.remote_exception import Verdict, parse_remote_exception

_METHODS: Final = frozenset({"GET", "HEAD", "PUT", "POST", "DELETE"})
"""Methods that reach the namespace. The servlet refuses others with a 500, or describes itself (OPTIONS)."""

_FALSE: Final = b'{"boolean":false}'

_NOTHING_WAS_MADE: Final = frozenset({"ParentNotDirectoryException", "FileAlreadyExistsException"})
"""Refusals before the first missing ancestor is created. A quota, a limit or a reserved name may cause one after it."""

MAX_NAMED_PATHS: Final = 1_000
"""Paths in one call's parameters that are handled one by one; a call with more is left to the events."""

_RAW: Final = "/.reserved/raw"
_HARMLESS_XATTR_PREFIXES: Final = frozenset({"user", "trusted", "security"})


class CallOutcome(Enum):
    """The outcome of a forwarded call, by its reply or by the lack of one."""

    DONE = auto()  # the NameNode has executed it
    UNDONE = auto()  # it has changed nothing
    HALFWAY = auto()  # it was refused, perhaps after missing ancestors were created
    UNKNOWN = auto()  # no reply, a 408 or a 5xx


def outcome_of(call: WebHdfsCall, status: int | None, body: bytes | None) -> CallOutcome:
    """Return the outcome of a call by its reply; a status of None means that there is no reply.

    A redirect is the success of a first step. A 4xx is a refusal by the NameNode, or by its servlet container before it
    handled the call; only after a 408 may the call have been executed in part.
    """
    if call.method not in _METHODS:
        return CallOutcome.UNDONE
    if status is None or status == HTTPStatus.REQUEST_TIMEOUT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return CallOutcome.UNKNOWN
    named = [operation(call.method, value) for value in call.arguments.get("op", ())]
    if status < HTTPStatus.BAD_REQUEST:
        # SETREPLICATION answers false if there is no file, and changes nothing (FSDirAttrOp.setReplication).
        may_be_false = call.op is not None and (
            call.op.effect in {Effect.MOVES, Effect.VANISHES} or call.op.name == "SETREPLICATION"
        )
        return CallOutcome.UNDONE if may_be_false and body == _FALSE else CallOutcome.DONE
    if not any(op is not None and op.makes_ancestors for op in named):
        return CallOutcome.UNDONE
    remote = None if body is None else parse_remote_exception(body)
    if remote is None:
        return CallOutcome.HALFWAY
    is_early = remote.verdict is not Verdict.OTHER or remote.exception in _NOTHING_WAS_MADE
    return CallOutcome.UNDONE if is_early else CallOutcome.HALFWAY


@dataclass(frozen=True, slots=True)
class ExistingPath:
    """The state of the paths of a call before it creates or moves something."""

    is_directory: bool = False  # the path is a directory, so nothing can be created in its place
    destination_is_directory: bool = False  # the destination is a directory, so RENAME moves the path into it
    topmost_missing: str | None = None  # the topmost ancestor that the call may have to create
    may_write: bool = True  # false if the caller of a two-step write has no right to it now
    is_known: bool = True  # false if the NameNode did not answer; the other fields are meaningless then

    @property
    def can_be_made(self) -> bool:
        """Whether the second step can succeed while nothing changes at or above its path."""
        return self.may_write and not self.is_directory


UNTOUCHED: Final = ExistingPath()


@dataclass(frozen=True, slots=True)
class Effects:
    """The changes by a forwarded call, as far as its reply shows."""

    changes: tuple[Footprint, ...] = ()  # each once
    is_complete: bool = True  # false if the call may have made more changes, which only events show


NO_EFFECT: Final = Effects()
"""The call has changed nothing."""

LEFT_TO_EVENTS: Final = Effects(is_complete=False)
"""Only events show what the call has changed, if anything."""


def opens_window(call: WebHdfsCall) -> bool:
    """Whether the call may be the first step of a two-step write, whose second step bypasses the proxy.

    True also for `noredirect=true`: the NameNode then returns the DataNode's address in a 200 reply.
    `nncache.hadoop.redirects` finds the path that the second step writes.
    """
    return any(
        op is not None and op.two_step
        for op in (operation(call.method, value) for value in call.arguments.get("op", ()))
    )


def written_path(call: WebHdfsCall) -> str | None:
    """Return the path whose status the call concerns, as events name it; None if it is uncertain."""
    return None if call.path is None else real_path(call.path)


def changes_nothing(call: WebHdfsCall) -> bool:
    """Whether a call makes no status stale, whatever its outcome."""
    return call.op is not None and call.op.effect is Effect.NOTHING


def effects_of_call(call: WebHdfsCall, outcome: CallOutcome, existing: ExistingPath = UNTOUCHED) -> Effects:
    """Return the effects of a forwarded call; `existing` is the state of its paths before it was sent.

    Only certain changes are returned. Possible changes are left to the events: a refused or odd call, which any client
    can send, must not cost other clients anything. docs/decisions/0013 explains why that is enough.
    """
    if changes_nothing(call):
        return NO_EFFECT
    if call.is_read:
        # A read of an alias such as /.reserved/.inodes/ID sets the access time of an unknown path.
        path = written_path(call)
        if path is None or exceeds_limits(path) or outcome is not CallOutcome.DONE:
            return NO_EFFECT
        return Effects((FileTouched(path),))
    match outcome:
        case CallOutcome.UNDONE:
            return NO_EFFECT
        case CallOutcome.HALFWAY | CallOutcome.UNKNOWN:
            return LEFT_TO_EVENTS
        case CallOutcome.DONE:
            return _effects_of_write(call, existing)
        case _:
            assert_never(outcome)


def _effects_of_write(call: WebHdfsCall, existing: ExistingPath) -> Effects:
    path = written_path(call)
    if path is None or not call.is_certain:
        return LEFT_TO_EVENTS
    if call.op is None:
        return _effects_of_unknown_write(call, path)
    match call.op.effect:
        case Effect.MOVES:
            return _effects_of_rename(call, path, existing)
        case Effect.CONCATENATES:
            return _effects_of_concat(call, path)
        case Effect.APPEARS if call.op.two_step or exceeds_limits(path):
            return NO_EFFECT  # a redirect changes nothing; nothing can be created beyond the limits of HDFS
        case Effect.APPEARS if existing.is_directory or not existing.is_known:
            return LEFT_TO_EVENTS  # nothing replaces a directory, unless it was removed since
        case Effect.APPEARS if existing.topmost_missing is not None:
            return Effects(tuple(dict.fromkeys((Appeared(existing.topmost_missing), Appeared(path)))))
        case Effect.SETS_XATTR if len(call.arguments.get("xattr.name", ())) > 1:
            return LEFT_TO_EVENTS  # the NameNode uses one of them
        case Effect.TOUCHES if call.op.two_step and existing.is_directory:
            return NO_EFFECT  # a directory has no access time that the first step could set
        case Effect.TOUCHES if call.op.two_step and not existing.may_write:
            return LEFT_TO_EVENTS  # redirected if the caller may read the file, or the file is empty
        case effect:
            return Effects(_changes_at(path, effect, call))


def _changes_at(path: str, effect: Effect, call: WebHdfsCall) -> tuple[Change, ...]:
    """Return the changes by an operation on a single path."""
    match effect:
        case Effect.TOUCHES:
            return (Touched(path),)
        case Effect.APPEARS:
            return (Appeared(path),)
        case Effect.VANISHES:
            return (Vanished(path),)
        case Effect.CHANGES_ACCESS:
            return (AccessChanged(path),)
        case Effect.SETS_XATTR if _is_harmless_xattr(call):
            return ()
        case _:
            return (SubtreeUnknown(path),)


def _effects_of_rename(call: WebHdfsCall, source: str, existing: ExistingPath) -> Effects:
    destination = destination_of(call)
    if destination is None or not existing.is_known:
        return LEFT_TO_EVENTS
    inside = f"{destination.rstrip(ROOT)}/{name(source)}"
    options = call.arguments.get("renameoptions", ())
    if any(
        options
    ):  # the newer rename replaces a directory, and never moves into it; "" selects the older one
        return Effects(moved(source, destination)) if all(options) else LEFT_TO_EVENTS
    if destination == ROOT:
        return Effects(moved(source, inside))
    if existing.destination_is_directory:  # unless the directory was removed since: the event shows that
        return Effects(moved(source, inside), is_complete=False)
    return Effects((*moved(source, destination), Appeared(inside)))


def _effects_of_concat(call: WebHdfsCall, target: str) -> Effects:
    values = call.arguments.get("sources", ())
    sources = [part for value in values for part in value.split(",") if part]
    if len(values) > 1 or len(sources) > MAX_NAMED_PATHS:  # the NameNode uses one of several values
        return LEFT_TO_EVENTS
    paths = [path for path in map(_argument_path, sources) if path is not None]
    changes: tuple[Change, ...] = (Touched(target), *map(Vanished, dict.fromkeys(paths)))
    return Effects(changes, is_complete=bool(paths) and len(paths) == len(sources))


def _effects_of_unknown_write(call: WebHdfsCall, path: str) -> Effects:
    """Return the effects of an operation that a later release may have; current releases refuse it.

    A call with several operations is left to the events: every release executes one of them.
    """
    values = dict.fromkeys(value for values in call.arguments.values() for value in values)
    parts = {part: None for value in values for part in dict.fromkeys((value, *value.split(",")))}
    named = [part for part in parts if part.startswith("/")]
    operations = {value.upper() for value in call.arguments.get("op", ())}
    if len(operations) != 1 or len(named) > MAX_NAMED_PATHS:
        return LEFT_TO_EVENTS
    found = dict.fromkeys((path, *map(_argument_path, named)))
    changes: list[Footprint] = []
    for each in found:
        if each is not None:  # the call may have created any ancestor that can be created
            top = (parent(each) or ROOT) if exceeds_limits(each) else ROOT
            changes += (SubtreeUnknown(each), LineTouched(each, top))
    return Effects(tuple(changes), is_complete=None not in found)


def _is_harmless_xattr(call: WebHdfsCall) -> bool:
    prefixes = {value.partition(".")[0].lower() for value in call.arguments.get("xattr.name", ())}
    return bool(prefixes) and prefixes <= _HARMLESS_XATTR_PREFIXES


def destination_of(call: WebHdfsCall) -> str | None:
    """Return the destination of a RENAME, as events name it; None if it is uncertain.

    `DestinationParam` parses it with `org.apache.hadoop.fs.Path`, which resolves dot segments and takes the first name
    after a leading "//" for a host.
    """
    values = call.arguments.get("destination", ())
    if len(values) != 1 or values[0].startswith("//") or has_dot_segments(values[0]):
        return None
    return _argument_path(values[0])


def _argument_path(value: str) -> str | None:
    try:
        return real_path(canonical(value))
    except InvalidPathError:
        return None


def real_path(path: str) -> str | None:
    """Return the path as events name it; None for an alias whose real path is unknown."""
    if path == _RAW:
        return ROOT
    if path.startswith(_RAW + "/"):
        path = path[len(_RAW) :]
    return None if is_reserved(path) else path
