"""A filter that others than administrators may write is not trusted."""

from typing import Final

import pytest

from nncache.hadoop.filestatus import FileStatus
from nncache.invalidation.filters.definition import DEFINITION, SUBSCRIBERS
from nncache.invalidation.filters.trust import DirectoryTrust, Distrust, by_distrust, trust_in
from tests.invalidation.filters.fake_hdfs import status_of as status

PATH: Final = "/apps/nncache/filters"
ABOVE: Final = ("/", "/apps", "/apps/nncache", PATH)


def trust(own_user: str = "nncache", /, **others: FileStatus) -> DirectoryTrust:
    """Return the trust in a directory, with other statuses for some directories, by their last name."""
    named = {each: others.get(each.rpartition("/")[2] or "root", status()) for each in ABOVE}
    return trust_in(PATH, named, own_user)


@pytest.mark.parametrize("own_user", ["nncache", "hdfs", ""])
def test_a_directory_of_administrators_is_believed(own_user: str) -> None:
    """Trusted owners are the root's owner and the publisher's user; sticky directories above may be writable."""
    assert trust(own_user).distrust is None
    assert trust(own_user).owners == tuple(dict.fromkeys(("hdfs", own_user or "hdfs")))
    if own_user == "nncache":
        assert trust(own_user, nncache=status("nncache"), filters=status("nncache")).distrust is None
    assert trust(own_user, root=status(permission="1777"), apps=status(permission="1777")).distrust is None


@pytest.mark.parametrize("at", ["root", "apps", "nncache", "filters"])
@pytest.mark.parametrize("permission", ["775", "757", "777", "772", "1777"])
def test_who_may_write_above_may_make_any_filter(at: str, permission: str) -> None:
    """The error names the directory and the command that corrects it. A sticky directory is safe, except the last."""
    path = dict(zip(("root", "apps", "nncache", "filters"), ABOVE, strict=True))[at]
    found = trust(**{at: status(permission=permission)}).distrust
    if permission == "1777" and at != "filters":
        assert found is None
        return
    assert found == Distrust(
        f"{path} may be written by others than its owner (mode {permission})",
        f"hdfs dfs -chmod go-w {path}",
    )
    assert str(found) == f"{found.reason}: {found.remedy}"


@pytest.mark.parametrize("permission", ["755", "700", "1777"])
@pytest.mark.parametrize("at", ["apps", "nncache", "filters"])
def test_who_owns_a_directory_above_may_make_any_filter(at: str, permission: str) -> None:
    """The owner can move the directory away and create another one, also if it is sticky."""
    path = dict(zip(("root", "apps", "nncache", "filters"), ABOVE, strict=True))[at]
    assert trust(**{at: status("mallory", permission)}).distrust == Distrust(
        f"{path} belongs to mallory, not to hdfs or nncache (the owner of / and the publisher's user)",
        f"hdfs dfs -chown hdfs {path}",
    )


@pytest.mark.parametrize(
    ("directory", "parts", "remedy"),
    [
        (status("mallory"), {}, "hdfs dfs -chown hdfs /f"),
        (status(permission="775"), {}, "hdfs dfs -chmod go-w /f"),
        (status(permission="1777"), {}, "hdfs dfs -chmod go-w /f"),
        (status(), {DEFINITION: status("mallory", "644")}, "hdfs dfs -chown hdfs /f/definition.json"),
        (status(), {DEFINITION: status(permission="646")}, "hdfs dfs -chmod go-w /f/definition.json"),
        (status(), {SUBSCRIBERS: status("joe", "775")}, "hdfs dfs -chmod go-w /f/subscribers"),
        (status(), {SUBSCRIBERS: status("joe", "1777")}, "hdfs dfs -chmod go-w /f/subscribers"),
        (status(), {SUBSCRIBERS: status("joe"), DEFINITION: status(permission="644")}, None),
        (status("nncache", "700"), {SUBSCRIBERS: status("joe", "700")}, None),
    ],
)
def test_each_part_of_a_filter_is_judged(
    directory: FileStatus, parts: dict[str, FileStatus], remedy: str | None
) -> None:
    """The list of subscribers belongs to the filter's owner; everything else belongs to administrators."""
    found = trust().of_filter("/f", directory, parts)
    assert (None if found is None else found.remedy) == remedy


def test_no_filter_is_believed_where_the_directory_is_not() -> None:
    """All filters of an untrusted directory share one reason."""
    found = trust(apps=status(permission="777"))
    assert found.of_filter("/f", status(), {}) is found.distrust is not None
    other = Distrust("a", "b")
    assert by_distrust({"a": found.distrust, "b": other, "c": found.distrust}) == {
        found.distrust: ["a", "c"],
        other: ["b"],
    }
