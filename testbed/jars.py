"""The class path of a Hadoop release, brought by Maven once and remembered."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path

from testbed.errors import MissingToolError, ResolveError
from testbed.progress import Progress, silent

DEFAULT_HADOOP_VERSION = "3.5.0"
SUPPORTED_HADOOP_VERSIONS = ("3.5.0", "3.4.1")

_INSTALL_JAVA = "Java is not on the PATH; install it with: apt-get install openjdk-17-jre-headless"
_INSTALL_MAVEN = "Maven is not on the PATH; install it with: apt-get install maven"
_LAST_LINES = 4  # of Maven's complaints, in an error


def java(environ: Mapping[str, str] = os.environ) -> str:
    """Find the Java to run with: that of JAVA_HOME, else the first on the PATH.

    Raises:
        MissingToolError: there is none.
    """
    home = environ.get("JAVA_HOME")
    if home and os.access(Path(home) / "bin" / "java", os.X_OK):
        return str(Path(home) / "bin" / "java")
    found = shutil.which("java", path=environ.get("PATH", os.defpath))
    if found is None:
        raise MissingToolError(_INSTALL_JAVA)
    return found


def cache_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Name the directory where class paths are remembered (XDG base directory specification)."""
    root = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".cache")
    return Path(root) / "nncache" / "testbed"


def resolve(
    hadoop_version: str = DEFAULT_HADOOP_VERSION,
    *,
    progress: Progress = silent,
    environ: Mapping[str, str] = os.environ,
) -> tuple[Path, ...]:
    """Return the jars of a release, asking Maven only when they aren't known or have gone.

    Safe when several runs do it at once: one works, the others wait for its result. The first time takes as long
    as about 100 MB take to arrive.

    Raises:
        MissingToolError: Maven is needed and not installed.
        ResolveError: Maven failed; the text has its own words.
    """
    pom = resources.files("testbed").joinpath("pom.xml").read_bytes()
    digest = hashlib.sha256(pom).hexdigest()[:12]
    directory = cache_directory(environ) / f"{hadoop_version}-{digest}"
    remembered = directory / "classpath"
    jars = _read(remembered)
    if jars:
        return jars
    directory.mkdir(parents=True, exist_ok=True)
    # One lock for all releases: two Mavens writing one local repository at once can break it.
    with _locked(directory.parent / "lock", progress):
        jars = _read(remembered)
        if jars:
            return jars
        (directory / "pom.xml").write_bytes(pom)
        _ask_maven(directory, hadoop_version, progress, environ)
        (directory / "classpath.new").replace(remembered)
    jars = _read(remembered)
    if not jars:
        message = f"Maven named jars for Hadoop {hadoop_version} that are not there; see {remembered}"
        raise ResolveError(message)
    return jars


def _read(remembered: Path) -> tuple[Path, ...]:
    """Return the remembered jars, or nothing when one of them has gone."""
    try:
        jars = tuple(Path(part) for part in remembered.read_text(encoding="utf-8").strip().split(os.pathsep))
    except FileNotFoundError:
        return ()
    return jars if all(jar.is_file() for jar in jars) else ()


@contextlib.contextmanager
def _locked(path: Path, progress: Progress) -> Iterator[None]:
    with path.open("w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another run is fetching Hadoop's jars; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _ask_maven(directory: Path, hadoop_version: str, progress: Progress, environ: Mapping[str, str]) -> None:
    maven = shutil.which("mvn", path=environ.get("PATH", os.defpath))
    if maven is None:
        raise MissingToolError(_INSTALL_MAVEN)
    java(environ)  # Maven's own complaint about a missing Java is longer and says less
    progress(f"Hadoop {hadoop_version}: asking Maven for the jars (about 100 MB the first time)")
    command = (
        maven,
        "-B",
        "-Dstyle.color=never",
        f"-Dhadoop.version={hadoop_version}",
        "-f",
        str(directory / "pom.xml"),
        "dependency:build-classpath",
        f"-Dmdep.outputFile={directory / 'classpath.new'}",
    )
    complaints: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=dict(environ),
    ) as process:
        for line in process.stdout or ():
            if line.startswith("[ERROR]"):
                complaints.append(line.removeprefix("[ERROR]").strip())
            elif (
                "Downloading from" in line
                and "/org/apache/hadoop/" in line
                and line.rstrip().endswith(".jar")
            ):
                progress(f"Hadoop {hadoop_version}: fetching {line.rstrip().rsplit('/', 1)[-1]}")
    if process.returncode != 0:
        said = " ".join(complaint for complaint in complaints[:_LAST_LINES] if complaint)
        message = f"Maven could not bring Hadoop {hadoop_version} (exit {process.returncode}): {said or 'it said nothing'}"
        raise ResolveError(message)
