"""What makes what stale: the tables of the facts, row by row, and what must hold for any row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadoop.calls import Call, read_call
from hadoop.change import EverythingUnknown, Moved, Touched
from hadoop.changes import CallOutcome, changes_of_call, changes_of_event, opens_window, written_path
from hadoop.events import (
    Append,
    Close,
    Create,
    Event,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Truncate,
    Unlink,
    XAttr,
    XAttrNamespace,
)
from hadoop.filestatus import FileType
from hadoop.operations import OPERATIONS, Effect, Operation
from hadoop.paths import ancestors
from tests.hadoop.footprints import shown, stale

V1 = "/webhdfs/v1"


# -- events ----------------------------------------------------------------------------------------------


def metadata(kind: MetadataKind, *xattrs: XAttr) -> MetadataUpdate:
    """Make the event for /d/p."""
    return MetadataUpdate(path="/d/p", kind=kind, xattrs=xattrs)


EC = XAttr(XAttrNamespace.SYSTEM, "hdfs.erasurecoding.policy")
ZONE = XAttr(XAttrNamespace.RAW, "hdfs.crypto.encryption.zone")
HARMLESS = XAttr(XAttrNamespace.USER, "hdfs.erasurecoding.policy")
TRUSTED = XAttr(XAttrNamespace.TRUSTED, "a")
SECURITY = XAttr(XAttrNamespace.SECURITY, "a")

# The facts' table "What each event can have changed": event, changes, statuses to drop | and all below.
EVENTS: list[tuple[Event, str, str]] = [
    (Create(kind=FileType.FILE, path="/d/p"), "appeared /d/p, opened /d/p", "/d /d/p | /d/p"),
    (Create(kind=FileType.FILE, path="/d/p", overwrite=True), "appeared /d/p, opened /d/p", "/d /d/p | /d/p"),
    (Create(kind=FileType.DIRECTORY, path="/d/p"), "appeared /d/p", "/d /d/p | /d/p"),
    (Create(kind=FileType.SYMLINK, path="/d/p"), "appeared /d/p", "/d /d/p | /d/p"),
    (Close("/d/p"), "closed /d/p", "/d/p | -"),
    (Append("/d/p"), "opened /d/p", "/d/p | -"),
    (Truncate("/d/p"), "touched /d/p", "/d/p | -"),
    (Unlink("/d/p"), "vanished /d/p", "/d /d/p | /d/p"),
    (Rename("/d/s", "/e/t"), "moved /d/s /e/t", "/d /d/s /e /e/t | /d/s /e/t"),
    (Rename("/d/s", "/d/t"), "moved /d/s /d/t", "/d /d/s /d/t | /d/s /d/t"),
    (Rename("/d/s", "/d/s"), "-", "- | -"),
    (metadata(MetadataKind.PERMS), "accesschanged /d/p", "/d/p | /d/p"),
    (metadata(MetadataKind.OWNER), "accesschanged /d/p", "/d/p | /d/p"),
    (metadata(MetadataKind.ACLS), "accesschanged /d/p", "/d/p | /d/p"),
    (metadata(MetadataKind.TIMES), "touched /d/p", "/d/p | -"),
    (metadata(MetadataKind.REPLICATION), "touched /d/p", "/d/p | -"),
    (metadata(MetadataKind.XATTRS), "-", "- | -"),
    (metadata(MetadataKind.XATTRS, HARMLESS, TRUSTED, SECURITY), "-", "- | -"),
    (metadata(MetadataKind.XATTRS, EC), "subtreeunknown /d/p", "/d/p | /d/p"),
    (metadata(MetadataKind.XATTRS, HARMLESS, ZONE), "subtreeunknown /d/p", "/d/p | /d/p"),
    # not in the table: paths that cannot be read, and others than canonical ones
    (Unlink("d/p"), "everything", "- | -"),
    (Rename("/d/s", ""), "everything", "- | -"),
    (Unlink("//d/p/"), "vanished /d/p", "/d /d/p | /d/p"),
    (Rename("/d/s/", "/d//s"), "-", "- | -"),
]


@pytest.mark.parametrize(("event", "changes", "footprint"), EVENTS)
def test_an_event_makes_stale_what_the_facts_say(event: Event, changes: str, footprint: str) -> None:
    """Neither less (a stale answer) nor, where the facts are exact, more (a lost hit)."""
    found = changes_of_event(event)
    assert shown(found) == changes
    assert str(stale(found)) == footprint


# -- calls -----------------------------------------------------------------------------------------------

# Method and target below /webhdfs/v1 | what it changes when done | whose own statuses it touches when refused.
CALLS = """
PUT /d/p?op=CREATE                           | appeared /d/p                  | /d/p /d
PUT /d/p?op=MKDIRS                           | appeared /d/p                  | /d/p /d
PUT /?op=MKDIRS                              | appeared /                     | /
PUT /d/p?op=CREATESYMLINK&destination=/e     | appeared /d/p                  | /d/p /d
PUT /d/p?op=SETREPLICATION&replication=2     | touched /d/p                   | /d/p /d
PUT /d/p?op=SETTIMES&modificationtime=5      | touched /d/p                   | /d/p /d
PUT /d/p?op=SETPERMISSION&permission=700     | accesschanged /d/p             | /d/p /d
PUT /d/p?op=SETOWNER&owner=bob               | accesschanged /d/p             | /d/p /d
PUT /d/p?op=SETACL&aclspec=user::rwx         | accesschanged /d/p             | /d/p /d
PUT /d/p?op=MODIFYACLENTRIES&aclspec=        | accesschanged /d/p             | /d/p /d
PUT /d/p?op=REMOVEACLENTRIES&aclspec=        | accesschanged /d/p             | /d/p /d
PUT /d/p?op=REMOVEDEFAULTACL                 | accesschanged /d/p             | /d/p /d
PUT /d/p?op=REMOVEACL                        | accesschanged /d/p             | /d/p /d
PUT /d/p?op=SETXATTR&xattr.name=user.a       | -                              | -
PUT /d/p?op=SETXATTR&xattr.name=USER.a       | -                              | -
PUT /d/p?op=SETXATTR&xattr.name=trusted.a    | -                              | -
PUT /d/p?op=REMOVEXATTR&xattr.name=security.a | - | -
PUT /d/p?op=SETXATTR&xattr.name=system.a     | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=SETXATTR&xattr.name=raw.a.b      | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=SETXATTR&xattr.name=users.a      | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=SETXATTR&xattr.name=user.a&xattr.name=raw.b | subtreeunknown /d/p | /d/p /d
PUT /d/p?op=SETSTORAGEPOLICY&storagepolicy=X | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=SATISFYSTORAGEPOLICY             | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=SETECPOLICY&ecpolicy=X           | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=SETQUOTA&namespacequota=3        | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=SETQUOTABYSTORAGETYPE            | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=ALLOWSNAPSHOT                    | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=DISALLOWSNAPSHOT                 | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=CREATESNAPSHOT                   | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=RENAMESNAPSHOT                   | subtreeunknown /d/p            | /d/p /d
DELETE /d/p?op=DELETESNAPSHOT                | subtreeunknown /d/p            | /d/p /d
POST /d/p?op=UNSETECPOLICY                   | subtreeunknown /d/p            | /d/p /d
POST /d/p?op=UNSETSTORAGEPOLICY              | subtreeunknown /d/p            | /d/p /d
PUT /d/p?op=ENABLEECPOLICY&ecpolicy=X        | -                              | -
PUT /d/p?op=DISABLEECPOLICY&ecpolicy=X       | -                              | -
PUT /d/p?op=RENEWDELEGATIONTOKEN&token=T     | -                              | -
PUT /d/p?op=CANCELDELEGATIONTOKEN&token=T    | -                              | -
POST /d/p?op=APPEND                          | touched /d/p                   | /d/p /d
POST /d/p?op=TRUNCATE&newlength=0            | touched /d/p                   | /d/p /d
DELETE /d/p?op=DELETE                        | vanished /d/p                  | /d/p /d
DELETE /d/p?op=DELETE&recursive=true         | vanished /d/p                  | /d/p /d
DELETE ?op=DELETE&recursive=true             | vanished /                     | /

PUT /d/p?op=RENAME&destination=/e/q | moved /d/p /e/q, appeared /e/q/p | /d/p /d /e/q /e /e/q/p
PUT /d/p?op=RENAME&destination=/e//q/ | moved /d/p /e/q, appeared /e/q/p | /d/p /d /e/q /e /e/q/p
PUT /d/p?op=RENAME&destination=/d/p          | appeared /d/p/p                | /d/p/p /d/p
PUT /d/p?op=RENAME&destination=/             | moved /d/p /p, appeared /p     | /d/p /d /p /
PUT /s?op=RENAME&DESTINATION=/q&destination=/s | moved /s /q, appeared /q/s, appeared /s/s | /s / /q /q/s /s/s
PUT /d/p?op=RENAME&destination=/.reserved/raw/q | moved /d/p /q, appeared /q/p | /d/p /d /q / /q/p
PUT /d/p?op=RENAME                           | everything                     | -
PUT /d/p?op=RENAME&destination=              | everything                     | -
PUT /d/p?op=RENAME&destination=q             | everything                     | -
PUT /d/p?op=RENAME&destination=//h/q         | everything                     | -
PUT /d/p?op=RENAME&destination=/e/../q       | everything                     | -
PUT /d/p?op=RENAME&destination=/%ff          | everything                     | -
PUT /d/p?op=RENAME&destination=/.reserved/.inodes/16387 | everything | -
PUT /d/p?op=RENAME&destination=/q&destination=r | everything | /d/p /d /q / /q/p

POST /d/p?op=CONCAT&sources=/d/a,/d/b | touched /d/p, vanished /d/a, vanished /d/b | /d/p /d /d/a /d/b
POST /d/p?op=CONCAT&sources=/d/a,&Sources=/d//b | touched /d/p, vanished /d/a, vanished /d/b | /d/p /d /d/a /d/b
POST /d/p?op=CONCAT                          | everything                     | /d/p /d
POST /d/p?op=CONCAT&sources=,                | everything                     | /d/p /d
POST /d/p?op=CONCAT&sources=/d/a,b           | everything                     | /d/p /d /d/a

PUT /.reserved/raw/d/p?op=MKDIRS             | appeared /d/p                  | /d/p /d
PUT /.reserved/raw?op=SETPERMISSION          | accesschanged /                | /
PUT /.reserved/rawx?op=MKDIRS                | everything                     | -
PUT /.reserved/.inodes/16386?op=SETPERMISSION | everything | -
PUT /.reserved/raw/.reserved/.inodes/16386?op=SETPERMISSION | everything | -
PUT /d/.snapshot/s?op=SETTIMES               | touched /d/.snapshot/s         | /d/.snapshot/s /d/.snapshot
PUT /d/../p?op=MKDIRS                        | everything                     | -
PUT /d/%zz?op=MKDIRS                         | everything                     | -
PUT /d/p?op=MKDIRS&x=%zz                     | everything                     | -
PUT /d/p?op=MKDIRS#x                         | everything                     | -
PUT /../../webhdfs/v1/d?op=MKDIRS            | everything                     | -

PUT /d/p?op=NEW | subtreeunknown /d/p, touched /d, touched / | /d/p /d /
PUT /d/p | subtreeunknown /d/p, touched /d, touched / | /d/p /d /
PATCH /p?op=MKDIRS                           | subtreeunknown /p, touched /   | /p /
DELETE /p?op=NEW&x=b&y=/q | subtreeunknown /p, touched /, subtreeunknown /q | /p / /q
PUT /p?op=NEW&to=//q                         | everything                     | /p /
PUT /p?op=NEW&to=/q/..                       | everything                     | /p /
PUT /p?op=MKDIRS&op=DELETE                   | subtreeunknown /p, touched /   | /p /
PUT /p?op=MKDIRS&OP=CREATE                   | subtreeunknown /p, touched /   | /p /"""


@pytest.mark.parametrize("row", [row for row in CALLS.splitlines() if row])
def test_a_write_makes_stale_what_the_table_says(row: str) -> None:
    """Done or unknown: all of it. Refused: own statuses alone, or refused writes could empty the cache."""
    request, done, refused = (part.strip() for part in row.rsplit("|", 2))
    method, target = request.split(" ")
    call = read_call(method, V1 + target)
    assert shown(changes_of_call(call, CallOutcome.DONE)) == done
    assert shown(changes_of_call(call, CallOutcome.UNKNOWN)) == done
    touched = changes_of_call(call, CallOutcome.REFUSED)
    assert touched == tuple(Touched(path) for path in refused.split() if path != "-")


def test_a_list_of_paths_in_an_unknown_write_counts_whole_and_in_parts() -> None:
    """A comma may separate paths, as in CONCAT, or belong to a name."""
    changes = changes_of_call(read_call("POST", f"{V1}/p?op=NEW&to=/a,/b"), CallOutcome.DONE)
    assert {f"subtreeunknown {path}" for path in ("/p", "/a", "/b", "/a,/b")} <= set(
        shown(changes).split(", ")
    )


def test_the_table_has_a_row_for_every_operation_that_writes() -> None:
    """A new row in `hadoop.operations` needs one here."""
    for row in OPERATIONS:
        assert row.method == "GET" or f"?op={row.name}" in CALLS, row


READS = """
GET /d/p?op=OPEN                                | touched /d/p
GET /d/p?op=GETFILECHECKSUM                     | touched /d/p
GET /d/p?op=GET_BLOCK_LOCATIONS                 | touched /d/p
GET /d/p?op=GETFILEBLOCKLOCATIONS               | touched /d/p
HEAD /d/p?op=OPEN                               | touched /d/p
GET /.reserved/raw/d/p?op=OPEN                  | touched /d/p
GET /.reserved/.inodes/16386?op=OPEN            | -
GET /d/%ff?op=OPEN                              | -
GET /d/p?op=GETFILESTATUS                       | -
GET /d?op=LISTSTATUS                            | -
GET /d?op=GETDELEGATIONTOKEN                    | -
GET /d/p?op=NEW                                 | touched /d/p
GET /d/p                                        | touched /d/p
GET /d/p?op=OPEN&op=GETFILESTATUS               | touched /d/p
OPTIONS /d/p                                    | touched /d/p
"""


@pytest.mark.parametrize("row", READS.strip().splitlines())
@pytest.mark.parametrize("outcome", CallOutcome)
def test_a_read_makes_stale_an_access_time_at_most(row: str, outcome: CallOutcome) -> None:
    """Whatever its outcome; an unknown one may be of that kind."""
    request, expected = (part.strip() for part in row.split("|"))
    method, target = request.split(" ")
    assert shown(changes_of_call(read_call(method, V1 + target), outcome)) == expected


@pytest.mark.parametrize("op", ["MKDIRS", "CREATE", "CREATESYMLINK"])
def test_missing_ancestors_appear_as_well(op: str) -> None:
    """From the topmost one that may be missing; refused half-way (a quota), each level's own status counts."""
    call = read_call("PUT", f"{V1}/a/b/c/d?op={op}")
    assert shown(changes_of_call(call, CallOutcome.DONE, "/a")) == (
        "appeared /a, touched /a/b/c, touched /a/b, appeared /a/b/c/d"
    )
    assert shown(changes_of_call(call, CallOutcome.REFUSED, "/a")) == (
        "touched /a, touched /, touched /a/b/c, touched /a/b, touched /a/b/c/d"
    )
    assert shown(changes_of_call(call, CallOutcome.DONE, "/a/b/c")) == "appeared /a/b/c, appeared /a/b/c/d"
    assert shown(changes_of_call(call, CallOutcome.DONE)) == "appeared /a/b/c/d"


def test_other_writes_make_no_ancestors() -> None:
    """They do not look at what may be missing."""
    call = read_call("PUT", f"{V1}/a/b?op=SETTIMES")
    assert shown(changes_of_call(call, CallOutcome.DONE, "/a")) == "touched /a/b"


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
    """Also when the path or the rest of the query is not certain: the redirect that follows decides."""
    request, expected = (part.strip() for part in row.split("|"))
    method, target = request.split(" ")
    assert opens_window(read_call(method, V1 + target)) is (expected == "yes")


def test_the_written_path_is_the_one_of_the_events() -> None:
    """Without the raw prefix; None for other aliases and for what cannot be read."""
    for target, expected in [
        ("//w/f/", "/w/f"),
        ("/.reserved/raw/w/f", "/w/f"),
        ("/.reserved/.inodes/1", None),
        ("/%ff", None),
    ]:
        assert written_path(read_call("PUT", V1 + target)) == expected


# -- what must hold for any call -------------------------------------------------------------------------

# The events that a call brings about by the facts' table A1 (here /d/p is the path, /e/q the destination, and so on).
EVENTS_OF_CALLS: list[tuple[str, list[Event]]] = [
    ("PUT /d/p?op=CREATE", [Create(kind=FileType.FILE, path="/d/p"), Close("/d/p")]),
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
    ("POST /d/p?op=APPEND", [metadata(MetadataKind.TIMES), Append("/d/p"), Close("/d/p")]),
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
    """OwnWrites: the event comes later than the answer, so the call's own footprint must hold it."""
    method, target = request_line.split(" ")
    found = changes_of_call(read_call(method, V1 + target), CallOutcome.DONE)
    for event in events:
        assert stale(found).covers(stale(changes_of_event(event)))


PLACES = st.sampled_from(
    ["/", "/a", "/a/b", "/a/b/c", "//a//b/", "/.reserved/raw/a", "/x/../a", "/a%2Fb", "/a;b"]
)
WRITES = st.sampled_from([row for row in OPERATIONS if row.method != "GET"])


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Some write with some arguments."""
    op = draw(WRITES)
    query = f"op={op.name}"
    for key in draw(st.lists(st.sampled_from(["destination", "sources", "xattr.name", "x"]), max_size=3)):
        query += f"&{key}={draw(PLACES | st.sampled_from(['user.a', 'raw.a', '/a/b,/a/c', 'b', '%zz']))}"
    return read_call(op.method, f"{V1}{draw(PLACES)}?{query}")


@given(calls(), st.sampled_from([None, "/", "/a"]))
def test_what_a_refusal_forgets_is_bounded(call: Call, topmost_missing: str | None) -> None:
    """Statuses of their own, of the paths that the call names and of their ancestors, and nothing below any."""
    refused = changes_of_call(call, CallOutcome.REFUSED, topmost_missing)
    assert all(isinstance(change, Touched) for change in refused)
    done = changes_of_call(call, CallOutcome.DONE, topmost_missing)
    assert changes_of_call(call, CallOutcome.UNKNOWN, topmost_missing) == done
    reach = stale(done).own | {above for path in stale(done).own for above in ancestors(path)}
    assert stale(done).everything or stale(refused).own <= reach


@given(calls())
def test_an_operation_that_is_not_known_is_taken_for_the_worst(call: Call) -> None:
    """If tomorrow's release renames an operation, no less is forgotten than for the one that is known today."""
    unknown = Call(
        method=call.method,
        op=None,
        path=call.path,
        as_requested=call.as_requested,
        arguments=call.arguments,
        is_certain=call.is_certain,
    )
    known = stale(changes_of_call(call, CallOutcome.DONE))
    if call.op is not None and call.op.effect in {Effect.MOVES, Effect.CONCATENATES} and known.everything:
        return  # without its arguments it can do nothing; said twice to be safe
    assert stale(changes_of_call(unknown, CallOutcome.DONE)).covers(known)


@given(calls(), st.sampled_from(CallOutcome), st.sampled_from([None, "/", "/a", "/a/b"]))
def test_changes_are_canonical_and_said_once(
    call: Call, outcome: CallOutcome, topmost_missing: str | None
) -> None:
    """The cache may take every path as a key."""
    changes = changes_of_call(call, outcome, topmost_missing)
    assert len(set(changes)) == len(changes)
    for change in changes:
        match change:
            case Moved(source, destination):
                assert source != destination
            case EverythingUnknown(reason):
                assert changes == (change,)
                assert reason
            case _:
                assert change.path == "/" or not change.path.endswith("/")
                assert "//" not in change.path


@pytest.mark.parametrize("op", [row for row in OPERATIONS if row.method != "GET"], ids=lambda row: row.name)
def test_every_write_has_some_effect_or_is_listed(op: Operation) -> None:
    """A row that says NOTHING by mistake would be a stale answer."""
    about_no_path = {"ENABLEECPOLICY", "DISABLEECPOLICY", "RENEWDELEGATIONTOKEN", "CANCELDELEGATIONTOKEN"}
    found = changes_of_call(read_call(op.method, f"{V1}/p?op={op.name}&destination=/q"), CallOutcome.DONE)
    assert bool(found) is (op.name not in about_no_path)
