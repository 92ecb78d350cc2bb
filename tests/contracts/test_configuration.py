"""Configuration files mean the same to nncache and to Hadoop's own classes in a JVM."""

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from nncache.hadoop.configuration import RESOURCES, Configuration
from nncache.hadoop.configured_namenodes import configured_namenodes
from nncache.net.setting_error import SettingError
from tests.contracts.hadoop_jvm import hadoop_jvm
from tests.hadoop.site_files import XI, prop, site

NAMES = ("a", "b", "c", "d", "e", "fs.default.name", "fs.defaultFS", "dfs.http.address", "dfs.nameservices")
FILES = 200
"""Number of random pairs of files."""


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A JVM with Hadoop's classes, until the end of the module."""
    with hadoop_jvm(tmp_path_factory.mktemp("none")) as hadoop:
        yield hadoop


def theirs(hadoop: Any, files: Sequence[Path]) -> Any:
    """Return Hadoop's configuration from these files, without the defaults of its jars."""
    found = hadoop.hdfs.HdfsConfiguration(False)
    for file in files:
        found.addResource(hadoop.fs.Path(file.as_uri()))
    return found


class Drawing:
    """Generates random configuration files."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def file(self, included: str) -> str:
        """Return a random file, which may include another."""
        parts = [self._property() for _ in range(self._rng.randrange(1, 9))]
        if self._rng.random() < 0.3:
            fallback = f"<xi:fallback>{self._property()}</xi:fallback>" if self._rng.random() < 0.7 else ""
            href = included if self._rng.random() < 0.6 or not fallback else "none.xml"
            xi = XI if self._rng.random() < 0.5 else XI.replace("2001", "2003")
            parts.insert(
                self._rng.randrange(len(parts) + 1), f'<xi:include {xi} href="{href}">{fallback}</xi:include>'
            )
        return site(*parts)

    def _property(self) -> str:
        rng = self._rng
        name, value = rng.choice(NAMES), self._value()
        match rng.randrange(8):
            case 0:
                final = ' final="true"' if rng.random() < 0.3 else ""
                return f'<property name="{name}" value="{value}"{final}/>'
            case 1:
                return f"<property><name> {name}\n</name><value>\n {value} </value><final> true </final></property>"
            case 2:
                return prop(name, None, is_final=rng.random() < 0.5)
            case _:
                return prop(name, value, is_final=rng.random() < 0.1)

    def _value(self) -> str:
        rng = self._rng
        default = rng.choice(("", "y", "$"))
        parts = ("x", f"${{{rng.choice(NAMES)}}}", f"${{env.NNCACHE_NONE:-{default}}}")
        others = ("${none}", "$", "{}", "${", "}", "${a b}", " ", ",", "${env.}", "${env.NNCACHE_NONE-z}")
        return "".join(rng.choice(parts if rng.random() < 0.6 else others) for _ in range(rng.randrange(5)))


def test_drawn_files_mean_the_same(hadoop: Any, tmp_path: Path) -> None:
    """Each name has the same value, and an error for Hadoop is an error for nncache."""
    (tmp_path / "included.xml").write_text(site(prop("c", "from ${a}"), prop("d", "included", is_final=True)))
    files = [tmp_path / name for name in RESOURCES]
    differences, present, given_up = [], 0, 0
    for seed in range(FILES):
        drawing = Drawing(seed)
        for file in files:
            file.write_text(drawing.file("included.xml"))
        expected, found = theirs(hadoop, files), Configuration.read(files, os.environ)
        for name in NAMES:
            try:
                truth = expected.getTrimmed(name)
            except Py4JJavaError:
                truth = SettingError
            try:
                ours: object = found.get(name)
            except SettingError:
                ours = SettingError
            present += truth is not None
            given_up += truth is SettingError
            if ours != truth:
                differences.append((seed, name, ours, truth))
    assert differences == []
    assert present > FILES
    assert given_up


LAYOUTS: Mapping[str, Mapping[str, str]] = {
    "the pair of Hadoop's own manual": {
        "fs.defaultFS": "hdfs://mycluster",
        "dfs.nameservices": "mycluster",
        "dfs.ha.namenodes.mycluster": "nn1,nn2, nn3",
        "dfs.namenode.rpc-address.mycluster.nn1": "127.0.0.1:8020",
        "dfs.namenode.rpc-address.mycluster.nn2": "127.0.0.2:8020",
        "dfs.namenode.rpc-address.mycluster.nn3": "127.0.0.3:8020",
        "dfs.namenode.http-address.mycluster.nn1": "127.0.0.1:9870",
        "dfs.namenode.http-address.mycluster.nn2": "127.0.0.2:9870",
        "dfs.namenode.http-address.mycluster.nn3": "127.0.0.3:9870",
    },
    "Cloudera Manager": {
        "fs.defaultFS": "hdfs://nameservice1",
        "dfs.nameservices": "nameservice1",
        "dfs.client.failover.proxy.provider.nameservice1": "...ConfiguredFailoverProxyProvider",
        "dfs.ha.namenodes.nameservice1": "namenode42,namenode68",
        "dfs.namenode.rpc-address.nameservice1.namenode42": "127.0.0.1:8020",
        "dfs.namenode.servicerpc-address.nameservice1.namenode42": "127.0.0.1:8022",
        "dfs.namenode.http-address.nameservice1.namenode42": "127.0.0.1:20101",
        "dfs.namenode.https-address.nameservice1.namenode42": "127.0.0.1:20102",
        "dfs.namenode.rpc-address.nameservice1.namenode68": "127.0.0.2:8020",
        "dfs.namenode.servicerpc-address.nameservice1.namenode68": "127.0.0.2:8022",
        "dfs.namenode.http-address.nameservice1.namenode68": "127.0.0.2:20101",
    },
    "Ambari": {
        "fs.defaultFS": "hdfs://prod",
        "dfs.internal.nameservices": "prod",
        "dfs.nameservices": "prod,remote",
        "dfs.ha.namenodes.prod": "nn1,nn2",
        "dfs.ha.namenodes.remote": "nn1",
        "dfs.http.policy": "HTTP_AND_HTTPS",
        "dfs.namenode.http-address": "127.0.0.1:50070",
        "dfs.namenode.http-address.prod.nn1": "127.0.0.1:50070",
        "dfs.namenode.http-address.prod.nn2": "127.0.0.2:50070",
        "dfs.namenode.rpc-address": "127.0.0.1:8020",
        "dfs.namenode.rpc-address.prod.nn1": "127.0.0.1:8020",
        "dfs.namenode.rpc-address.prod.nn2": "127.0.0.2:8020",
        "dfs.namenode.rpc-address.remote.nn1": "127.0.0.9:8020",
    },
    "a cluster of Amazon EMR": {
        "fs.defaultFS": "hdfs://127.0.0.1:8020",
        "dfs.namenode.rpc-address": "127.0.0.1:8020",
        "dfs.namenode.http-address": "127.0.0.1:9870",
        "dfs.namenode.https-address": "127.0.0.1:9871",
    },
    "addresses by reference": {
        "first": "127.0.0.1",
        "fs.defaultFS": "hdfs://ns",
        "dfs.nameservices": "ns",
        "dfs.ha.namenodes.ns": "nn1,nn2",
        "dfs.namenode.rpc-address.ns.nn1": "${first}:8020",
        "dfs.namenode.rpc-address.ns.nn2": "127.0.0.2:8020",
        "dfs.namenode.http-address.ns.nn1": "${first}:50070",
        "dfs.namenode.http-address.ns.nn2": "127.0.0.2:50070",
    },
    "one NameNode in a nameservice": {
        "fs.defaultFS": "hdfs://ns",
        "dfs.nameservices": "ns",
        "dfs.namenode.rpc-address.ns": "127.0.0.1:9000",
        "dfs.namenode.http-address.ns": "127.0.0.1:9001",
    },
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_namenodes_are_those_that_hadoop_finds(hadoop: Any, tmp_path: Path, layout: str) -> None:
    """The layouts are those of common distributions. Addresses are numeric, since Hadoop would resolve names."""
    values = LAYOUTS[layout]
    in_core = [key for key in values if key.startswith(("fs.", "first"))]
    files = [tmp_path / name for name in RESOURCES]
    files[0].write_text(site(*(prop(key, values[key]) for key in in_core)))
    files[1].write_text(site(*(prop(key, value) for key, value in values.items() if key not in in_core)))
    ours = configured_namenodes(Configuration.read(files, os.environ))
    conf = theirs(hadoop, files)
    client, nameservice = (
        hadoop.hdfs.DFSUtilClient,
        None if ours.nameservice == "default" else ours.nameservice,
    )
    rpc = client.getHaNnRpcAddresses(conf).get(nameservice)
    http = client.getHaNnWebHdfsAddresses(conf, "webhdfs").get(nameservice)
    assert ours.rpc == tuple(map(text_of, rpc.values() if rpc else [client.getNNAddress(conf)]))
    assert ours.http == tuple(map(text_of, http.values()))


def text_of(address: Any) -> str:
    """Return an InetSocketAddress as host:port."""
    return f"{address.getHostString()}:{address.getPort()}"
