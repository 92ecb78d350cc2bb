"""Common command lines: `hdfs dfs` with `webhdfs://`, and `curl`."""

import shutil
import subprocess
from pathlib import Path

import pytest

from nncache.testbed import Cluster
from tests.clients.conftest import Compare
from tests.clients.ways import STRAIGHT

USER = "alice"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", [STRAIGHT], indirect=True)  # each step starts a JVM
def test_hdfs_dfs(same_outcome: Compare, cluster: Cluster, tmp_path: Path) -> None:
    """Hadoop's own shell works with nothing changed but the URL."""
    local = tmp_path / "local"
    local.write_bytes(b"some text\n" * 100)

    def story(address: str, root: str) -> list[str]:
        url = f"webhdfs://{address}{root}"
        steps: list[tuple[str, ...]] = [
            ("-test", "-e", f"{url}/d/f"),
            ("-mkdir", "-p", f"{url}/d"),
            ("-put", str(local), f"{url}/d/f"),
            ("-stat", "%F %a %u %g %b %n %o %r", f"{url}/d/f"),
            ("-cat", f"{url}/d/f"),
            ("-setfacl", "-m", "user:bob:r--", f"{url}/d/f"),
            ("-ls", f"{url}/d"),
            ("-mv", f"{url}/d/f", f"{url}/d/g"),
            ("-checksum", f"{url}/d/g"),
            ("-cat", f"{url}/d/f"),
            ("-chown", "bob", f"{url}/d/g"),
            ("-rm", "-r", "-skipTrash", f"{url}/d"),
            ("-stat", f"{url}/d/g"),
        ]
        outcomes = []
        for step in steps:
            done = cluster.fs_shell(*step, user=USER)
            output = f"{done.stdout} {done.stderr}".replace(url, "URL").replace(str(local), "LOCAL")
            outcomes.append(f"{step[0]}: {done.returncode} {output}")
        return outcomes

    same_outcome(story)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed: apt-get install curl")
def test_curl(same_outcome: Compare, tmp_path: Path) -> None:
    """The commands of the WebHDFS documentation work; curl itself follows redirects."""
    local = tmp_path / "local"
    local.write_bytes(b"some text\n" * 10_000)

    def story(address: str, root: str) -> list[str]:
        def curl(target: str, *arguments: str) -> str:
            url = f"http://{address}/webhdfs/v1{root}{target}&user.name={USER}"
            done = subprocess.run(
                [
                    "curl",
                    "--silent",
                    "--show-error",
                    "--max-time",
                    "30",
                    "--write-out",
                    " %{http_code}",
                    *arguments,
                    url,
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            stdout = done.stdout
            if "--head" in arguments:  # nginx changes the order of the fields
                stdout = "".join(sorted(stdout.splitlines(keepends=True)))
            outcome = f"{arguments} {target}: {done.returncode} {stdout} {done.stderr}"
            return outcome.replace(str(local), "LOCAL")

        upload = ("--location", "--upload-file", str(local))
        return [
            curl("/f?op=GETFILESTATUS"),
            curl("/f?op=CREATE", *upload),
            curl("/f?op=GETFILESTATUS"),
            curl("/f?op=GETFILESTATUS", "--head"),
            curl("/f?op=OPEN", "--location"),
            curl("/f?op=OPEN&offset=5&length=20", "--location"),
            curl("/f?op=CREATE", *upload),
            curl("/f?op=APPEND", "--location", "--request", "POST", "--data-binary", f"@{local}"),
            curl("/f?op=GETFILESTATUS"),
            curl("/f?op=GETFILECHECKSUM", "--location"),
            curl("/d?op=MKDIRS", "--request", "PUT"),
            curl("?op=LISTSTATUS"),
            curl(f"/f?op=RENAME&destination={root}/d", "--request", "PUT"),
            curl("/d/f?op=GETFILESTATUS"),
            curl("/f?op=GETFILESTATUS"),
            curl("//d///f/?op=GETFILESTATUS"),
            curl("//none///?op=GETFILESTATUS"),
            curl("/d/f?op=SETACL&aclspec=user::rw-,user:bob:r--,group::r--,other::---", "--request", "PUT"),
            curl("/d/f?op=GETACLSTATUS"),
            curl("/d/f?op=NOSUCHTHING"),
            curl("/d/f?op=DELETE", "--request", "DELETE"),
            curl("/d/f?op=DELETE", "--request", "DELETE"),
            curl("/d/f?op=GETFILESTATUS&offset=x"),
        ]

    same_outcome(story)
