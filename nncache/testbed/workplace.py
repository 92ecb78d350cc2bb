"""A directory in which servers run, and the settings that all servers share."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from nncache.testbed.java import JavaRuntime
from nncache.testbed.process import Lifeline, ServerProcess

_COMMAND_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """A Java and a Hadoop release, and the directories of its servers."""

    runtime: JavaRuntime
    directory: Path
    lifeline: Lifeline
    user: str  # the servers' HADOOP_USER_NAME
    start_timeout_s: float

    @property
    def conf_dir(self) -> Path:
        """The directory of the servers' configuration."""
        return self.directory / "conf"

    @property
    def logs(self) -> Path:
        """The directory of the logs; each is named after its server."""
        return self.directory / "logs"

    @property
    def data(self) -> Path:
        """The directory of the servers' data."""
        return self.directory / "data"

    def server(
        self, name: str, main: str, *arguments: str, is_up: Callable[[], bool], jvm: tuple[str, ...]
    ) -> ServerProcess:
        """Return a server, not started, that runs a main class of the jars."""
        command = self.runtime.command(
            main,
            *arguments,
            configuration=self.conf_dir,
            jvm=(f"-Dproc_{name}", f"-Djava.io.tmpdir={self.data / 'tmp'}", *jvm),
        )
        return ServerProcess(
            name,
            command,
            log=self.logs / f"{name}.log",
            environ=environment(self.user),
            lifeline=self.lifeline,
            is_up=is_up,
            timeout_s=self.start_timeout_s,
        )


@contextmanager
def workplace(
    runtime: JavaRuntime, name: str, *, directory: Path | None, user: str, start_timeout_s: float
) -> Iterator[Workplace]:
    """Create the directory and its subdirectories; at the end, kill all servers that still run.

    `directory` None: a temporary one whose name begins with nncache-`name`. It is removed at the end, even if this
    process is killed.
    """
    with ExitStack() as close:
        made = close.enter_context(_directory(directory, name))
        lifeline = Lifeline(made / "data" / "guard.lock", made if directory is None else None)
        close.callback(lifeline.close)
        place = Workplace(
            runtime=runtime, directory=made, lifeline=lifeline, user=user, start_timeout_s=start_timeout_s
        )
        for made_place in (place.logs, place.data / "tmp"):
            made_place.mkdir(parents=True, exist_ok=True)
        yield place


@contextmanager
def _directory(wanted: Path | None, name: str) -> Iterator[Path]:
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True)
        yield wanted.resolve()
        return
    made = Path(tempfile.mkdtemp(prefix=f"nncache-{name}-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def environment(user: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment in which Hadoop acts as this user.

    It excludes the settings of a Hadoop that is installed on this machine.
    """
    kept = {key: value for key, value in environ.items() if not key.startswith(("HADOOP_", "HDFS_"))}
    return kept | {"HADOOP_USER_NAME": user}


def run(
    command: tuple[str, ...], *, environ: Mapping[str, str], stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run a command and return its exit code and output, even if it failed.

    Raises:
        subprocess.TimeoutExpired: the command took more than two minutes and was killed.
    """
    return subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=environ,
        timeout=_COMMAND_TIMEOUT_S,
        check=False,
    )
