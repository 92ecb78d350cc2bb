"""A directory in which servers run: what they have in common, whichever they are."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from nncache.testbed.java import JavaRuntime
from nncache.testbed.process import Lifeline, ServerProcess
from nncache.testbed.shell import environment


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
        return _conf_dir(self.directory)

    @property
    def logs(self) -> Path:
        """Where each server's log is, under its name."""
        return _logs(self.directory)

    @property
    def data(self) -> Path:
        """Where the servers keep what they know."""
        return _data(self.directory)

    def server(
        self, name: str, main: str, *arguments: str, is_up: Callable[[], bool], jvm: tuple[str, ...]
    ) -> ServerProcess:
        """Lay out a server that runs a main class of the jars."""
        command = self.runtime.command(
            main,
            *arguments,
            configuration=self.conf_dir,
            jvm=(f"-Dproc_{name}", f"-Djava.io.tmpdir={_temporary(self.directory)}", *jvm),
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
        for place in (_logs(made), _temporary(made)):
            place.mkdir(parents=True, exist_ok=True)
        lifeline = Lifeline(_data(made) / "guard.lock", made if directory is None else None)
        close.callback(lifeline.close)
        yield Workplace(
            runtime=runtime, directory=made, lifeline=lifeline, user=user, start_timeout_s=start_timeout_s
        )


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


def _conf_dir(directory: Path) -> Path:
    return directory / "conf"


def _logs(directory: Path) -> Path:
    return directory / "logs"


def _data(directory: Path) -> Path:
    return directory / "data"


def _temporary(directory: Path) -> Path:
    return _data(directory) / "tmp"
