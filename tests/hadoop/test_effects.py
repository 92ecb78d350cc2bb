"""The outcome of a call, and what it makes stale: the facts' table row by row, and invariants of any row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.calls import PREFIX, WebHdfsCall, parse_call
from nncache.hadoop.change import EverythingUnknown, LineTouched, Moved, SubtreeUnknown
from nncache.hadoop.changes import changes_of_event
from nncache.hadoop.effects import (
    LEFT_TO_EVENTS,
    NO_EFFECT,
    CallOutcome,
    Effects,
    ExistingPath,
    effects_of_call,
    opens_window,
    outcome_of,
    written_path,
)
from nncache.hadoop.events import (
    Append,
    Close,
    Create,
    Event,
    MetadataKind,
    Rename,
    Truncate,
    Unlink,
)
from nncache.hadoop.filestatus import FileType
from nncache.hadoop.operations import OPERATIONS, Effect, Operation
from tests.hadoop.footprints import EC, HARMLESS, ZONE, metadata, shown, stale

V1 = "/webhdfs/v1"


# -- calls -----------------------------------------------------------------------------------------------

# Method and target below /webhdfs/v1 | changes if done; "..." if the events must tell the rest.
CALLS = """
PUT /d/p?op=CREATE                           | -
PUT /d/p?op=MKDIRS                           | appeared /d/p
PUT /?op=MKDIRS                              | appeared /
PUT /d/p?op=CREATESYMLINK&destination=/e     | appeared /d/p
PUT /d/p?op=SETREPLICATION&replication=2     | touched /d/p
PUT /d/p?op=SETTIMES&modificationtime=5      | touched /d/p
PUT /d/p?op=SETPERMISSION&permission=700     | accesschanged /d/p
PUT /d/p?op=SETOWNER&owner=bob               | accesschanged /d/p
PUT /d/p?op=SETACL&aclspec=user::rwx         | accesschanged /d/p
PUT /d/p?op=MODIFYACLENTRIES&aclspec=        | accesschanged /d/p
PUT /d/p?op=REMOVEACLENTRIES&aclspec=        | accesschanged /d/p
PUT /d/p?op=REMOVEDEFAULTACL                 | accesschanged /d/p
PUT /d/p?op=REMOVEACL                        | accesschanged /d/p
PUT /d/p?op=SETXATTR&xattr.name=user.a       | -
PUT /d/p?op=SETXATTR&xattr.name=USER.a       | -
PUT /d/p?op=SETXATTR&xattr.name=trusted.a    | -
PUT /d/p?op=REMOVEXATTR&xattr.name=security.a | -
PUT /d/p?op=SETXATTR&xattr.name=system.a     | subtreeunknown /d/p
PUT /d/p?op=SETXATTR&xattr.name=raw.a.b      | subtreeunknown /d/p
PUT /d/p?op=SETXATTR&xattr.name=users.a      | subtreeunknown /d/p
PUT /d/p?op=SETXATTR&xattr.name=user.a&xattr.name=raw.b | ...
PUT /d/p?op=SETSTORAGEPOLICY&storagepolicy=X | subtreeunknown /d/p
PUT /d/p?op=SATISFYSTORAGEPOLICY             | subtreeunknown /d/p
PUT /d/p?op=SETECPOLICY&ecpolicy=X           | subtreeunknown /d/p
PUT /d/p?op=SETQUOTA&namespacequota=3        | subtreeunknown /d/p
PUT /d/p?op=SETQUOTABYSTORAGETYPE            | subtreeunknown /d/p
PUT /d/p?op=ALLOWSNAPSHOT                    | subtreeunknown /d/p
PUT /d/p?op=DISALLOWSNAPSHOT                 | subtreeunknown /d/p
PUT /d/p?op=CREATESNAPSHOT                   | subtreeunknown /d/p
PUT /d/p?op=RENAMESNAPSHOT                   | subtreeunknown /d/p
DELETE /d/p?op=DELETESNAPSHOT                | subtreeunknown /d/p
POST /d/p?op=UNSETECPOLICY                   | subtreeunknown /d/p
POST /d/p?op=UNSETSTORAGEPOLICY              | subtreeunknown /d/p
PUT /d/p?op=ENABLEECPOLICY&ecpolicy=X        | -
PUT /d/p?op=DISABLEECPOLICY&ecpolicy=X       | -
PUT /d/p?op=RENEWDELEGATIONTOKEN&token=T     | -
PUT /d/p?op=CANCELDELEGATIONTOKEN&token=T    | -
POST /d/p?op=APPEND                          | touched /d/p
POST /d/p?op=TRUNCATE&newlength=0            | touched /d/p
DELETE /d/p?op=DELETE                        | vanished /d/p
DELETE /d/p?op=DELETE&recursive=true         | vanished /d/p
DELETE ?op=DELETE&recursive=true             | vanished /

PUT /d/p?op=RENAME&destination=/e/q          | moved /d/p /e/q, appeared /e/q/p
PUT /d/p?op=RENAME&destination=/e//q/        | moved /d/p /e/q, appeared /e/q/p
PUT /d/p?op=RENAME&destination=/d/p          | appeared /d/p/p
PUT /d/p?op=RENAME&destination=/             | moved /d/p /p
PUT /s?op=RENAME&DESTINATION=/q&destination=/s | ...
PUT /d/p?op=RENAME&destination=/.reserved/raw/q | moved /d/p /q, appeared /q/p
PUT /d/p?op=RENAME&destination=/q&renameoptions=OVERWRITE | moved /d/p /q
PUT /d/p?op=RENAME&destination=/q&renameoptions= | moved /d/p /q, appeared /q/p
PUT /d/p?op=RENAME&destination=/q&renameoptions=&renameoptions=NONE | ...
PUT /d/p?op=RENAME                           | ...
PUT /d/p?op=RENAME&destination=              | ...
PUT /d/p?op=RENAME&destination=q             | ...
PUT /d/p?op=RENAME&destination=//h/q         | ...
PUT /d/p?op=RENAME&destination=/e/../q       | ...
PUT /d/p?op=RENAME&destination=/%ff          | ...
PUT /d/p?op=RENAME&destination=/.reserved/.inodes/16387 | ...
PUT /d/p?op=RENAME&destination=/q&destination=r | ...

POST /d/p?op=CONCAT&sources=/d/a,/d/b        | touched /d/p, vanished /d/a, vanished /d/b
POST /d/p?op=CONCAT&sources=/d/a,            | touched /d/p, vanished /d/a
POST /d/p?op=CONCAT&sources=/d/a&Sources=/   | ...
POST /d/p?op=CONCAT                          | touched /d/p ...
POST /d/p?op=CONCAT&sources=,                | touched /d/p ...
POST /d/p?op=CONCAT&sources=/d/a,b           | touched /d/p, vanished /d/a ...

PUT /.reserved/raw/d/p?op=MKDIRS             | appeared /d/p
PUT /.reserved/raw?op=SETPERMISSION          | accesschanged /
PUT /.reserved/rawx?op=MKDIRS                | ...
PUT /.reserved/.inodes/16386?op=SETPERMISSION | ...
PUT /.reserved/raw/.reserved/.inodes/16386?op=SETPERMISSION | ...
PUT /d/.snapshot/s?op=SETTIMES               | touched /d/.snapshot/s
PUT /d/../p?op=MKDIRS                        | ...
PUT /d/%zz?op=MKDIRS                         | ...
PUT /d/p?op=MKDIRS&x=%zz                     | ...
PUT /d/p?op=MKDIRS#x                         | ...
PUT /../../webhdfs/v1/d?op=MKDIRS            | ...

PUT /d/p?op=NEW                              | subtreeunknown /d/p, touched /d/p to /
PUT /d/p                                     | ...
PATCH /p?op=MKDIRS                           | subtreeunknown /p, touched /p to /
DELETE /p?op=NEW&x=b&y=/q                    | subtreeunknown /p, touched /p to /, subtreeunknown /q, touched /q to /
PUT /p?op=NEW&to=//q                         | subtreeunknown /p, touched /p to /, subtreeunknown /q, touched /q to /
PUT /p?op=NEW&to=/q/.. | subtreeunknown /p, touched /p to /, subtreeunknown /q/.., touched /q/.. to /
PUT /p?op=MKDIRS&op=DELETE                   | ...
PUT /p?op=MKDIRS&OP=CREATE                   | ...
PUT $/a?op=MKDIRS                            | -
PUT /p?op=RENAME&destination=$/a             | moved /p $/a, appeared $/a/p
DELETE $/a?op=DELETE                         | vanished $/a
PUT $/a?op=NEW                               | subtreeunknown $/a, touched $/a to $
"""


@pytest.mark.parametrize("row", [row for row in CALLS.splitlines() if row])
def test_a_write_makes_stale_what_the_table_says(row: str) -> None:
    """Only certain changes count; possible ones are left to the events."""
    row = row.replace("$", 1_000 * "/a")  # as deep as HDFS makes a path
    request, expected = (part.strip() for part in row.rsplit("|", 1))
    method, target = request.split(" ")
    call = parse_call(method, V1 + target)
    assert text(effects_of_call(call, CallOutcome.DONE)) == expected
    if expected == "-" and call.op is not None and call.op.effect is Effect.NOTHING:
        return
    assert effects_of_call(call, CallOutcome.UNDONE) == NO_EFFECT
    for outcome in (CallOutcome.HALFWAY, CallOutcome.UNKNOWN):
        assert effects_of_call(call, outcome) == LEFT_TO_EVENTS


def text(effects: Effects) -> str:
    """Return effects in the notation of the table."""
    return " ".join(
        part
        for part in (
            shown(effects.changes) if effects.changes or effects.is_complete else "",
            "" if effects.is_complete else "...",
        )
        if part
    )


def test_a_path_list_of_an_unknown_write_counts_in_parts() -> None:
    """A comma may separate paths, as in CONCAT, or be part of a name."""
    changes = effects_of_call(parse_call("POST", f"{V1}/p?op=NEW&to=/a,/b"), CallOutcome.DONE).changes
    assert set(map(SubtreeUnknown, ("/p", "/a", "/b", "/a,/b"))) <= set(changes)


@pytest.mark.parametrize("query", ["NEW&x", "CONCAT&sources"])
def test_so_many_paths_are_looked_at_one_by_one(query: str) -> None:
    """A longer list is left to the events."""
    call = parse_call("POST", f"{V1}/p?op={query}=" + ",".join(f"/{number}" for number in range(1_001)))
    assert effects_of_call(call, CallOutcome.DONE) == LEFT_TO_EVENTS


def test_an_alias_in_an_unknown_write_is_left_to_events() -> None:
    """Only the events have the path behind an alias."""
    effects = effects_of_call(parse_call("PUT", f"{V1}/p?op=NEW&to=/.reserved/.inodes/1"), CallOutcome.DONE)
    assert text(effects) == "subtreeunknown /p, touched /p to / ..."


def test_the_table_has_a_row_for_every_operation_that_writes() -> None:
    """A new operation in `nncache.hadoop.operations` needs a row here."""
    for row in OPERATIONS:
        assert row.method == "GET" or f"?op={row.name}" in CALLS, row


READS = """
GET /d/p?op=OPEN                                | filetouched /d/p
GET /d/p?op=GETFILECHECKSUM                     | filetouched /d/p
GET /d/p?op=GET_BLOCK_LOCATIONS                 | filetouched /d/p
GET /d/p?op=GETFILEBLOCKLOCATIONS               | filetouched /d/p
HEAD /d/p?op=OPEN                               | filetouched /d/p
GET /.reserved/raw/d/p?op=OPEN                  | filetouched /d/p
GET /.reserved/.inodes/16386?op=OPEN            | -
GET /d/%ff?op=OPEN                              | -
GET /d/p?op=GETFILESTATUS                       | -
GET /d?op=LISTSTATUS                            | -
GET /d?op=GETDELEGATIONTOKEN                    | -
GET /d/p?op=NEW                                 | filetouched /d/p
GET /d/p                                        | filetouched /d/p
GET /d/p?op=OPEN&op=GETFILESTATUS               | filetouched /d/p
"""


@pytest.mark.parametrize("row", READS.strip().splitlines())
def test_a_read_makes_stale_an_access_time_at_most(row: str) -> None:
    """Only if it succeeds; a refused read, or one without a reply, has its own event if it changed anything."""
    request, expected = (part.strip() for part in row.split("|"))
    method, target = request.split(" ")
    call = parse_call(method, V1 + target)
    assert text(effects_of_call(call, CallOutcome.DONE)) == expected
    for outcome in (CallOutcome.UNDONE, CallOutcome.HALFWAY, CallOutcome.UNKNOWN):
        assert effects_of_call(call, outcome) == NO_EFFECT


@pytest.mark.parametrize("op", ["MKDIRS", "CREATESYMLINK"])
def test_missing_ancestors_appear_as_well(op: str) -> None:
    """The ancestors from the topmost missing one appear."""
    call = parse_call("PUT", f"{V1}/a/b/c/d?op={op}")

    def done(existing: ExistingPath) -> str:
        return text(effects_of_call(call, CallOutcome.DONE, existing))

    assert done(ExistingPath(topmost_missing="/a")) == "appeared /a, appeared /a/b/c/d"
    assert done(ExistingPath(topmost_missing="/a/b/c/d")) == "appeared /a/b/c/d"
    assert done(ExistingPath()) == "appeared /a/b/c/d"
    assert done(ExistingPath(is_known=False)) == "..."
    assert done(ExistingPath(is_directory=True)) == "..."


def test_a_redirect_has_changed_nothing() -> None:
    """The second step may change something; the write window covers that."""
    odd = [ExistingPath(topmost_missing="/a"), ExistingPath(is_directory=True), ExistingPath(may_write=False)]
    call = parse_call("PUT", f"{V1}/a/b?op=CREATE")
    assert all(effects_of_call(call, CallOutcome.DONE, existing) == NO_EFFECT for existing in odd)
    assert [existing.can_be_made for existing in odd] == [True, False, False]


def test_an_append_that_is_not_its_callers_costs_nobody_a_status() -> None:
    """Any user who sees a directory or an empty file gets that redirect; the events report access times."""
    call = parse_call("POST", f"{V1}/a/b?op=APPEND")
    assert effects_of_call(call, CallOutcome.DONE, ExistingPath(is_directory=True)) == NO_EFFECT
    assert text(effects_of_call(call, CallOutcome.DONE, ExistingPath(may_write=False))) == "..."
    assert text(effects_of_call(call, CallOutcome.DONE, ExistingPath(is_known=False))) == "touched /a/b"
    truncate = parse_call("POST", f"{V1}/a/b?op=TRUNCATE&newlength=0")
    effects = effects_of_call(truncate, CallOutcome.DONE, ExistingPath(is_directory=True))
    assert text(effects) == "touched /a/b"


def test_other_writes_make_no_ancestors() -> None:
    """They do not depend on missing ancestors."""
    call = parse_call("PUT", f"{V1}/a/b?op=SETTIMES")
    assert text(effects_of_call(call, CallOutcome.DONE, ExistingPath(topmost_missing="/a"))) == "touched /a/b"


def test_a_rename_into_a_directory_costs_nothing_else_in_it() -> None:
    """A user with write access to a public directory must not be able to flush it for others."""
    call = parse_call("PUT", f"{V1}/d/p?op=RENAME&destination=/e")
    directory = ExistingPath(destination_is_directory=True)
    assert text(effects_of_call(call, CallOutcome.DONE, directory)) == "moved /d/p /e/p ..."
    assert text(effects_of_call(call, CallOutcome.DONE, ExistingPath(is_known=False))) == "..."
    newer = parse_call("PUT", f"{V1}/d/p?op=RENAME&destination=/e&renameoptions=OVERWRITE")  # it replaces /e
    assert text(effects_of_call(newer, CallOutcome.DONE, directory)) == "moved /d/p /e"


WINDOWS = """
PUT /p?op=CREATE                        | yes
PUT /p?OP=create&noredirect=true        | yes
POST /p?op=APPEND                       | yes
PUT /p?op=MKDIRS&OP=CREATE              | yes
PUT /%ff?op=CREATE                      | yes
PUT /p?op=CREATE&x=%zz                  | yes
PUT /p?op=MKDIRS                        | no
POST /p?op=CREATE                       | no
PUT /p?op=APPEND                        | no
PUT /p                                  | no
"""


@pytest.mark.parametrize("row", WINDOWS.strip().splitlines())
def test_only_what_may_have_a_second_step_opens_a_window(row: str) -> None:
    """The path or the rest of the query may be uncertain: the redirect that follows decides."""
    request, expected = (part.strip() for part in row.split("|"))
    method, target = request.split(" ")
    assert opens_window(parse_call(method, V1 + target)) is (expected == "yes")


def test_the_written_path_is_the_one_of_the_events() -> None:
    """The raw prefix is removed; other aliases and unreadable paths give None."""
    targets = ("//w/f/", "/.reserved/raw/w/f", "/.reserved/.inodes/1", "/%ff")
    found = [written_path(parse_call("PUT", V1 + target)) for target in targets]
    assert found == ["/w/f", "/w/f", None, None]


# -- invariants of any call

# Events of each call in the facts' table A1 (/d/p is the path, /e/q the destination, and so on).
EVENTS_OF_CALLS: list[tuple[str, list[Event]]] = [
    ("PUT /d/p?op=CREATE", []),
    ("PUT /d/p?op=MKDIRS", [Create(kind=FileType.DIRECTORY, path="/d/p")]),
    ("PUT /d/p?op=CREATESYMLINK&destination=/e", [Create(kind=FileType.SYMLINK, path="/d/p")]),
    ("PUT /d/p?op=RENAME&destination=/e/q", [Rename("/d/p", "/e/q")]),
    ("PUT /d/p?op=RENAME&destination=/e", [Rename("/d/p", "/e/p")]),
    ("PUT /d/p?op=RENAME&destination=/", [Rename("/d/p", "/p")]),
    ("PUT /d/p?op=RENAME&destination=/d/p", [Rename("/d/p", "/d/p")]),
    ("PUT /d/p?op=RENAME&destination=//d/u", [Rename("/d/p", "/u")]),  # measured: "d" is taken for a host
    ("PUT /d/p?op=RENAME&destination=/d/../e/q", [Rename("/d/p", "/e/q")]),  # measured
    ("PUT /.reserved/raw/d/p?op=MKDIRS", [Create(kind=FileType.DIRECTORY, path="/d/p")]),  # measured
    ("PUT /%ff?op=MKDIRS", [Create(kind=FileType.DIRECTORY, path="/\ufffd")]),  # measured
    ("DELETE /d/p?op=DELETE", [Unlink("/d/p")]),
    ("POST /d/p?op=APPEND", [metadata(MetadataKind.TIMES)]),
    ("POST /d/p?op=TRUNCATE&newlength=1", [Truncate("/d/p"), Close("/d/p")]),
    (
        "POST /d/p?op=CONCAT&sources=/d/a,/d/b",
        [Append("/d/p"), Unlink("/d/a"), Unlink("/d/b"), Close("/d/p", -1)],
    ),
    ("PUT /d/p?op=SETTIMES", [metadata(MetadataKind.TIMES)]),
    ("PUT /d/p?op=SETREPLICATION", [metadata(MetadataKind.REPLICATION)]),
    ("PUT /d/p?op=SETOWNER", [metadata(MetadataKind.OWNER)]),
    ("PUT /d/p?op=SETPERMISSION", [metadata(MetadataKind.PERMS)]),
    ("PUT /d/p?op=SETACL", [metadata(MetadataKind.ACLS)]),
    ("PUT /d/p?op=SETXATTR&xattr.name=user.a", [metadata(MetadataKind.XATTRS, HARMLESS)]),
    ("PUT /d/p?op=SETXATTR&xattr.name=raw.a", [metadata(MetadataKind.XATTRS, ZONE)]),
    ("PUT /d/p?op=SETECPOLICY", [metadata(MetadataKind.XATTRS, EC)]),
    ("GET /d/p?op=OPEN", [metadata(MetadataKind.TIMES)]),
]


@pytest.mark.parametrize(("request_line", "events"), EVENTS_OF_CALLS)
def test_a_call_forgets_at_least_what_its_events_will(request_line: str, events: list[Event]) -> None:
    """OwnWrites: the event follows the reply, so the call's own footprint must include it."""
    method, target = request_line.split(" ")
    found = effects_of_call(parse_call(method, V1 + target), CallOutcome.DONE)
    for event in events:
        assert not found.is_complete or stale(found.changes).covers(stale(changes_of_event(event)))


PLACES = st.sampled_from(
    ["/", "/a", "/a/b", "/a/b/c", "//a//b/", "/.reserved/raw/a", "/x/../a", "/a%2Fb", "/a;b"]
)
WRITES = st.sampled_from([row for row in OPERATIONS if row.method != "GET"])


@st.composite
def calls(draw: st.DrawFn) -> WebHdfsCall:
    """Return any write with any arguments."""
    op = draw(WRITES)
    query = f"op={op.name}"
    for key in draw(st.lists(st.sampled_from(["destination", "sources", "xattr.name", "x"]), max_size=3)):
        query += f"&{key}={draw(PLACES | st.sampled_from(['user.a', 'raw.a', '/a/b,/a/c', 'b', '%zz']))}"
    return parse_call(op.method, f"{V1}{draw(PLACES)}?{query}")


@given(calls(), st.sampled_from(CallOutcome), st.sampled_from([None, "/", "/a", "/a/b"]))
def test_only_what_is_done_costs_anything(
    call: WebHdfsCall, outcome: CallOutcome, topmost_missing: str | None
) -> None:
    """Anybody can send a call that is refused or gets no reply; and no call makes everything stale."""
    effects = effects_of_call(call, outcome, ExistingPath(topmost_missing=topmost_missing))
    assert outcome is CallOutcome.DONE or not effects.changes
    assert not stale(effects.changes).everything


@given(calls(), st.sampled_from([None, "/", "/a", "/a/b"]))
def test_changes_are_canonical_and_reported_once(call: WebHdfsCall, topmost_missing: str | None) -> None:
    """The cache may use every path as a key without checks."""
    changes = effects_of_call(call, CallOutcome.DONE, ExistingPath(topmost_missing=topmost_missing)).changes
    assert len(set(changes)) == len(changes)
    for change in changes:
        assert not isinstance(change, EverythingUnknown)
        if isinstance(change, LineTouched):
            assert f"{change.path}/".startswith(change.top)
        elif isinstance(change, Moved):
            assert change.source != change.destination
        else:
            assert change.path == "/" or not change.path.endswith("/")
            assert "//" not in change.path


@pytest.mark.parametrize("op", [row for row in OPERATIONS if row.method != "GET"], ids=lambda row: row.name)
def test_every_write_has_some_effect_or_is_listed(op: Operation) -> None:
    """NOTHING in the wrong row would mean stale answers."""
    without = {"ENABLEECPOLICY", "DISABLEECPOLICY", "RENEWDELEGATIONTOKEN", "CANCELDELEGATIONTOKEN", "CREATE"}
    call = parse_call(op.method, f"{V1}/p?op={op.name}&destination=/q")
    assert (effects_of_call(call, CallOutcome.DONE) != NO_EFFECT) is (op.name not in without)


TRUE, FALSE = b'{"boolean":true}', b'{"boolean":false}'


def refusal(name: str, package: str = "org.apache.hadoop.security") -> bytes:
    """Return a RemoteException as a NameNode sends it."""
    return (
        f'{{"RemoteException":{{"exception":"{name}","javaClassName":"{package}.{name}","message":""}}}}'
    ).encode()


DENIED = refusal("AccessControlException")
QUOTA = refusal("NSQuotaExceededException", "org.apache.hadoop.hdfs.protocol")
LIMIT = refusal("PathComponentTooLongException", "org.apache.hadoop.hdfs.protocol.FSLimitException$")
NO_DIRECTORY = refusal("ParentNotDirectoryException", "org.apache.hadoop.fs")
EXISTS = refusal("FileAlreadyExistsException", "org.apache.hadoop.fs")
SAFE_MODE = refusal("SafeModeException", "org.apache.hadoop.hdfs.server.namenode")
RESERVED = refusal("HadoopIllegalArgumentException", "org.apache.hadoop")
NOT_ALLOWED = refusal("NotAllowedException", "org.apache.hadoop.shaded.javax.ws.rs")

REPLIES = [
    ("PUT /p?op=MKDIRS", 200, TRUE, CallOutcome.DONE),
    ("PUT /p?op=MKDIRS", 200, FALSE, CallOutcome.DONE),
    ("PUT /p?op=CREATE", 307, None, CallOutcome.DONE),
    ("GET /p?op=OPEN", 307, None, CallOutcome.DONE),
    ("DELETE /p?op=DELETE", 200, TRUE, CallOutcome.DONE),
    # there was nothing to delete or rename
    ("DELETE /p?op=DELETE", 200, FALSE, CallOutcome.UNDONE),
    ("PUT /p?op=RENAME&destination=/q", 200, TRUE, CallOutcome.DONE),
    ("PUT /p?op=RENAME&destination=/q", 200, FALSE, CallOutcome.UNDONE),
    ("PUT /p?op=SETREPLICATION", 200, TRUE, CallOutcome.DONE),
    ("PUT /p?op=SETREPLICATION", 200, FALSE, CallOutcome.UNDONE),
    # the last block is truncated later: false is no refusal
    ("POST /p?op=TRUNCATE", 200, FALSE, CallOutcome.DONE),
    ("PUT /p?op=RENAME&op=MKDIRS&destination=/q", 200, FALSE, CallOutcome.DONE),
    # refused
    ("GET /p?op=OPEN", 403, DENIED, CallOutcome.UNDONE),
    ("GET /p?op=X", 400, refusal("IllegalArgumentException", "java.lang"), CallOutcome.UNDONE),
    ("DELETE /p?op=DELETE", 403, DENIED, CallOutcome.UNDONE),
    ("PUT /p?op=X", 400, None, CallOutcome.UNDONE),
    ("PUT /p?op=SETTIMES", 404, None, CallOutcome.UNDONE),
    ("PUT /p?op=SETTIMES", 403, QUOTA, CallOutcome.UNDONE),
    ("PUT /p?op=MKDIRS", 403, DENIED, CallOutcome.UNDONE),
    ("PUT /p?op=MKDIRS", 403, NO_DIRECTORY, CallOutcome.UNDONE),
    ("PUT /p?op=MKDIRS", 403, EXISTS, CallOutcome.UNDONE),
    ("PUT /p?op=MKDIRS", 403, SAFE_MODE, CallOutcome.UNDONE),
    # observed after missing ancestors were created
    ("PUT /p?op=MKDIRS", 403, QUOTA, CallOutcome.HALFWAY),
    ("PUT /p?op=MKDIRS", 403, LIMIT, CallOutcome.HALFWAY),
    ("PUT /p?op=MKDIRS", 400, RESERVED, CallOutcome.HALFWAY),
    ("PUT /p?op=MKDIRS", 403, None, CallOutcome.HALFWAY),
    ("PUT /p?op=MKDIRS", 403, b"<html>", CallOutcome.HALFWAY),
    ("PUT /p?op=X&op=MKDIRS", 403, QUOTA, CallOutcome.HALFWAY),
    # no reply, or one that leaves the outcome open
    ("DELETE /p?op=DELETE", None, None, CallOutcome.UNKNOWN),
    ("DELETE /p?op=DELETE", 408, None, CallOutcome.UNKNOWN),
    ("DELETE /p?op=DELETE", 500, None, CallOutcome.UNKNOWN),
    ("DELETE /p?op=DELETE", 503, DENIED, CallOutcome.UNKNOWN),
    # these never reach the namespace
    ("PATCH /p?op=DELETE", 500, NOT_ALLOWED, CallOutcome.UNDONE),
    ("FOO /p?op=DELETE", None, None, CallOutcome.UNDONE),
    ("OPTIONS /p?op=OPEN", 200, b"<application/>", CallOutcome.UNDONE),
    ("TRACE /p?op=OPEN", 500, NOT_ALLOWED, CallOutcome.UNDONE),
]


@pytest.mark.parametrize(("request_line", "status", "body", "outcome"), REPLIES)
def test_the_reply_tells_the_outcome(
    request_line: str, status: int | None, body: bytes | None, outcome: CallOutcome
) -> None:
    """A refusal before any change must cost others nothing; a doubtful one does not count as a refusal."""
    method, _, target = request_line.partition(" ")
    assert outcome_of(parse_call(method, PREFIX + target), status, body) is outcome
