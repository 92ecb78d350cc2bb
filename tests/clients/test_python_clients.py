"""Independent WebHDFS clients from PyPI."""

from collections.abc import Callable

import fsspec
import hdfs
import pywebhdfs.errors
import pywebhdfs.webhdfs

from tests.clients.conftest import Compare

USER = "alice"
DATA = bytes(range(256)) * 40


def outcome_of(what: str, act: Callable[[], object]) -> str:
    """Return a step's result or error as one line."""
    try:
        result = act()
    except (hdfs.HdfsError, pywebhdfs.errors.PyWebHdfsException, OSError) as error:
        return f"{what}: {type(error).__name__}: {error}"
    return f"{what}: {result!r}"


def test_hdfs(same_outcome: Compare) -> None:
    """PyPI's `hdfs`: write, read, list, rename, ACL, checksum, errors."""

    def story(address: str, root: str) -> list[str]:
        client = hdfs.InsecureClient(f"http://{address}", user=USER)
        path, other = f"{root}/d/f", f"{root}/d/g"

        def read() -> bytes:
            with client.read(path) as reader:
                return bytes(reader.read())

        return [
            outcome_of("status before", lambda: client.status(path, strict=False)),
            outcome_of("write", lambda: client.write(path, DATA)),
            outcome_of("status", lambda: client.status(path)),
            outcome_of("read", read),
            outcome_of("write again", lambda: client.write(path, DATA)),
            outcome_of("overwrite", lambda: client.write(path, DATA[:100], overwrite=True)),
            outcome_of("status after", lambda: client.status(path)),
            outcome_of("append", lambda: client.write(path, b"more", append=True)),
            outcome_of("read after", read),
            outcome_of("list", lambda: client.list(f"{root}/d", status=True)),
            outcome_of("checksum", lambda: client.checksum(path)),
            outcome_of("content", lambda: client.content(root)),
            outcome_of("permission", lambda: client.set_permission(path, "600")),
            outcome_of("acl", lambda: client.set_acl(path, "user:bob:r--", clear=False)),
            outcome_of("acl status", lambda: client.acl_status(path)),
            outcome_of("status with acl", lambda: client.status(path)),
            outcome_of("rename", lambda: client.rename(path, other)),
            outcome_of("status of the old name", lambda: client.status(path)),
            outcome_of("status of the new name", lambda: client.status(other)),
            outcome_of("rename what is not there", lambda: client.rename(path, other)),
            outcome_of("owner, refused", lambda: client.set_owner(other, owner="bob")),
            outcome_of("delete", lambda: client.delete(other)),
            outcome_of("delete again", lambda: client.delete(other)),
            outcome_of("status at last", lambda: client.status(other, strict=False)),
            outcome_of("list a missing one", lambda: client.list(f"{root}/none")),
        ]

    same_outcome(story)


def test_pywebhdfs(same_outcome: Compare) -> None:
    """PyPI's `pywebhdfs`: write, append, read, list, rename, checksum, errors."""

    def story(address: str, root: str) -> list[str]:
        host, _, port = address.rpartition(":")
        client = pywebhdfs.webhdfs.PyWebHdfsClient(host=host, port=port, user_name=USER)
        path, other = f"{root}/d/f", f"{root}/d/g"
        return [
            outcome_of("status before", lambda: client.get_file_dir_status(path)),
            outcome_of("make_dir", lambda: client.make_dir(f"{root}/d", permission=755)),
            outcome_of("create", lambda: client.create_file(path, DATA)),
            outcome_of("status", lambda: client.get_file_dir_status(path)),
            outcome_of("create again", lambda: client.create_file(path, DATA)),
            outcome_of("append", lambda: client.append_file(path, b"more")),
            outcome_of("status after", lambda: client.get_file_dir_status(path)),
            outcome_of("read", lambda: client.read_file(path)),
            outcome_of("read a part", lambda: client.read_file(path, offset=5, length=7)),
            outcome_of("list", lambda: client.list_dir(f"{root}/d")),
            outcome_of("checksum", lambda: client.get_file_checksum(path)),
            outcome_of("summary", lambda: client.get_content_summary(root)),
            outcome_of("rename", lambda: client.rename_file_dir(path, other)),
            outcome_of("exists", lambda: client.exists_file_dir(path)),
            outcome_of("exists", lambda: client.exists_file_dir(other)),
            outcome_of("delete a full directory", lambda: client.delete_file_dir(f"{root}/d")),
            outcome_of("delete all", lambda: client.delete_file_dir(f"{root}/d", recursive=True)),
            outcome_of("status at last", lambda: client.get_file_dir_status(other)),
        ]

    same_outcome(story)


def test_fsspec(same_outcome: Compare) -> None:
    """Fsspec's `webhdfs`: write, read, list, rename, checksum, errors."""

    def story(address: str, root: str) -> list[str]:
        host, _, port = address.rpartition(":")
        fs = fsspec.filesystem(
            "webhdfs",
            host=host,
            port=int(port),
            user=USER,
            skip_instance_cache=True,
            use_listings_cache=False,
        )
        path, other = f"{root}/d/f", f"{root}/d/g"
        return [
            outcome_of("exists before", lambda: fs.exists(path)),
            outcome_of("mkdirs", lambda: fs.makedirs(f"{root}/d")),
            outcome_of("pipe", lambda: fs.pipe_file(path, DATA)),
            outcome_of("info", lambda: fs.info(path)),
            outcome_of("cat", lambda: fs.cat_file(path)),
            outcome_of("cat a part", lambda: fs.cat_file(path, start=3, end=9)),
            outcome_of("ls", lambda: fs.ls(f"{root}/d", detail=True)),
            outcome_of("checksum", lambda: fs.ukey(path)),
            outcome_of("chmod", lambda: fs.chmod(path, "600")),
            outcome_of("info after", lambda: fs.info(path)),
            outcome_of("mv", lambda: fs.mv(path, other)),
            outcome_of("info of the old name", lambda: fs.info(path)),
            outcome_of("info of the new name", lambda: fs.info(other)),
            outcome_of("glob", lambda: fs.glob(f"{root}/d/*")),
            outcome_of("rm", lambda: fs.rm(f"{root}/d", recursive=True)),
            outcome_of("exists at last", lambda: fs.exists(other)),
            outcome_of("cat a missing one", lambda: fs.cat_file(other)),
        ]

    same_outcome(story)
