"""Hadoop's own commands, run to their end."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class ShellResult:
    """What a command of Hadoop's own left behind."""

    exit_code: int
    stdout: str
    stderr: str


def environment(user: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment in which Hadoop takes itself for this user.

    A Hadoop that is installed on this machine, and its settings, must not mix in.
    """
    kept = {key: value for key, value in environ.items() if not key.startswith(("HADOOP_", "HDFS_"))}
    return kept | {"HADOOP_USER_NAME": user}


def run(command: tuple[str, ...], *, environ: Mapping[str, str], stdin: str = "") -> ShellResult:
    """Run a command and return what came of it, a failure included.

    Raises:
        subprocess.TimeoutExpired: it took more than two minutes; it has been killed.
    """
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=environ,
        timeout=_TIMEOUT_S,
        check=False,
    )
    return ShellResult(done.returncode, done.stdout, done.stderr)
