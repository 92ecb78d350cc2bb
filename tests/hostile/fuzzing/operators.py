"""Input of operators and filter owners: globs, settings, addresses."""

import tempfile
from pathlib import Path
from typing import Final

from nncache.errors import ConfigurationError
from nncache.hadoop.glob_syntax import GlobError
from nncache.hadoop.globs import GlobSet, compile_glob
from nncache.hadoop.paths import InvalidPathError, canonical, parent
from nncache.invalidation.errors import FilterError
from nncache.invalidation.filters.definition import Filter, encode_definition, parse_definition
from nncache.net.addresses import split_address
from nncache.net.endpoint import parse_endpoint
from nncache.net.setting_error import SettingError
from nncache.settings.commands import FORMS, load_settings
from tests.hostile.fuzzing import naive_globs
from tests.hostile.fuzzing.target import Target, hold, text_of

_PLACE: Final = tempfile.TemporaryDirectory(prefix="nncache-hostile-")
_TOML: Final = Path(_PLACE.name) / "nncache.toml"
_MANY: Final = 64  # the maximum number of alternatives for the naive matcher


def check_glob(data: bytes) -> None:
    """Check a glob, a line feed, and a path."""
    written, _, spelled = text_of(data).partition("\n")
    try:
        glob = compile_glob(written)
    except GlobError as error:
        hold(0 <= error.position <= len(written), "an error beyond the end")
        return
    try:
        path = canonical(spelled)
    except InvalidPathError:
        return
    if len(glob.alternatives) > _MANY:
        return
    globs = GlobSet({"g": glob})
    is_match, goes_on = naive_globs.matches(glob, path), naive_globs.may_match_below(glob, path)
    hold(globs.matches(path) is is_match, f"the automaton says {not is_match}")
    hold(globs.may_match_below(path) is goes_on, f"below, the automaton says {not goes_on}")
    above = parent(path)
    is_concerned = is_match or goes_on or (above is not None and naive_globs.matches(glob, above))
    hold(globs.may_concern(path) is is_concerned, f"around it, the automaton says {not is_concerned}")
    small = GlobSet({"g": glob}, max_steps=2)
    hold(small.matches(path) is is_match, "an automaton that forgets says otherwise")
    hold(small.remembered_steps <= 2, "more steps are remembered than allowed")


def check_definition(data: bytes) -> None:
    """Check the contents of a definition.json."""
    try:
        found = parse_definition(data, name="jobs", owner="alice", allowed_subscribers=("bob", "a-b"))
    except FilterError:
        return
    again = parse_definition(
        encode_definition(found), name="jobs", owner="alice", allowed_subscribers=("a-b", "bob", "bob")
    )
    hold(again == found, "a definition does not come back")
    compile_glob(found.path_glob)


def check_filter(data: bytes) -> None:
    """Check name, owner, glob and subscriber, one line each."""
    name, owner, glob, subscriber = (*map(text_of, data.split(b"\n", 3)), "", "", "", "")[:4]
    try:
        made = Filter(name, glob, owner, (subscriber,))
    except FilterError:
        return
    hold("/" not in name and name not in {".", "..", "zookeeper", "quota"}, "a name that leaves its znode")
    hold(parse_definition(encode_definition(made), name=name, owner=owner).path_glob == glob, "another glob")


def check_settings(data: bytes) -> None:
    """Check a settings file; its length selects the command that reads it."""
    _TOML.write_bytes(data)
    try:
        load_settings(FORMS[len(data) % len(FORMS)], _TOML, {})
    except ConfigurationError as error:
        hold(str(error), "an error that says nothing")


def check_flags(data: bytes) -> None:
    """Check a flag's name and its text, one line each."""
    key, _, value = text_of(data).partition("\n")
    for form in FORMS:
        if key in form.keys:
            given = (value,) if isinstance(form.keys[key].default, tuple) else value
            try:
                load_settings(form, None, {key: given})
            except ConfigurationError as error:
                hold(str(error), "an error that says nothing")


def check_address(data: bytes) -> None:
    """Check host:port, of a NameNode or of the proxy's own socket."""
    text = text_of(data)
    try:
        endpoint = parse_endpoint("listen", text)
    except SettingError:
        pass
    else:
        hold(parse_endpoint("listen", str(endpoint)) == endpoint, "an endpoint does not come back")
    try:
        host, port = split_address(text)
    except ValueError:
        return
    hold(0 < port < 1 << 16 and host, "no address")
    again = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    hold(split_address(again) == (host, port), "an address does not come back")


OPERATORS: Final = (
    Target(
        name="glob",
        invariant="a glob or GlobError with a position in it; the automaton agrees with a naive matcher, also when it "
        "forgets its steps",
        check=check_glob,
        seeds=(
            b"/user/*/workflow/*/_SUCCESS\n/user/a/workflow/1/_SUCCESS",
            b"/{a,b{c,d}e}/[a-c!]?\n/bce/a1",
            b"/x{/,/y/}z\\*[^\\]-]\n/x/y/z*a",
            b"/\n/",
            b"/a[]\n/a",
            b"/{{{{{{{{{{{a}}}}}}}}}}}\n/a",
            b"/p{a/b,c/d}s*\n/pa/bss",
        ),
        modules=("nncache.hadoop.glob_syntax", "nncache.hadoop.globs"),
        max_bytes=256,
    ),
    Target(
        name="filter-definition",
        invariant="a filter or FilterError; what is read comes back when written and read again",
        check=check_definition,
        seeds=(
            b'{"name":"jobs","pathGlob":"/user/*/x"}\n',
            b'{"name":"jobs","pathGlob":"/\\ud83d\\ude00"}',
            b'{"name":"jobs","pathGlob":"/\\ud800"}',
            b'{"name":"jobs","pathGlob":"/a","more":[[]]}',
            b'{"name":"other","pathGlob":"/a"}',
            b'{"name":' + b"[" * 500,
        ),
        modules=(
            "nncache.invalidation.filters.definition",
            "nncache.hadoop.glob_syntax",
            "nncache.hadoop.users",
        ),
        max_bytes=512,
    ),
    Target(
        name="filter",
        invariant="a filter or FilterError; its name stays within its znode",
        check=check_filter,
        seeds=(b"jobs\nalice\n/a/*\nbob", b"..\nroot\n/\n-", b"zookeeper\na$\n/{a,b}\nx"),
        modules=(
            "nncache.invalidation.filters.definition",
            "nncache.invalidation.channel.znodes",
            "nncache.hadoop.users",
        ),
        max_bytes=512,
    ),
    Target(
        name="settings-file",
        invariant="settings or ConfigurationError with a line that says what is wrong, for each command by turns",
        check=check_settings,
        seeds=(
            b'namenode_http = ["nn1:9870"]\nnamenode_rpc = ["nn1:8020"]\nglob = ["/a/*"]\n',
            b'listen = "127.0.0.1:14000"\nmax_staleness_s = 3\nmax_connections = 1.5\n',
            b"[proxy]\nlisten = 1\n",
            b"max_cache_bytes = 1e400\nhead_timeout_s = nan\n",
            b"a = " + b"[" * 1500,
            b"a." * 1200 + b"a = 1",
            b'glob = "\xff"\n',
            b"max_head_bytes = " + b"9" * 1500,
        ),
        modules=(
            "nncache.settings.forms",
            "nncache.settings.keys",
            "nncache.settings.commands",
            "nncache.net.setting_error",
        ),
        max_bytes=4096,
        short_executions=300,
    ),
    Target(
        name="flag",
        invariant="settings or ConfigurationError with a line that says what is wrong",
        check=check_flags,
        seeds=(
            b"listen\n127.0.0.1:1",
            b"namenode_http\nnn1:9870, nn2:9870",
            b"max_staleness_s\n1e999",
            b"max_connections\n" + b"9" * 200,
            b"glob\n/{a,b}",
            b"zookeeper\nzk:2181",
            b"channel\nx",
        ),
        modules=(
            "nncache.settings.forms",
            "nncache.settings.keys",
            "nncache.net.addresses",
            "nncache.net.endpoint",
        ),
        max_bytes=256,
        short_executions=500,
    ),
    Target(
        name="address",
        invariant="an address or the room's own error; what is read comes back when written and read again",
        check=check_address,
        seeds=(b"nn1.example:8020", b"[::1]:0", b"[fe80::1%eth0]:65536", b"a..b:1", b":1", b"\xc3\xa9:12"),
        modules=("nncache.net.addresses", "nncache.net.endpoint"),
        max_bytes=128,
    ),
)
