"""Mistakes about the service registry that are planted, and what `nncache check` must say of each."""

from tests.commands.plants import FIRST, PROXY_ON, Plant

REGISTERS = (
    f"{PROXY_ON} {FIRST} --glob /user/* --channel direct --registry --zookeeper {{zookeeper}} "
    "--registry-host 127.0.0.1 --registry-root {registry}"
)

IN_THE_REGISTRY: dict[str, Plant] = {
    "another root of the registry": (
        f"{REGISTERS} --registry-root /nowhere",
        "registry",
        "warning",
        ("there is no /nowhere", "set --registry-root", "hadoop.registry.zk.root"),
    ),
    "a registry that is closed": (
        f"{REGISTERS} --registry-root {{closed_registry}}",
        "registry",
        "failed",
        ("the ACL of / lets no client", "cannot register", "--registry-secure and --zookeeper-sasl"),
    ),
    "a host that others cannot reach": (
        REGISTERS,
        "registered",
        "warning",
        ("127.0.0.1 is registered", "no other host can reach it", "set --registry-host"),
    ),
    "a host that is none": (
        f"{REGISTERS} --registry-host proxy.invalid",
        "registered",
        "failed",
        ("proxy.invalid is registered, and cannot be resolved", "set --registry-host"),
    ),
    "an entry that a crash left": (
        f"{REGISTERS} --listen {{left}}",
        "registered",
        "warning",
        (
            "is registered, but no proxy runs at listen",
            "nncache registry rm /services/nncache/components/proxy-",
        ),
    ),
    "an entry of another service": (
        f"{REGISTERS} --listen {{foreign}}",
        "registered",
        "failed",
        ("is bound to another service (of another team)", "--registry-host or port"),
    ),
    "an entry that is broken": (
        f"{REGISTERS} --listen {{broken}}",
        "registered",
        "warning",
        ("holds no record that can be read", "replaces it"),
    ),
    "a proxy that runs unregistered": (
        f"{REGISTERS} --listen {{proxy}}",
        "registered",
        "failed",
        ("a proxy runs at listen, but there is no /services/nncache", "its log"),
    ),
    "entries of daemons that are gone": (
        REGISTERS,
        "stale",
        "warning",
        ("({left})", "({web}, which is an HTTP server", "nncache registry rm PATH"),
    ),
    "the registry's ZooKeeper is down": (
        REGISTERS.replace("{zookeeper}", "{closed}"),
        "addresses",
        "failed",
        ("zookeeper {closed} cannot be reached",),
    ),
}
