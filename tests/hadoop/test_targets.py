"""Which request targets are WebHDFS, in the eyes of every server that may read them."""

from posixpath import normpath
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.calls import is_webhdfs


@pytest.mark.parametrize(
    "target",
    [
        "/webhdfs/v1",
        "/webhdfs/v1/?op=LISTSTATUS",
        "/webhdfs/v1/w/f?op=OPEN&x=/../..",
        "/webhdfs/v1//w//f/",
        "/webhdfs/v1/w/../f?op=GETFILESTATUS",
        "/webhdfs/v1/..?op=GETFILESTATUS",
        "/webhdfs/v1/a%2F..%2Fb",
        "/webhdfs/v1/co;lon",
        "/webhdfs/v1/...",
        "/%77ebhdfs/v1/f",
        "/webhdfs",
        "/webhdfs?op=x",
        "http://nn:9870/webhdfs/v1/f?op=OPEN",
        "/webhdfs/v1/\udcff",
    ],
)
def test_what_stays_below_webhdfs_is_forwarded(target: str) -> None:
    """Odd or not: what the NameNode makes of it is its own affair."""
    assert is_webhdfs(target)


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "*",
        "",
        "webhdfs/v1",
        "/jmx",
        "/webhdfsx/v1",
        "/WEBHDFS/v1",
        "//webhdfs/v1",
        "/./webhdfs/v1",
        "/?/webhdfs/v1",
        "/jmx?/webhdfs/v1",
        "/webhdfs/../jmx",
        "/webhdfs/v1/../../jmx",
        "/webhdfs/v1/%2e%2E/..;x/jmx",
        "/webhdfs/v1/..%2f..%2fjmx",
        "/webhdfs/v1/%u002e%u002e/%u002e%u002e/jmx",
        "/webhdfs/v1/%U002E./jmx",
        "/webhdfs//../jmx",
        "/webhdfs/v1/./../../jmx",
        "/webhdfs/v1/a/../../../jmx/../webhdfs/v1",
        "http://nn:9870/jmx",
        "http://webhdfs/v1",
        "nn:9870",
    ],
)
def test_what_leaves_webhdfs_is_not(target: str) -> None:
    """The same port of a NameNode serves /jmx, /conf, /logs and its image."""
    assert not is_webhdfs(target)


segments = st.sampled_from(["webhdfs", "v1", "jmx", "..", ".", "", "%2e%2e", "a%2f..", "..;p"])


@given(st.lists(segments, max_size=8).map(lambda names: "/" + "/".join(names)))
def test_resolving_it_never_leads_out(target: str) -> None:
    """However a reader treats dot segments, empty ones and parameters, it ends below /webhdfs."""
    if not is_webhdfs(target):
        return
    decoded = unquote(target)
    for reading in (decoded, decoded.replace("..;p", "..")):
        assert (normpath(reading) + "/").startswith("/webhdfs/")
