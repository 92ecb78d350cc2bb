"""What a run was made on: processor, memory, versions."""

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from nncache.bench.servers.nginx import find_nginx


def described() -> dict[str, str]:
    """Return what the machine is, for a reader; nothing that names it."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "load at the end (1, 5, 15 min)": load,
    }


def versions(spark: SparkSession, hadoop: str, *, has_nginx: bool) -> dict[str, str]:
    """Return the versions of everything that took part."""
    java = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no other way to ask its JVM
    found = {
        "nncache": importlib.metadata.version("nncache"),
        "Hadoop": hadoop,
        "Python": platform.python_version(),
        "Spark": spark.version,
        "Java": java.System.getProperty("java.version") if java is not None else "",
    }
    if has_nginx:
        said = subprocess.run((find_nginx(), "-v"), capture_output=True, text=True, check=False)
        found["nginx"] = said.stderr.strip().rpartition("/")[2]
    return found


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
