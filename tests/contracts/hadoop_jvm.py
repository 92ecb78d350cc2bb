"""A JVM with Hadoop's classes, for tests to call."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import get_return_value

from nncache.testbed.java import installed
from tests.cluster import HADOOP


@contextmanager
def hadoop_jvm(configuration: Path, *options: str, pom_file: str = "pom.xml") -> Iterator[Any]:
    """Yield the package org.apache.hadoop in a JVM with these options; exceptions are py4j's own.

    Args:
        configuration: Hadoop's configuration directory, which may be missing.
        options: options of the JVM.
        pom_file: selects Hadoop's jars; see `nncache.testbed.jars.resolve`.
    """
    runtime = installed(HADOOP, pom_file=pom_file)
    jar = next(Path(sys.prefix).glob("share/py4j/py4j*.jar"))
    port, token = launch_gateway(
        java_path=runtime.java,
        jarpath=str(jar),
        classpath=f"{runtime.classpath(configuration)}:{jar}",
        javaopts=list(options),
        die_on_exit=True,
        enable_auth=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    with pytest.MonkeyPatch.context() as patch:
        # A SparkSession of another test replaces this with pyspark's own, which asks each JVM for Spark's classes.
        patch.setattr("py4j.java_gateway.get_return_value", get_return_value)
        try:
            yield gateway.jvm.org.apache.hadoop
        finally:
            gateway.shutdown()
