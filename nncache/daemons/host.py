"""Name the machine that this process runs on."""

import socket
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def host_name(boot_id: Path = BOOT_ID) -> str:
    """Return a name that no other running machine has.

    A host name alone may be shared, such as `localhost` by two machines that have no names. With the beginning of
    the kernel's boot id it is not. Source: proc_sys_kernel(5), random/boot_id.
    """
    try:
        booted = boot_id.read_text(encoding="ascii").strip()[:8]
    except (OSError, ValueError):  # a container without /proc
        return socket.gethostname()
    return f"{socket.gethostname()}-{booted}"
