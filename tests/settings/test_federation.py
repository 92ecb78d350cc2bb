"""The settings of a proxy with several namespaces: each namespace's table overrides the top-level keys."""

from pathlib import Path
from typing import Any

import pytest

from nncache.errors import ConfigurationError
from nncache.settings.commands import FILTERS, PUBLISHER, WATCH, SettingsOfProxy, load_settings
from nncache.settings.federation import Federation, load_proxy
from tests.hadoop.site_files import prop, site

FILE = """
user = "hdfs"
glob = ["/w/*"]
max_cache_bytes = 1000
zookeeper_root = "/nn"

[mounts]
"/" = "one"
"/b" = "two"

[namespaces.one]
namenode_http = ["a:9870"]
namenode_rpc = ["a:8020"]

[namespaces.two]
nameservice = "ns2"
namenode_http = ["b:9870"]
namenode_rpc = ["b:8020"]
glob = ["/b/*"]
max_cache_bytes = 700
"""


SPNEGO = """
principal = "nn/h@R"
keytab = "/k"
spnego_principal = ["HTTP/h@R"]
spnego_keytab = "/k"
cookie_secret_file = "/c"
"""


def write(tmp_path: Path, text: str = FILE) -> Path:
    """Write a settings file; return its path."""
    path = tmp_path / "n.toml"
    path.write_text(text)
    return path


def federation(config: Path | None, **flags: object) -> Federation:
    """Return the settings of several namespaces."""
    loaded = load_proxy(config, flags)
    assert not loaded.is_alone
    return loaded


def alone(config: Path | None, **flags: object) -> SettingsOfProxy:
    """Return the settings of a single namespace."""
    loaded = load_proxy(config, flags)
    assert loaded.is_alone
    assert loaded.mounts.points == {"/": ""}
    return loaded.of_proxy


def test_each_namespace_has_its_table_and_the_top_keys(tmp_path: Path) -> None:
    """The namespace's name is its default nameservice. Settings of the whole proxy are the same in all."""
    loaded = federation(write(tmp_path), listen="127.0.0.1:1")
    one, two = loaded.settings["one"], loaded.settings["two"]
    assert [each.namenodes.nameservice for each in (one, two)] == ["one", "ns2"]
    assert [each.namenodes.namenode_http for each in (one, two)] == [("a:9870",), ("b:9870",)]
    assert [each.cache.glob for each in (one, two)] == [("/w/*",), ("/b/*",)]
    assert {each.namenodes.user for each in (one, two)} == {"hdfs"}
    assert {each.proxy.listen for each in (one, two)} == {"127.0.0.1:1"}
    assert loaded.of_proxy is one
    assert loaded.mounts.points == {"/": "one", "/b": "two"}


def test_what_all_may_have_together_is_shared_out(tmp_path: Path) -> None:
    """Each namespace gets an equal share, also of a default, unless its table has a value."""
    loaded = federation(write(tmp_path))
    assert [each.cache.max_cache_bytes for each in loaded.settings.values()] == [500, 700]
    assert {each.cache.max_cache_entries for each in loaded.settings.values()} == {1_000_000}


def test_one_of_them_can_be_chosen(tmp_path: Path) -> None:
    """It is chosen by name or path. Then all commands behave as if it were the only one."""
    config = write(tmp_path)
    chosen = alone(config, namespace="/b/x")
    assert chosen.namenodes.nameservice == "ns2"
    assert chosen.cache.max_cache_bytes == 700
    flags: dict[str, object] = {"namespace": "two", "zookeeper": ("z:1",)}
    assert load_settings(PUBLISHER, config, flags).namenodes.namenode_http == ("b:9870",)
    assert load_settings(FILTERS, config, {"namespace": "/x"}).namenodes.namenode_http == ("a:9870",)
    watched = load_settings(WATCH, config, flags)
    assert (watched.nameservice.nameservice, watched.zookeeper.zookeeper_root) == ("ns2", "/nn")


def test_a_command_for_one_namespace_must_name_it(tmp_path: Path) -> None:
    """No command defaults to the first namespace."""
    with pytest.raises(ConfigurationError, match="namespace: none: must be one of one, two, or a path"):
        load_settings(PUBLISHER, write(tmp_path), {"zookeeper": ("z:1",)})
    with pytest.raises(ConfigurationError, match=r"namespace: x: the settings have no \[namespaces.NAME\]"):
        load_proxy(None, {"namespace": "x"})


def test_without_tables_nothing_is_different(tmp_path: Path) -> None:
    """There is one namespace, whose settings are at the top."""
    loaded = alone(write(tmp_path, 'namenode_http = ["a:1"]\nnamenode_rpc = ["a:2"]\n'))
    assert loaded.namenodes.nameservice == "default"


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        ('user = "hdfs"', 'namenode_http = ["c:1"]', "namenode_http: must stand in [namespaces.NAME]"),
        ("max_cache_bytes = 700", "max_cache_bites = 7", "{f}: [namespaces.two]: max_cache_bites: no such key"),
        ("max_cache_bytes = 700", 'listen = "x"', "{f}: [namespaces.two]: listen: must stand at the top"),
        ("max_cache_bytes = 700", "max_cache_bytes = 0", "bytes: 0: must be more than 0 (in [namespaces.two] of {f})"),
        ("max_cache_bytes = 1000", "max_cache_bytes = -1", "max_cache_bytes: -1: must be more than 0 (in {f})"),
        ('"/b" = "two"', '"/b" = "three"', "mounts: /b: three: must be the name of a namespace"),
        ('"b:9870"', '"a:9870"', "namenode_http: a:9870: must not be that of two namespaces, one and two"),
        ('"b:8020"', '"a:8020"', "namenode_rpc: a:8020: must not be that of two namespaces"),
        ('"ns2"', '"one"', "nameservice: one: must not be that of two namespaces, one and two (nameservice in ["),
        ("[mounts]", SPNEGO + "[mounts]", "spnego_principal: HTTP/h@R: must not be given with several namespaces"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_file_table_and_key(tmp_path: Path, old: str, new: str, reported: str) -> None:
    """The error has the right value, too."""
    config = write(tmp_path, FILE.replace(old, new))
    with pytest.raises(ConfigurationError) as raised:
        load_proxy(config, {})
    wanted = reported.replace("{f}", str(config))
    assert [line for line in raised.value.lines if wanted in line], raised.value.lines


def test_several_namespaces_register_in_a_shared_place(tmp_path: Path) -> None:
    """They need the same ZooKeeper, but each may have its own root for records."""
    text = FILE.replace('glob = ["/w/*"]', 'zookeeper = ["z:1"]\nregistry = true').replace(
        'glob = ["/b/*"]', "{own}"
    )
    loaded = federation(write(tmp_path, text.replace("{own}", 'zookeeper_root = "/other"')))
    assert loaded.of_proxy.registration.registry
    other = write(tmp_path, text.replace("{own}", 'zookeeper = ["y:1"]\nzookeeper_session_timeout_s = 7'))
    with pytest.raises(ConfigurationError) as raised:
        load_proxy(other, {})
    first, second = raised.value.lines
    assert first == (
        "registry: true: needs one ZooKeeper, and zookeeper is another for one than for two "
        f"(zookeeper in {other}; zookeeper in [namespaces.two] of {other}): give both the same, or run a proxy for "
        "each (namespace chooses one)"
    )
    assert "zookeeper_session_timeout_s is another" in second
    assert alone(other, namespace="two").registration.registry
    without = other.read_text().replace("registry = true", "")
    assert not federation(write(tmp_path, without)).of_proxy.registration.registry


def test_what_says_which_namespace_it_is_is_no_flag_of_all(tmp_path: Path) -> None:
    """The flag would apply to each of them."""
    with pytest.raises(ConfigurationError, match=r"namenode_http: must stand in \[namespaces.NAME\]"):
        load_proxy(write(tmp_path), {"namenode_http": ("c:1",)})


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """The configuration of a cluster whose clients use ViewFs."""
    links = {"link./data": "hdfs://ns2/data", "linkFallback": "hdfs://ns1/"}
    core = [prop(f"fs.viewfs.mounttable.c.{name}", target) for name, target in links.items()]
    (tmp_path / "core-site.xml").write_text(site(prop("fs.defaultFS", "viewfs://c"), *core))
    hdfs = [prop("dfs.nameservices", "ns1,ns2")]
    for name, host in (("ns1", "a"), ("ns2", "b")):
        hdfs.append(prop(f"dfs.namenode.rpc-address.{name}", f"{host}:8020"))
        hdfs.append(prop(f"dfs.namenode.http-address.{name}", f"{host}:9870"))
    (tmp_path / "hdfs-site.xml").write_text(site(*hdfs))
    return tmp_path


def test_the_mount_table_of_core_site_is_enough(conf: Path) -> None:
    """It defines namespaces, NameNodes and mounts. A settings file may add keys."""
    flags: dict[str, Any] = {"hadoop_conf_dir": str(conf)}
    loaded = federation(None, **flags)
    assert loaded.mounts.points == {"/": "ns1", "/data": "ns2"}
    assert {name: each.namenodes.namenode_rpc for name, each in loaded.settings.items()} == {
        "ns1": ("a:8020",),
        "ns2": ("b:8020",),
    }
    globbed = federation(write(conf, '[namespaces.ns2]\nglob = ["/data/*"]\n'), **flags)
    assert globbed.settings["ns2"].cache.glob == ("/data/*",)
    watched = load_settings(WATCH, None, {**flags, "namespace": "/data/x", "zookeeper": ("z:1",)})
    assert watched.nameservice.nameservice == "ns2"


def test_a_nameservice_that_is_set_is_the_only_one(conf: Path) -> None:
    """The mount table is ignored then."""
    chosen = alone(None, hadoop_conf_dir=str(conf), nameservice="ns2")
    assert chosen.namenodes.namenode_http == ("b:9870",)


def test_an_unusable_mount_link_is_named_with_its_directory(conf: Path) -> None:
    """`[mounts]` in the settings file replaces the whole table."""
    core = conf / "core-site.xml"
    core.write_text(core.read_text().replace("hdfs://ns2/data", "hdfs://ns2/other"))
    flags: dict[str, Any] = {"hadoop_conf_dir": str(conf)}
    with pytest.raises(
        ConfigurationError, match=r"link./data: hdfs://ns2/other: must lead to the path .*\(in /"
    ):
        load_proxy(None, flags)
    own = '[mounts]\n"/" = "ns1"\n"/b" = "ns2"\n[namespaces.ns1]\n[namespaces.ns2]\n'
    assert federation(write(conf, own), **flags).settings["ns2"].namenodes.namenode_http == ("b:9870",)
