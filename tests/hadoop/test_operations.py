"""The table of operations, compared with the enums in Hadoop's classes."""

import pytest

from nncache.hadoop.operations import OPERATIONS, Operation, operation

# GetOpParam$Op, PutOpParam$Op, PostOpParam$Op and DeleteOpParam$Op, without NULL: equal in 3.4.1 and 3.5.0.
ENUMS = {
    "GET": """CHECKACCESS GETACLSTATUS GETALLSTORAGEPOLICY GETCONTENTSUMMARY GETDELEGATIONTOKEN GETECCODECS
        GETECPOLICIES GETECPOLICY GETFILEBLOCKLOCATIONS GETFILECHECKSUM GETFILELINKSTATUS GETFILESTATUS
        GETHOMEDIRECTORY GETLINKTARGET GETQUOTAUSAGE GETSERVERDEFAULTS GETSNAPSHOTDIFF GETSNAPSHOTDIFFLISTING
        GETSNAPSHOTLIST GETSNAPSHOTTABLEDIRECTORYLIST GETSTATUS GETSTORAGEPOLICY GETTRASHROOT GETTRASHROOTS GETXATTRS
        GET_BLOCK_LOCATIONS LISTSTATUS LISTSTATUS_BATCH LISTXATTRS OPEN""",
    "PUT": """ALLOWSNAPSHOT CANCELDELEGATIONTOKEN CREATE CREATESNAPSHOT CREATESYMLINK DISABLEECPOLICY DISALLOWSNAPSHOT
        ENABLEECPOLICY MKDIRS MODIFYACLENTRIES REMOVEACL REMOVEACLENTRIES REMOVEDEFAULTACL REMOVEXATTR RENAME
        RENAMESNAPSHOT RENEWDELEGATIONTOKEN SATISFYSTORAGEPOLICY SETACL SETECPOLICY SETOWNER SETPERMISSION SETQUOTA
        SETQUOTABYSTORAGETYPE SETREPLICATION SETSTORAGEPOLICY SETTIMES SETXATTR""",
    "POST": "APPEND CONCAT TRUNCATE UNSETECPOLICY UNSETSTORAGEPOLICY",
    "DELETE": "DELETE DELETESNAPSHOT",
}


@pytest.mark.parametrize("method", ENUMS)
def test_the_table_has_every_operation_of_hadoop_once(method: str) -> None:
    """Exactly those of Hadoop's enums, each under its own method."""
    rows = [row.name for row in OPERATIONS if row.method == method]
    assert sorted(rows) == sorted(ENUMS[method].split())
    assert {row.method for row in OPERATIONS} == set(ENUMS)


@pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.name)
def test_an_operation_is_found_in_any_letter_case(row: Operation) -> None:
    """`Enum.valueOf(toUpperCase(...))` does the same, and no other method has it."""
    for spelling in (row.name, row.name.lower(), row.name.title()):
        assert operation(row.method, spelling) is row
    for method in {"GET", "PUT", "POST", "DELETE", "PATCH"} - {row.method}:
        assert operation(method, row.name) is None


def test_letters_that_java_upper_cases_into_ascii_count() -> None:
    """Both releases accepted a dotless i and a long s as their upper-case letters: two directories were made."""
    assert operation("PUT", "mkd\u0131rs") is operation("PUT", "MKDIRS")
    assert operation("PUT", "MKDIR\u017f") is operation("PUT", "MKDIRS")


def test_head_is_a_get() -> None:
    """A NameNode runs the GET and omits the body; it also updates access times."""
    assert operation("HEAD", "OPEN") is operation("GET", "OPEN")


@pytest.mark.parametrize("value", ["", "NULL", "BOGUS", "MKDIRS ", " MKDIRS", "MKDIRS;x", "=MKDIRS"])
def test_other_values_are_unknown(value: str) -> None:
    """A NameNode refuses these, blanks included; the cache treats them as unknown, with any possible effect."""
    assert operation("PUT", value) is None
