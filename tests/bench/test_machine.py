"""A report says what it was made on, and not whose that is."""

import os
import socket
from importlib.metadata import version
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from nncache.bench.machine import described, versions


def test_the_machine_is_described_and_not_named() -> None:
    """Everything has a value; none of them is the host's name."""
    found = described()
    assert found["cores"] == str(os.cpu_count())
    assert found["system"].startswith("Linux ")
    assert int(found["memory"].removesuffix(" GiB")) > 0
    assert found["processor"]
    assert socket.gethostname() not in " ".join(found.values()).split()


@pytest.mark.timeout(300)  # Spark may have to start
def test_all_that_took_part_has_a_version(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As each says of itself; nginx only if it took part."""
    program = tmp_path / "nginx"
    program.write_text('#!/bin/sh\necho "nginx version: nginx/9.8.7" >&2\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found = versions(spark, "3.5.0", has_nginx=True)
    assert (found["nncache"], found["Hadoop"], found["Spark"]) == (
        version("nncache"),
        "3.5.0",
        version("pyspark"),
    )
    assert found["Java"].split(".")[0].isdigit()
    assert found["nginx"] == "9.8.7"
    assert versions(spark, "3.5.0", has_nginx=False) == {
        name: said for name, said in found.items() if name != "nginx"
    }
