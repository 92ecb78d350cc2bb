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

# Hadoop uses reflection on these packages, which Java 17 refuses without these options (JEP 403).
_OPENS = tuple(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "util", "nio"))


# The JVM writes the header last: a file without it is incomplete or abandoned (DynamicArchive of OpenJDK 17).
_HEADER = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaRuntime:
    """A Java and a Hadoop release."""

    java: str  # path of the program
    jars: tuple[Path, ...]  # of the release
    # The directory of the archives of loaded classes, with which later JVMs start in two thirds of the time and CPU
    # (class data sharing, JEP 350); None: no archives. A JVM ignores an archive that does not match it.
    archives: Path | None = None

    def classpath(self, configuration: Path) -> str:
        """Return the class path.

        The configuration directory is last: a shared archive fits only class paths that begin with the same jars.
        """
        return os.pathsep.join(str(part) for part in (*self.jars, configuration))

    def command(
        self, main: str, *arguments: str, configuration: Path, jvm: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        """Return the command line for a main class."""
        options = (*_OPENS, "-Djava.net.preferIPv4Stack=true", "-XX:-UsePerfData", *self._sharing(main), *jvm)
        return (self.java, *options, "-cp", self.classpath(configuration), main, *arguments)

    def _sharing(self, main: str) -> tuple[str, ...]:
        """Return the options that use the main class's archive, or write it when the JVM exits cleanly."""
        if self.archives is None:
            return ()
        java = Path(self.java).resolve()
        what = f"{java} {java.stat().st_mtime_ns} {os.pathsep.join(map(str, self.jars))}"
        digest = hashlib.sha256(what.encode()).hexdigest()[:12]
        archive = self.archives / f"{main.rpartition('.')[2]}-{digest}.jsa"
        use = "SharedArchiveFile" if _is_written(archive) else "ArchiveClassesAtExit"
        return (f"-XX:{use}={archive}", "-Xlog:cds*=off")


def unshaded(main: str) -> str:
    """Return a main class's name outside Hadoop's shaded artifact."""
    return main.removeprefix(_SHADED)


def _is_written(archive: Path) -> bool:
    try:
        with archive.open("rb") as file:
            return any(file.read(_HEADER))
    except FileNotFoundError:
        return False


def installed(hadoop_version: str, *, pom_file: str = "pom.xml", progress: Progress = silent) -> JavaRuntime:
    """Return this machine's Java with the jars of the release; see `jars.resolve`."""
    jars = resolve(hadoop_version, pom_file=pom_file, progress=progress)
    return JavaRuntime(java=find_java(), jars=jars, archives=cache_directory())
