"""What a forwarded call has done, and what it has made stale, as far as its reply tells.

`hadoop/changes.py` says the same of events. Source: the measured table "Operation -> events and changed statuses"
(Hadoop 3.4.1 and 3.5.0); `NamenodeWebHdfsMethods`, `ExceptionHandler`, `FSDirMkdirOp` and namespaces (3.5.0).
docs/decisions/0013 says why what is in doubt is left to the events.
"""

from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import Final, assert_never

from nncache.hadoop.calls import Call
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
"""Those that reach the namespace. The servlet refuses others with a 500, or describes itself (OPTIONS)."""

_FALSE: Final = b'{"boolean":false}'

_NOTHING_WAS_MADE: Final = frozenset({"ParentNotDirectoryException", "FileAlreadyExistsException"})
"""Refusals that come before the first missing ancestor is made; a quota, a limit or a reserved name may come after."""

MAX_NAMED_PATHS: Final = 1_000
"""Paths in one call's parameters that are looked at one by one; beyond them the events tell."""

_RAW: Final = "/.reserved/raw"
_HARMLESS_XATTR_PREFIXES: Final = frozenset({"user", "trusted", "security"})


class CallOutcome(Enum):
    """What is known of a forwarded call once its reply is known, or is known not to come."""

    DONE = auto()  # the NameNode has carried it out
    UNDONE = auto()  # it has changed nothing
    HALFWAY = auto()  # it was refused, perhaps after missing ancestors had been made
    UNKNOWN = auto()  # no reply, a 5xx, or cut off


def outcome_of(call: Call, status: int | None, body: bytes | None) -> CallOutcome:
    """Say what came of a call that got this reply; a status of None means that there is no reply.

    A redirect is a success: of the first step. A 4xx comes from the NameNode, which has refused, or from its servlet
    container before it looked at the call; only a 408 may have been cut in the middle.
    """
    if call.method not in _METHODS:
        return CallOutcome.UNDONE
    if status is None or status == HTTPStatus.REQUEST_TIMEOUT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return CallOutcome.UNKNOWN
    named = [operation(call.method, value) for value in call.arguments.get("op", ())]
    if status < HTTPStatus.BAD_REQUEST:
        # SETREPLICATION answers false where there is no file, and has changed nothing (FSDirAttrOp.setReplication).
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
    """What was there before a call that makes or moves something."""

    is_directory: bool = False  # the path is a directory, so nothing can be made in its place
    takes_in: bool = False  # the destination is a directory, so RENAME moves the path into it
    topmost_missing: str | None = None  # the topmost ancestor that the call may have to make
    may_write: bool = True  # false if the caller of a two-step write has no right to carry it out now
    is_known: bool = True  # false where the NameNode gave no answer; all else says nothing then

    @property
    def can_be_made(self) -> bool:
        """Whether a second step can be carried out, for as long as nothing at or above its path changes."""
        return self.may_write and not self.is_directory


UNTOUCHED: Final = ExistingPath()


@dataclass(frozen=True, slots=True)
class Effects:
    """What a forwarded call has made stale, as far as its reply tells."""

    changes: tuple[Footprint, ...] = ()  # what is stale, each said once
    is_complete: bool = True  # false if the call may have changed more, which only the NameNode's events tell


NO_EFFECT: Final = Effects()
"""The call has changed nothing."""

LEFT_TO_EVENTS: Final = Effects(is_complete=False)
"""Only events show what the call has changed, if anything."""


def opens_window(call: Call) -> bool:
    """Tell whether the call may be the first half of a write whose second half passes the proxy by.

    Also for `noredirect=true`, where the NameNode gives the DataNode's address in a 200 reply. What the second half
    writes is in `nncache.hadoop.redirects`.
    """
    return any(
        op is not None and op.two_step
        for op in (operation(call.method, value) for value in call.arguments.get("op", ()))
    )


def written_path(call: Call) -> str | None:
    """Give the path whose status the call is about, as events name it; None when that is not certain."""
    return None if call.path is None else real_path(call.path)


def changes_nothing(call: Call) -> bool:
    """Whether a call makes nothing stale, whatever its outcome."""
    return call.op is not None and call.op.effect is Effect.NOTHING


def effects_of_call(call: Call, outcome: CallOutcome, existing: ExistingPath = UNTOUCHED) -> Effects:
    """Say what a forwarded call has made stale; `existing` is what was known to be there before it was sent.

    What a caller has changed is returned. What they only may have changed is left to the events: a refused or odd
    call, which any client can send, must cost others nothing. docs/decisions/0013 says why that is enough.
    """
    if changes_nothing(call):
        return NO_EFFECT
    if call.is_read:
        # A read of an alias such as /.reserved/.inodes/ID sets the access time of a path that is not known here.
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


def _effects_of_write(call: Call, existing: ExistingPath) -> Effects:
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
            return NO_EFFECT  # a redirect has changed nothing; nothing is made beyond the limits of HDFS
        case Effect.APPEARS if existing.is_directory or not existing.is_known:
            return LEFT_TO_EVENTS  # nothing is made in a directory's place, unless it was removed since
        case Effect.APPEARS if existing.topmost_missing is not None:
            return Effects(tuple(dict.fromkeys((Appeared(existing.topmost_missing), Appeared(path)))))
        case Effect.SETS_XATTR if len(call.arguments.get("xattr.name", ())) > 1:
            return LEFT_TO_EVENTS  # one of them counts
        case Effect.TOUCHES if call.op.two_step and existing.is_directory:
            return NO_EFFECT  # a directory has no access time that the first step could set
        case Effect.TOUCHES if call.op.two_step and not existing.may_write:
            return LEFT_TO_EVENTS  # redirected if the caller may read the file, or the file is empty
        case effect:
            return Effects(_changes_at(path, effect, call))


def _changes_at(path: str, effect: Effect, call: Call) -> tuple[Change, ...]:
    """Say it of the operations that are about one path alone."""
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


def _effects_of_rename(call: Call, source: str, existing: ExistingPath) -> Effects:
    destination = destination_of(call)
    if destination is None or not existing.is_known:
        return LEFT_TO_EVENTS
    inside = f"{destination.rstrip(ROOT)}/{name(source)}"
    options = call.arguments.get("renameoptions", ())
    if any(
        options
    ):  # the newer rename replaces a directory, and never moves into it; "" asks for the older one
        return Effects(moved(source, destination)) if all(options) else LEFT_TO_EVENTS
    if destination == ROOT:
        return Effects(moved(source, inside))
    if existing.takes_in:  # unless it was removed since: the event will tell
        return Effects(moved(source, inside), is_complete=False)
    return Effects((*moved(source, destination), Appeared(inside)))


def _effects_of_concat(call: Call, target: str) -> Effects:
    values = call.arguments.get("sources", ())
    sources = [part for value in values for part in value.split(",") if part]
    if len(values) > 1 or len(sources) > MAX_NAMED_PATHS:  # of several values one counts
        return LEFT_TO_EVENTS
    paths = [path for path in map(_argument_path, sources) if path is not None]
    changes: tuple[Change, ...] = (Touched(target), *map(Vanished, dict.fromkeys(paths)))
    return Effects(changes, is_complete=bool(paths) and len(paths) == len(sources))


def _effects_of_unknown_write(call: Call, path: str) -> Effects:
    """Say it of an operation that a later release may have; those of today refuse it.

    Of several operations in one call the events tell which one it was: every release takes one of them.
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
        if each is not None:  # any ancestor may have been made on the way, if one can be
            top = (parent(each) or ROOT) if exceeds_limits(each) else ROOT
            changes += (SubtreeUnknown(each), LineTouched(each, top))
    return Effects(tuple(changes), is_complete=None not in found)


def _is_harmless_xattr(call: Call) -> bool:
    prefixes = {value.partition(".")[0].lower() for value in call.arguments.get("xattr.name", ())}
    return bool(prefixes) and prefixes <= _HARMLESS_XATTR_PREFIXES


def destination_of(call: Call) -> str | None:
    """Give the path that RENAME names, as events name it; None when that is not certain.

    `DestinationParam` takes it through `org.apache.hadoop.fs.Path`, which resolves dot segments and takes the first
    name after a leading "//" for a host.
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
    """Give the path that events name; None for the aliases of which that is not known."""
    if path == _RAW:
        return ROOT
    if path.startswith(_RAW + "/"):
        path = path[len(_RAW) :]
    return None if is_reserved(path) else path
