"""The class path of a Hadoop or ZooKeeper release, which Maven resolves once and a file caches."""

import contextlib
import fcntl
import hashlib
import os
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path

from nncache.testbed.errors import ResolveError
from nncache.testbed.programs import find_program, find_programs

Progress = Callable[[str], None]  # reports the progress of long work: takes one line, without its newline

DEFAULT_HADOOP_VERSION = "3.5.0"
SUPPORTED_HADOOP_VERSIONS = ("3.5.0", "3.4.1")

_REMEMBERED = "classpath"  # in a release's directory: its class path
_FRESH = "classpath.new"  # the class path that Maven wrote, until it is complete
REGISTRY_CLIENT = "registry-pom.xml"  # the POM of Hadoop's own registry client
YARN = "yarn-pom.xml"  # the POM of YARN's servers
ZOOKEEPER_SERVER = "zookeeper-pom.xml"  # the POM of a ZooKeeper server of any release
HTTP_CLIENTS = "clients-pom.xml"  # the POM of HTTP clients for the JVM; its release is Apache HttpClient's

_OF = {
    ZOOKEEPER_SERVER: "ZooKeeper",
    HTTP_CLIENTS: "Apache HttpClient",
}  # the product whose release a POM takes; default: Hadoop

_READ_WHOLE = ("hadoop-client-minicluster-", "hadoop-client-api-")


def silent(line: str) -> None:
    """Discard the line."""


def java() -> str:
    """Return the path of Java: the one in JAVA_HOME, else the first on the PATH."""
    home = os.environ.get("JAVA_HOME")
    if home and os.access(Path(home) / "bin" / "java", os.X_OK):
        return str(Path(home) / "bin" / "java")
    return find_program("java")


def cache_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of the cached class paths (XDG base directory specification)."""
    root = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".cache")
    return Path(root) / "nncache" / "testbed"


def resolve(
    version: str = DEFAULT_HADOOP_VERSION,
    *,
    pom_file: str = "pom.xml",
    progress: Progress = silent,
    environ: Mapping[str, str] = os.environ,
) -> tuple[Path, ...]:
    """Return the jars of a release. Run Maven only if they are not cached, or one of them is missing.

    `pom_file`, in the directory of this module, selects the jars. Concurrent runs are safe: one runs Maven, the
    others wait for its result. The first run downloads about 100 MB. Raises ResolveError if Maven fails.
    """
    pom = resources.files("nncache.testbed").joinpath(pom_file).read_bytes()
    digest = hashlib.sha256(pom).hexdigest()[:12]
    directory = cache_directory(environ) / f"{version}-{digest}"
    release = f"{_OF.get(pom_file, 'Hadoop')} {version}"
    jars = _read(directory)
    if jars:
        return jars
    directory.mkdir(parents=True, exist_ok=True)
    # One lock for all releases: two concurrent Mavens can corrupt their local repository.
    with _locked(directory.parent / "lock", progress):
        jars = _read(directory)
        if jars:
            return jars
        (directory / "pom.xml").write_bytes(pom)
        _ask_maven(directory, version, release, progress, environ)
        progress(f"{release}: unpacking the jars that a NameNode reads whole")
        jars = tuple(
            _unpack(jar, directory) if jar.name.startswith(_READ_WHOLE) else jar
            for jar in _paths(directory / _FRESH)
        )
        (directory / _FRESH).write_text(os.pathsep.join(str(jar) for jar in jars), encoding="utf-8")
        (directory / _FRESH).replace(directory / _REMEMBERED)
    jars = _read(directory)
    if not jars:
        raise ResolveError(f"Maven named jars for {release} that are not there; see {directory}")
    return jars


def _unpack(jar: Path, directory: Path) -> Path:
    """Return the jar's uncompressed copy in `directory`.

    When a NameNode starts, Jersey reads every jar that holds WebHDFS from end to end, and Jetty the jar with the web
    pages. Inflating them takes 1.5 s of a start of 3.1 s. The copies cost 200 MB of disk.
    """
    copy = directory / jar.name
    with zipfile.ZipFile(jar) as packed, zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as stored:
        for entry in packed.infolist():
            stored.writestr(zipfile.ZipInfo(entry.filename, entry.date_time), packed.read(entry))
    return copy


def _read(directory: Path) -> tuple[Path, ...]:
    """Return the cached jars, or none if one of them is missing."""
    try:
        jars = _paths(directory / _REMEMBERED)
    except FileNotFoundError:
        return ()
    return jars if all(jar.is_file() for jar in jars) else ()


def _paths(classpath: Path) -> tuple[Path, ...]:
    return tuple(Path(part) for part in classpath.read_text(encoding="utf-8").strip().split(os.pathsep))


@contextlib.contextmanager
def _locked(path: Path, progress: Progress) -> Iterator[None]:
    with path.open("w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another run is fetching Hadoop's jars; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _ask_maven(
    directory: Path, version: str, release: str, progress: Progress, environ: Mapping[str, str]
) -> None:
    # Maven's own message about a missing Java is longer and less clear.
    *_, maven = find_programs(*(() if environ.get("JAVA_HOME") else ("java",)), "mvn", environ=environ)
    progress(f"{release}: asking Maven for the jars (about 100 MB the first time)")
    command = (
        *(maven, "-B", "-Dstyle.color=never", f"-Dhadoop.version={version}", f"-Drelease.version={version}"),
        *("-f", str(directory / "pom.xml"), "dependency:build-classpath"),
        f"-Dmdep.outputFile={directory / _FRESH}",
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
            elif re.search(r"Downloading from.*/org/apache/hadoop/.*\.jar$", line.rstrip()):
                progress(f"{release}: fetching {line.rstrip().rsplit('/', 1)[-1]}")
    if process.returncode != 0:
        why = complaints[0] if complaints else "it said nothing"  # the rest is advice on Maven's switches
        raise ResolveError(f"Maven could not bring {release} (exit {process.returncode}): {why}")
