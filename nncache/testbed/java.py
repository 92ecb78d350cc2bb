"""Command lines that run Hadoop's and ZooKeeper's main classes."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from nncache.testbed.jars import Progress, cache_directory, resolve, silent
from nncache.testbed.jars import java as find_java

_HDFS = "org.apache.hadoop.hdfs"
NAMENODE = f"{_HDFS}.server.namenode.NameNode"
DATANODE = f"{_HDFS}.server.datanode.DataNode"
JOURNALNODE = f"{_HDFS}.qjournal.server.JournalNode"
HA_ADMIN = f"{_HDFS}.tools.DFSHAAdmin"
DFS_ADMIN = f"{_HDFS}.tools.DFSAdmin"
FS_SHELL = "org.apache.hadoop.fs.FsShell"
_SHADED = "org.apache.hadoop.shaded."
_ZOOKEEPER_SERVER = f"{_SHADED}org.apache.zookeeper.server"
ZOOKEEPER = f"{_ZOOKEEPER_SERVER}.ZooKeeperServerMain"
ZOOKEEPER_PEER = f"{_ZOOKEEPER_SERVER}.quorum.QuorumPeerMain"  # one of an ensemble

# Hadoop looks into these by reflection, which Java 17 refuses without these options (JEP 403).
_OPENS = tuple(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "util", "nio"))


# The header is written last: a file without one is being written, or was given up (DynamicArchive of OpenJDK 17).
_HEADER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaRuntime:
    """A Java and a Hadoop release."""

    java: str  # the program
    jars: tuple[Path, ...]  # of the release
    # where to keep what JVMs have loaded, so that the next ones start in two thirds of the time and CPU
    # (class data sharing, JEP 350); None: nowhere. Whatever does not fit a JVM there is passed over by it.
    archives: Path | None = None

    def classpath(self, configuration: Path) -> str:
        """Return the class path.

        The configuration's directory comes last: a shared archive is for class paths that begin with the same jars.
        """
        return os.pathsep.join(str(part) for part in (*self.jars, configuration))

    def command(
        self, main: str, *arguments: str, configuration: Path, jvm: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        """Return the command line for a main class."""
        options = (*_OPENS, "-Djava.net.preferIPv4Stack=true", "-XX:-UsePerfData", *self._sharing(main), *jvm)
        return (self.java, *options, "-cp", self.classpath(configuration), main, *arguments)

    def _sharing(self, main: str) -> tuple[str, ...]:
        """Return the options that use the main class's archive, or write it when the JVM ends in good order."""
        if self.archives is None:
            return ()
        java = Path(self.java).resolve()
        what = f"{java} {java.stat().st_mtime_ns} {os.pathsep.join(map(str, self.jars))}"
        digest = hashlib.sha256(what.encode()).hexdigest()[:12]
        archive = self.archives / f"{main.rpartition('.')[2]}-{digest}.jsa"
        use = "SharedArchiveFile" if _is_written(archive) else "ArchiveClassesAtExit"
        return (f"-XX:{use}={archive}", "-Xlog:cds*=off")


def unshaded(main: str) -> str:
    """Return the name that a main class has where it is not one of Hadoop's own artefact."""
    return main.removeprefix(_SHADED)


def _is_written(archive: Path) -> bool:
    try:
        with archive.open("rb") as file:
            return any(file.read(_HEADER))
    except FileNotFoundError:
        return False


def installed(hadoop_version: str, *, pom_file: str = "pom.xml", progress: Progress = silent) -> JavaRuntime:
    """Return this machine's Java with the jars of that release; see `jars.resolve`."""
    jars = resolve(hadoop_version, pom_file=pom_file, progress=progress)
    return JavaRuntime(java=find_java(), jars=jars, archives=cache_directory())
