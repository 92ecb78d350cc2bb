"""A directory in which servers run: what they have in common, whichever they are."""

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
    """A Java and a Hadoop release, and places for what its servers read and write."""

    runtime: JavaRuntime
    directory: Path
    lifeline: Lifeline
    user: str  # whom the servers say they run as
    start_timeout_s: float

    @property
    def conf_dir(self) -> Path:
        """Where the servers' configuration is."""
        return self.directory / "conf"

    @property
    def logs(self) -> Path:
        """Where each server's log is, under its name."""
        return self.directory / "logs"

    @property
    def data(self) -> Path:
        """Where the servers keep what they know."""
        return self.directory / "data"

    def server(
        self, name: str, main: str, *arguments: str, is_up: Callable[[], bool], jvm: tuple[str, ...]
    ) -> ServerProcess:
        """Lay out a server that runs a main class of the jars."""
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
    """Make the directory and its places; at the end, whatever still runs is killed.

    `directory` None: a temporary one whose name begins with nncache-`name`, removed at the end; it is also removed
    when this process goes without an end.
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
    """Return the environment in which Hadoop takes itself for this user.

    A Hadoop that is installed on this machine, and its settings, must not mix in.
    """
    kept = {key: value for key, value in environ.items() if not key.startswith(("HADOOP_", "HDFS_"))}
    return kept | {"HADOOP_USER_NAME": user}


def run(
    command: tuple[str, ...], *, environ: Mapping[str, str], stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run a command and return what came of it, a failure included.

    Raises:
        subprocess.TimeoutExpired: it took more than two minutes; it has been killed.
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
