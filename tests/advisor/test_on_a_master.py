"""A Spark cluster of two workers gives the same advice as local cores, by --master and by spark-submit."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from nncache.advisor.generator import Spec, lines_of
from nncache.commands import cli
from tests.advisor.test_advise import advice_about
from tests.patience import HANG_S

PROGRAMS = Path(pyspark.__file__).parent / "bin"
ENVIRONMENT = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


def _started(close: ExitStack, log: Path, *words: str, until: str) -> str:
    """Start a Spark program that ends with `close`; return the match of `until` in its log."""
    with log.open("wb") as file:
        command = (str(PROGRAMS / "spark-class"), *words)
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=ENVIRONMENT)
    close.callback(process.wait)
    close.callback(process.terminate)
    ends = time.monotonic() + 4 * HANG_S
    while (found := re.search(until, log.read_text())) is None:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < ends, log.read_text()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
    return found[0]


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a master with two workers."""
    anywhere = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with ExitStack() as close:
        name = "org.apache.spark.deploy.master.Master"
        address = _started(
            close, tmp_path / "master.log", name, *anywhere, until=r"spark://127\.0\.0\.1:[0-9]+"
        )
        for number in ("1", "2"):
            work = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / f"work{number}"))
            name = "org.apache.spark.deploy.worker.Worker"
            log = tmp_path / f"worker{number}.log"
            _started(close, log, name, *anywhere, *work, address, until="Successfully registered")
        yield address


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_cluster_gives_the_same_advice(spark: SparkSession, tmp_path: Path, master: str) -> None:
    """The command lines are those of docs/advisor.md; both workers take part."""
    log = tmp_path / "log"
    log.write_text("\n".join(lines_of(Spec(20_000, globs=20, parts=1), 0)) + "\n")
    local = advice_about(spark, tmp_path, str(log))
    expected = {each.glob: [each.saved.low, each.saved.high] for each in local.filters}
    assert expected
    submit = (str(PROGRAMS / "spark-submit"), "--master", master, cli.__file__, "advise")
    direct = (sys.executable, "-m", "nncache.commands.cli", "advise", "--master", master)
    # Without it, Spark makes 200 partitions for a cluster.
    (tmp_path / "spark-defaults.conf").write_text("spark.sql.shuffle.partitions 4\n")
    environment = ENVIRONMENT | {"SPARK_CONF_DIR": str(tmp_path)}
    for name, command in (("submit", submit), ("direct", direct)):
        out = tmp_path / name
        more = ("--warm-up", "0", "--events", str(tmp_path / f"{name}.parquet"), "--out", str(out))
        ran = subprocess.run(
            (*command, *more, str(log)), capture_output=True, text=True, env=environment, check=False
        )
        assert ran.returncode == 0, ran.stderr[-3000:]
        filters = json.loads((out / "figures.json").read_text())["filters"]
        sides = {each["glob"]: (each["web"]["saved"], each["rpc"]["saved"]) for each in filters}
        found = {
            glob: [sum(side[end] for side in two) for end in ("low", "high")] for glob, two in sides.items()
        }
        assert (name, found) == (name, expected)
    for number in ("1", "2"):
        assert "Asked to launch executor" in (tmp_path / f"worker{number}.log").read_text()
