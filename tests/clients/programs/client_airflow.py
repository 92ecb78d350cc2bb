"""Airflow's WebHdfsSensor and WebHDFSHook: the original files, with stand-ins for the parts of Airflow they use."""

import importlib.machinery
import logging
import sys
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

SDK = "airflow.providers.common.compat.sdk"


class Base:
    """The stand-in for BaseHook and BaseSensorOperator."""

    log = logging.getLogger("airflow")
    address = ""

    def __init__(self, **_: object) -> None:
        """Accept the arguments of an operator."""

    @classmethod
    def get_connection(cls, _: str) -> SimpleNamespace:
        """Return the connection that an administrator would define."""
        host, _, port = cls.address.partition(":")
        return SimpleNamespace(
            host=host, port=int(port), login="alice", password=None, schema=None, extra_dejson={}
        )


def stand_in() -> None:
    """Replace Airflow's core modules by stand-ins."""
    found = importlib.machinery.PathFinder.find_spec("airflow")
    assert found is not None
    core = ModuleType("airflow")
    core.__path__ = list(found.submodule_search_locations or ())
    core.__dict__["__version__"] = "3.1.0"
    sdk = ModuleType(SDK)
    vars(sdk).update(
        AirflowException=Exception,
        BaseHook=Base,
        BaseSensorOperator=Base,
        conf=SimpleNamespace(get=lambda *_: ""),
    )
    sys.modules.update({"airflow": core, SDK: sdk})


def main(count: int, *roots: str) -> None:
    """Poke and write below each root."""
    stand_in()
    hooks: Any = importlib.import_module("airflow.providers.apache.hdfs.hooks.webhdfs")
    sensors: Any = importlib.import_module("airflow.providers.apache.hdfs.sensors.web_hdfs")
    for root in roots:
        split = urlsplit(root)
        Base.address, directory = split.netloc, split.path.removeprefix("/webhdfs/v1")
        sensor = sensors.WebHdfsSensor(task_id="wait", filepath=f"{directory}/f")
        read = sum(sensor.poke({}) for _ in range(count))
        written = 0
        for number in range(count):
            client = hooks.WebHDFSHook().get_conn()
            if number % 2:
                client.set_permission(f"{directory}/g", "644")
            else:
                client.makedirs(f"{directory}/w{number}")
            written += 1
        sys.stdout.write(f"{read} {written}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
