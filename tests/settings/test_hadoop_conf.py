"""The cluster's configuration supplies the NameNodes' addresses when nothing else does."""

import re
from pathlib import Path
from typing import Any

import pytest

from nncache.errors import ConfigurationError
from nncache.settings.commands import (
    DNS,
    FILTERS,
    PROXIES,
    PROXY,
    PUBLISHER,
    REAPER,
    REGISTRY,
    WATCH,
    load_settings,
)
from nncache.settings.forms import Form
from tests.hadoop.site_files import prop, site

CORE = site(prop("fs.defaultFS", "hdfs://ns1"))
HDFS = site(
    prop("dfs.nameservices", "ns1,ns2"),
    prop("dfs.ha.namenodes.ns1", "nn1,nn2"),
    prop("dfs.namenode.rpc-address.ns1.nn1", "a:8020"),
    prop("dfs.namenode.rpc-address.ns1.nn2", "b:8020"),
    prop("dfs.namenode.rpc-address.ns2", "c:8020"),
    prop("dfs.namenode.http-address.ns2", "c:x"),
)


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """The configuration of a cluster with an HA pair, and another nameservice with an invalid HTTP address."""
    (tmp_path / "core-site.xml").write_text(CORE)
    (tmp_path / "hdfs-site.xml").write_text(HDFS)
    return tmp_path


@pytest.mark.parametrize("is_in", ["flags", "file", "environment"])
def test_the_namenodes_are_those_of_the_cluster(
    conf: Path, monkeypatch: pytest.MonkeyPatch, is_in: str
) -> None:
    """The directory may be given by flag, file or environment."""
    config, flags = None, dict[str, object]()
    if is_in == "flags":
        flags["hadoop_conf_dir"] = str(conf)
    elif is_in == "file":
        config = conf / "nncache.toml"
        config.write_text(f'hadoop_conf_dir = "{conf}"')
    else:
        monkeypatch.setenv("HADOOP_CONF_DIR", str(conf))
    namenodes = load_settings(PROXY, config, flags).namenodes
    assert namenodes.nameservice == "ns1"
    assert namenodes.namenode_http == ("a:9870", "b:9870")
    assert namenodes.namenode_rpc == ("a:8020", "b:8020")


def test_a_command_takes_what_it_has_keys_for(conf: Path) -> None:
    """`nncache filters` needs only HTTP. `nncache watch` needs no NameNode, so a wrong address does not matter."""
    flags: dict[str, object] = {"hadoop_conf_dir": str(conf)}
    assert load_settings(FILTERS, None, flags).namenodes.namenode_http == ("a:9870", "b:9870")
    flags["zookeeper"] = ("zk:2181",)
    assert load_settings(WATCH, None, flags).nameservice.nameservice == "ns1"
    assert load_settings(WATCH, None, {**flags, "nameservice": "ns2"}).nameservice.nameservice == "ns2"


def test_the_principal_of_the_namenodes_is_read_with_them(conf: Path) -> None:
    """The principal must match the servers at those addresses. A given value has precedence."""
    flags: dict[str, object] = {"hadoop_conf_dir": str(conf)}
    assert load_settings(PROXY, None, flags).kerberos.namenode_principal == ""
    entry = "<property><name>dfs.namenode.kerberos.principal</name><value>nn/_HOST@R</value></property>"
    site = conf / "hdfs-site.xml"
    site.write_text(site.read_text().replace("</configuration>", f"{entry}</configuration>"))
    assert load_settings(PROXY, None, flags).kerberos.namenode_principal == "nn/_HOST@R"
    assert load_settings(FILTERS, None, flags).kerberos.namenode_principal == "nn/_HOST@R"
    flags["namenode_principal"] = "hdfs/_HOST@R"
    assert load_settings(PROXY, None, flags).kerberos.namenode_principal == "hdfs/_HOST@R"


def test_addresses_that_are_given_may_be_of_another_cluster(conf: Path) -> None:
    """Then nothing of the configured cluster is used."""
    flags = {"hadoop_conf_dir": str(conf), "namenode_http": ("x:1",), "namenode_rpc": ("x:2",)}
    namenodes = load_settings(PROXY, None, flags).namenodes
    assert (namenodes.nameservice, namenodes.namenode_http) == ("default", ("x:1",))


@pytest.mark.parametrize("name", ["", "nothing"])
def test_a_directory_of_the_environment_must_say_what_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """An empty or missing one does not default to localhost. If everything is given, it does not matter."""
    directory = tmp_path / name
    monkeypatch.setenv("HADOOP_CONF_DIR", str(directory))
    given = {"namenode_http": ("x:1",), "namenode_rpc": ("x:2",)}
    assert load_settings(PROXY, None, given).namenodes.namenode_http == ("x:1",)
    watched = {"zookeeper": ("zk:2181",), "nameservice": "ns1"}
    assert load_settings(WATCH, None, watched).nameservice.nameservice == "ns1"
    assert load_settings(REGISTRY, None, {"zookeeper": ("zk:2181",)}).zookeeper.zookeeper == ("zk:2181",)
    expected = f"$HADOOP_CONF_DIR: {directory}: must hold core-site.xml or hdfs-site.xml: correct it, or unset it and"
    wanting: tuple[tuple[Form[Any], dict[str, object]], ...] = (
        (PROXY, {}),
        (FILTERS, {}),
        (PROXY, {"nameservice": "ns1"}),
        (WATCH, {"zookeeper": ("z:1",)}),
    )
    for form, flags in wanting:
        with pytest.raises(ConfigurationError, match=re.escape(expected)):
            load_settings(form, None, flags)
    with pytest.raises(ConfigurationError, match=r"HADOOP_CONF_DIR: .*core-site.xml.*give --zookeeper"):
        load_settings(REGISTRY, None, {})


def test_a_directory_that_is_given_must_be_right(tmp_path: Path) -> None:
    """An empty value means no directory."""
    expected = f"hadoop_conf_dir: {tmp_path}: must hold core-site.xml or hdfs-site.xml"
    with pytest.raises(ConfigurationError, match=re.escape(expected)):
        load_settings(PROXY, None, {"hadoop_conf_dir": str(tmp_path)})
    assert load_settings(PROXY, None, {"hadoop_conf_dir": ""}).namenodes.nameservice == "default"


@pytest.mark.parametrize(
    ("more", "flags", "message"),
    [
        ("<oops", {}, "hdfs-site.xml: is not XML: "),
        (
            HDFS,
            {"nameservice": "ns2"},
            "dfs.namenode.http-address.ns2: c:x: must end in a port from 1 to 65535 (in ",
        ),
        (HDFS, {"nameservice": "ns3"}, "nameservice: ns3: must be one of dfs.nameservices: ns1, ns2 (in "),
        (
            HDFS.replace("b:8020", "a:8020"),
            {},
            "namenode_http: a:9870: must name each NameNode once (in ",
        ),
    ],
)
def test_what_is_wrong_in_it_is_named(conf: Path, more: str, flags: dict[str, str], message: str) -> None:
    """The error is one line with the file or directory."""
    (conf / "hdfs-site.xml").write_text(more)
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        load_settings(PROXY, None, {"hadoop_conf_dir": str(conf), **flags})
    assert str(conf) in str(caught.value)


def test_the_user_is_that_of_hadoops_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """UserGroupInformation reads the environment first."""
    monkeypatch.setenv("HADOOP_USER_NAME", "oozie")
    assert load_settings(PROXY, None, {}).namenodes.user == "oozie"
    assert load_settings(PROXY, None, {"user": "hdfs"}).namenodes.user == "hdfs"


def with_policy(conf: Path, policy: str) -> None:
    """Set dfs.http.policy."""
    text = HDFS.replace("</configuration>", prop("dfs.http.policy", policy) + "</configuration>")
    (conf / "hdfs-site.xml").write_text(text)


def test_https_only_means_tls(conf: Path) -> None:
    """This holds for each command that asks NameNodes. With HTTP_AND_HTTPS, the setting decides."""
    for policy, flags, tls in (
        ("HTTPS_ONLY", {}, True),
        ("HTTP_AND_HTTPS", {}, False),
        ("HTTP_AND_HTTPS", {"namenode_tls": True}, True),
    ):
        with_policy(conf, policy)
        port = 9871 if tls else 9870
        given = {"hadoop_conf_dir": str(conf), **flags}
        for settings in (load_settings(PROXY, None, given), load_settings(FILTERS, None, given)):
            assert settings.namenode_tls.namenode_tls is tls
            assert settings.namenodes.namenode_http == (f"a:{port}", f"b:{port}")


def test_what_does_not_fit_the_policy_is_refused(conf: Path) -> None:
    """The error names both keys."""
    with_policy(conf, "HTTPS_ONLY")
    with pytest.raises(ConfigurationError, match=r"namenode_tls: false: does not fit dfs\.http\.policy"):
        load_settings(PROXY, None, {"hadoop_conf_dir": str(conf), "namenode_tls": False})


@pytest.fixture
def yarn(conf: Path) -> Path:
    """The same cluster, with YARN's registry, which is protected by ACLs."""
    (conf / "yarn-site.xml").write_text(
        site(
            prop("hadoop.registry.zk.quorum", "zk1:2181,zk2:2181"),
            prop("hadoop.registry.zk.root", "/yarn"),
            prop("hadoop.registry.secure", "true"),
            prop("hadoop.registry.system.accounts", "sasl:yarn@"),
        )
    )
    return conf


def test_the_registry_is_that_of_the_cluster(yarn: Path) -> None:
    """This holds for the registry's commands and daemons. Without a login they only read, so ACLs do not matter."""
    needs: dict[Form[Any], dict[str, object]] = {
        REGISTRY: {},
        PROXIES: {},
        REAPER: {"yarn_rm": ("http://rm1:8088",)},
        DNS: {"domain": "registry.example"},
    }
    for form, needed in needs.items():
        settings = load_settings(form, None, {"hadoop_conf_dir": str(yarn), **needed})
        assert settings.zookeeper.zookeeper == ("zk1:2181", "zk2:2181")
        assert settings.registry.registry_root == "/yarn"
        assert not settings.registry.registry_secure


def test_a_client_with_a_login_protects_what_it_makes(yarn: Path) -> None:
    """If the configuration has no realm, that of the client's principal is used."""
    flags: dict[str, object] = {"hadoop_conf_dir": str(yarn), "zookeeper_sasl": "kerberos"}
    given = {**flags, "principal": "joe@EXAMPLE.COM", "keytab": "/k"}
    access = load_settings(REGISTRY, None, given).registry.access
    assert [str(account) for account in access.system or ()] == ["sasl:yarn@EXAMPLE.COM"]
    text = (yarn / "yarn-site.xml").read_text()
    realm = prop("hadoop.registry.kerberos.realm", "OTHER.COM")
    (yarn / "yarn-site.xml").write_text(text.replace("</configuration>", f"{realm}</configuration>"))
    assert load_settings(REGISTRY, None, given).registry.access.realm == "OTHER.COM"


def test_what_is_given_of_the_registry_holds(yarn: Path) -> None:
    """Each given key has precedence individually."""
    flags = {"hadoop_conf_dir": str(yarn), "zookeeper": ("zk:1",), "registry_root": "/mine"}
    settings = load_settings(REGISTRY, None, flags)
    assert (settings.zookeeper.zookeeper, settings.registry.registry_root) == (("zk:1",), "/mine")
    assert load_settings(REGISTRY, None, {**flags, "hadoop_conf_dir": ""}).registry.registry_secure is False


def test_a_daemon_that_registers_does_so_there(yarn: Path) -> None:
    """ZooKeeper is read from there only if changes do not come from it; without `registry` nothing is read."""
    flags: dict[str, object] = {"hadoop_conf_dir": str(yarn), "registry": True, "channel": "direct"}
    login = {"zookeeper_sasl": "kerberos", "principal": "nn/h@R", "keytab": "/k"}
    settings = load_settings(PROXY, None, {**flags, **login})
    assert settings.zookeeper.zookeeper == ("zk1:2181", "zk2:2181")
    assert (settings.registry.registry_root, settings.registry.registry_secure) == ("/yarn", True)
    publisher = load_settings(
        PUBLISHER,
        None,
        {"hadoop_conf_dir": str(yarn), "registry": True, "zookeeper": ("zk:1",), **login},
    )
    assert (publisher.zookeeper.zookeeper, publisher.registry.registry_root) == (("zk:1",), "/yarn")
    with pytest.raises(ConfigurationError, match="registry: true: needs the servers of ZooKeeper"):
        load_settings(PROXY, None, {"hadoop_conf_dir": str(yarn), "registry": True, **login})
    with pytest.raises(
        ConfigurationError, match=r"registry_secure: true: needs a login at ZooKeeper.*\(in .*\)"
    ):
        load_settings(PROXY, None, {**flags, "registry_realm": "R"})
    assert load_settings(PROXY, None, {"hadoop_conf_dir": str(yarn)}).registry.registry_root == "/registry"


def test_a_wrong_registry_value_is_named_with_its_directory(yarn: Path, tmp_path: Path) -> None:
    """This is the same as for all values read from there."""
    text = (yarn / "yarn-site.xml").read_text()
    (yarn / "yarn-site.xml").write_text(text.replace("/yarn<", "no root<"))
    with pytest.raises(ConfigurationError, match=rf"registry_root: /no root: must be .*\(in {yarn}\)"):
        load_settings(REGISTRY, None, {"hadoop_conf_dir": str(yarn)})
    empty = tmp_path / "empty"
    empty.mkdir()
    expected = f"hadoop_conf_dir: {empty}: must hold core-site.xml or yarn-site.xml"
    with pytest.raises(ConfigurationError, match=re.escape(expected)):
        load_settings(REGISTRY, None, {"hadoop_conf_dir": str(empty)})


@pytest.mark.parametrize("is_in", ["flags", "environment"])
def test_a_directory_that_may_not_be_looked_at_is_named(monkeypatch: pytest.MonkeyPatch, is_in: str) -> None:
    """Such as one of mode 0750 that another group has: the error is the system's. Here its name is too long."""
    flags, directory = dict[str, object](), f"/{'x' * 300}"
    if is_in == "flags":
        flags["hadoop_conf_dir"] = directory
    else:
        monkeypatch.setenv("HADOOP_CONF_DIR", directory)
    with pytest.raises(ConfigurationError, match=f"{directory}/core-site.xml: File name too long"):
        load_settings(PROXY, None, flags)
