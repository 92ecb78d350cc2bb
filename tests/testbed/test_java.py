"""Command lines for main classes."""

import os
from pathlib import Path

from testbed.java import NAMENODE, JavaRuntime

RUNTIME = JavaRuntime(java="/j/bin/java", jars=(Path("/m/a.jar"), Path("/m/b.jar")))


def test_the_configuration_comes_first() -> None:
    """A log4j.properties or hdfs-site.xml inside a jar must not win."""
    assert RUNTIME.classpath(Path("/c")).split(os.pathsep) == ["/c", "/m/a.jar", "/m/b.jar"]


def test_arguments_follow_the_class_and_options_precede_it() -> None:
    """Java takes what stands before the class for itself and hands the rest to the class."""
    command = RUNTIME.command(NAMENODE, "-format", configuration=Path("/c"), jvm=("-Xmx64m",))
    at = command.index(NAMENODE)
    assert command[0] == "/j/bin/java"
    assert "-Xmx64m" in command[:at]
    assert command[at + 1 :] == ("-format",)


def test_hadoop_may_look_into_the_packages_it_reflects_on() -> None:
    """Java 17 opens none of them by itself."""
    command = RUNTIME.command(NAMENODE, configuration=Path("/c"))
    opened = {option.split("/")[1].split("=")[0] for option in command if option.startswith("--add-opens")}
    assert opened == {"java.lang", "java.util", "java.nio"}
