"""Hadoop's own shell over webhdfs://: the commands of `shell.txt`, in one JVM (Shell.java)."""

import gzip
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from nncache.testbed.java import installed

HERE: Final = Path(__file__).parent
_TIMES: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d|\.Trash/\d+|\d{12,}|\(pid \d+\)")


def run_shell(address: str, superuser: str) -> dict[str, str]:
    """Return what each command says, with its exit code; times, and the directory of this run, are left out."""
    runtime = installed(DEFAULT_HADOOP_VERSION)
    with tempfile.TemporaryDirectory() as temporary:
        local = Path(temporary)
        (local / "hello").write_text("hello\n")
        (local / "lines").write_text("".join(f"line {number}\n" for number in range(500)))
        (local / "zipped.gz").write_bytes(gzip.compress(b"zipped\n"))
        commands = (HERE / "shell.txt").read_text().replace("root ", f"{superuser} ").splitlines()
        process = subprocess.run(
            (runtime.java, "-Xmx256m", "-cp", runtime.classpath(local), str(HERE / "Shell.java"), f"webhdfs://{address}"),
            input="".join(f"{command.replace('LOCAL', temporary)}\n" for command in commands),
            text=True, capture_output=True, check=True,
        )  # fmt: skip
        said = re.split(r"(?m)^= (-?\d+)\n", _TIMES.sub("TIME", process.stdout.replace(temporary, "LOCAL")))
        said[0::2] = [output.partition("| Usage: ")[0] for output in said[0::2]]
        answers = zip(said[0::2], said[1::2], strict=False)
        return {
            f"{number}: {command}": f"{output}exit code {code}"
            for number, (command, (output, code)) in enumerate(zip(commands, answers, strict=True), start=1)
        }
