"""A YARN of the test's own: two ResourceManagers, one of them active, and a NodeManager."""

import json
import secrets
import urllib.error
import urllib.request
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from nncache.testbed import java
from nncache.testbed.configuration import write_yarn_configuration
from nncache.testbed.errors import ServerStartError
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION, YARN
from nncache.testbed.kdc import Kdc
from nncache.testbed.ports import PortLease
from nncache.testbed.process import Running, ServerProcess, await_all
from nncache.testbed.spec import REALM, SMALL_JVM, own_user
from nncache.testbed.workplace import Workplace, environment, run, workplace

_RM: Final = "org.apache.hadoop.yarn.server.resourcemanager"
_NM: Final = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
_RM_ADMIN: Final = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"

_OF_A_MANAGER: Final = (
    "webapp.address",
    "address",
    "scheduler.address",
    "resource-tracker.address",
    "admin.address",
)
_OF_THE_NODE: Final = ("address", "localizer.address", "webapp.address", "collector-service.address")

_START_TIMEOUT_S: Final = 120.0
_ANSWER_TIMEOUT_S: Final = 20.0


class Yarn(Running):
    """YARN during the `with` block; it also ends with this process (see `nncache.testbed.guard`)."""

    def __init__(self, *, hadoop_version: str = DEFAULT_HADOOP_VERSION, kdc: Kdc | None = None) -> None:
        """Prepare it; the `with` block starts it. With a KDC its pages need a ticket (SPNEGO), and nothing can run."""
        self._close = ExitStack()
        with ExitStack() as undo:
            undo.callback(self._close.close)
            runtime = java.installed(hadoop_version, pom_file=YARN)
            self._place = self._close.enter_context(
                workplace(runtime, "yarn", directory=None, user=own_user(), start_timeout_s=_START_TIMEOUT_S)
            )
            ports = self._close.enter_context(PortLease())
            settings = _settings(self._place.data, ports)
            if kdc is not None:
                settings |= _with_spnego(self._place.data, kdc)
            write_yarn_configuration(self._place.conf_dir, settings)
            undo.pop_all()
        # For a container: it ends a second after this YARN, even if this YARN is killed.
        self.endless = f"while [ -e {self._place.conf_dir} ]; do sleep 1; done"
        names = ("rm1", "rm2")
        self.urls = {
            name: f"http://{settings[f'yarn.resourcemanager.webapp.address.{name}']}" for name in names
        }
        if kdc is not None:  # the name in its principal
            self.urls = {name: url.replace("127.0.0.1", "localhost") for name, url in self.urls.items()}
        jvm = () if kdc is None else (f"-Djava.security.krb5.conf={kdc.krb5_conf}",)
        self.managers = {name: _manager(self._place, name, self.urls[name], jvm) for name in names}
        node = _NM.rpartition(".")[2]
        self.node = None if kdc else self._place.server(node, _NM, is_up=self._has_node, jvm=SMALL_JVM)

    def start(self) -> None:
        """Start all, activate rm1, and wait for the NodeManager's registration. Raises StartError."""
        for manager in self.managers.values():
            manager.launch()
        await_all(list(self.managers.values()))
        self.activate("rm1")
        if self.node is not None:
            self.node.start()

    def activate(self, name: str) -> None:
        """Make one of them active; neither may be active before. Raises StartError."""
        words = ("-transitionToActive", "--forceactive", name)  # the other one need not answer
        command = self._place.runtime.command(
            _RM_ADMIN, *words, configuration=self._place.conf_dir, jvm=_id(name)
        )
        done = run(command, environ=environment(self._place.user))
        if done.returncode:
            raise ServerStartError(f"{name} did not become active: {done.stderr}")

    def close(self) -> None:
        """Stop all and remove their directory. May be called again."""
        if self.node is not None:
            self.node.stop()  # which ends its containers
        for manager in self.managers.values():
            manager.kill()
        self._close.close()

    def _has_node(self) -> bool:
        _, document = call(self.urls["rm1"], "/nodes")
        nodes = (document.get("nodes") or {}).get("node", [])
        return any(node["state"] == "RUNNING" for node in nodes)


def call(url: str, page: str, method: str = "GET", document: object = None) -> tuple[int, dict[str, Any]]:
    """Return status and JSON of a reply of a ResourceManager's REST API; status 0: no reply."""
    data = None if document is None else json.dumps(document).encode()
    fields = {"Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(f"{url}/ws/v1/cluster{page}", data, fields, method=method)
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_TIMEOUT_S) as reply:
            status, body = reply.status, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            status, body = error.code, error.read()
    except OSError:
        return 0, {}
    try:
        answer = json.loads(body)
    except ValueError:
        return status, {}
    return status, answer if isinstance(answer, dict) else {}


def _id(name: str) -> tuple[str, ...]:
    return (*SMALL_JVM, f"-Dtestbed.rm.id={name}")


def _manager(place: Workplace, name: str, url: str, jvm: tuple[str, ...]) -> ServerProcess:
    return place.server(name, f"{_RM}.ResourceManager", is_up=partial(_is_up, url), jvm=(*_id(name), *jvm))


def _is_up(url: str) -> bool:
    status, document = call(url, "/info")
    wants_a_ticket = status == HTTPStatus.UNAUTHORIZED
    return wants_a_ticket or document.get("clusterInfo", {}).get("haState") in {"ACTIVE", "STANDBY"}


def _settings(data: Path, ports: PortLease) -> dict[str, str]:
    """Return all keys that differ from YARN's defaults."""
    settings = {
        "hadoop.tmp.dir": str(data / "tmp"),
        "yarn.resourcemanager.ha.enabled": "true",
        "yarn.resourcemanager.ha.automatic-failover.enabled": "false",
        "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
        "yarn.resourcemanager.ha.id": "${testbed.rm.id}",
        "yarn.resourcemanager.cluster-id": "testbed",
        "yarn.resourcemanager.recovery.enabled": "true",
        "yarn.resourcemanager.store.class": f"{_RM}.recovery.FileSystemRMStateStore",
        "yarn.resourcemanager.fs.state-store.uri": f"file://{data / 'store'}",
        "yarn.resourcemanager.scheduler.class": f"{_RM}.scheduler.fifo.FifoScheduler",
        "yarn.nodemanager.local-dirs": str(data / "local"),
        "yarn.nodemanager.log-dirs": str(data / "containers"),
        "yarn.nodemanager.resource.memory-mb": "4096",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.enable": "false",  # a disk of the host may be nearly full
    }
    for name in ("rm1", "rm2"):
        settings |= {
            f"yarn.resourcemanager.{key}.{name}": f"127.0.0.1:{ports.take()}" for key in _OF_A_MANAGER
        }
    return settings | {f"yarn.nodemanager.{key}": f"127.0.0.1:{ports.take()}" for key in _OF_THE_NODE}


def _with_spnego(data: Path, kdc: Kdc) -> dict[str, str]:
    """Return the keys with which web pages require Kerberos (`AuthenticationFilterInitializer` of Hadoop 3.5.0)."""
    secret = data / "http-secret"
    secret.touch(mode=0o600)
    secret.write_text(secrets.token_hex(32))
    prefix = "hadoop.http.authentication"
    return {
        "hadoop.http.filter.initializers": "org.apache.hadoop.security.AuthenticationFilterInitializer",
        f"{prefix}.type": "kerberos",
        f"{prefix}.kerberos.principal": f"HTTP/localhost@{REALM}",
        f"{prefix}.kerberos.keytab": str(kdc.keytab("HTTP/localhost")),
        f"{prefix}.signature.secret.file": str(secret),
    }
