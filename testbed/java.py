"""Command lines that run Hadoop's and ZooKeeper's main classes."""

import os
from dataclasses import dataclass
from pathlib import Path

_HDFS = "org.apache.hadoop.hdfs"
NAMENODE = f"{_HDFS}.server.namenode.NameNode"
DATANODE = f"{_HDFS}.server.datanode.DataNode"
JOURNALNODE = f"{_HDFS}.qjournal.server.JournalNode"
HA_ADMIN = f"{_HDFS}.tools.DFSHAAdmin"
DFS_ADMIN = f"{_HDFS}.tools.DFSAdmin"
FS_SHELL = "org.apache.hadoop.fs.FsShell"
ZOOKEEPER = "org.apache.hadoop.shaded.org.apache.zookeeper.server.ZooKeeperServerMain"

# Hadoop looks into these by reflection, which Java 17 refuses unless told otherwise (JEP 403).
_OPENS = tuple(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "util", "nio"))


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaRuntime:
    """A Java and a Hadoop release."""

    java: str
    jars: tuple[Path, ...]

    def classpath(self, configuration: Path) -> str:
        """Return the class path with the configuration's directory in front."""
        return os.pathsep.join(str(part) for part in (configuration, *self.jars))

    def command(
        self, main: str, *arguments: str, configuration: Path, jvm: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        """Return the command line for a main class."""
        options = (*_OPENS, "-Djava.net.preferIPv4Stack=true", "-XX:-UsePerfData", *jvm)
        return (self.java, *options, "-cp", self.classpath(configuration), main, *arguments)
