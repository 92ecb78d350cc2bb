"""WebHDFS clients from PyPI that nobody here wrote."""

from collections.abc import Callable

import fsspec
import hdfs
import pywebhdfs.errors
import pywebhdfs.webhdfs

from tests.clients.conftest import Compare

USER = "alice"
DATA = bytes(range(256)) * 40


def said(what: str, act: Callable[[], object]) -> str:
    """One step: what it returned or how it failed."""
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
            said("status before", lambda: client.status(path, strict=False)),
            said("write", lambda: client.write(path, DATA)),
            said("status", lambda: client.status(path)),
            said("read", read),
            said("write again", lambda: client.write(path, DATA)),
            said("overwrite", lambda: client.write(path, DATA[:100], overwrite=True)),
            said("status after", lambda: client.status(path)),
            said("append", lambda: client.write(path, b"more", append=True)),
            said("read after", read),
            said("list", lambda: client.list(f"{root}/d", status=True)),
            said("checksum", lambda: client.checksum(path)),
            said("content", lambda: client.content(root)),
            said("permission", lambda: client.set_permission(path, "600")),
            said("acl", lambda: client.set_acl(path, "user:bob:r--", clear=False)),
            said("acl status", lambda: client.acl_status(path)),
            said("status with acl", lambda: client.status(path)),
            said("rename", lambda: client.rename(path, other)),
            said("status of the old name", lambda: client.status(path)),
            said("status of the new name", lambda: client.status(other)),
            said("rename what is not there", lambda: client.rename(path, other)),
            said("owner, refused", lambda: client.set_owner(other, owner="bob")),
            said("delete", lambda: client.delete(other)),
            said("delete again", lambda: client.delete(other)),
            said("status at last", lambda: client.status(other, strict=False)),
            said("list a missing one", lambda: client.list(f"{root}/none")),
        ]

    same_outcome(story)


def test_pywebhdfs(same_outcome: Compare) -> None:
    """PyPI's `pywebhdfs`: write, append, read, list, rename, checksum, errors."""

    def story(address: str, root: str) -> list[str]:
        host, _, port = address.rpartition(":")
        client = pywebhdfs.webhdfs.PyWebHdfsClient(host=host, port=port, user_name=USER)
        path, other = f"{root}/d/f", f"{root}/d/g"
        return [
            said("status before", lambda: client.get_file_dir_status(path)),
            said("make_dir", lambda: client.make_dir(f"{root}/d", permission=755)),
            said("create", lambda: client.create_file(path, DATA)),
            said("status", lambda: client.get_file_dir_status(path)),
            said("create again", lambda: client.create_file(path, DATA)),
            said("append", lambda: client.append_file(path, b"more")),
            said("status after", lambda: client.get_file_dir_status(path)),
            said("read", lambda: client.read_file(path)),
            said("read a part", lambda: client.read_file(path, offset=5, length=7)),
            said("list", lambda: client.list_dir(f"{root}/d")),
            said("checksum", lambda: client.get_file_checksum(path)),
            said("summary", lambda: client.get_content_summary(root)),
            said("rename", lambda: client.rename_file_dir(path, other)),
            said("exists", lambda: client.exists_file_dir(path)),
            said("exists", lambda: client.exists_file_dir(other)),
            said("delete a full directory", lambda: client.delete_file_dir(f"{root}/d")),
            said("delete all", lambda: client.delete_file_dir(f"{root}/d", recursive=True)),
            said("status at last", lambda: client.get_file_dir_status(other)),
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
            said("exists before", lambda: fs.exists(path)),
            said("mkdirs", lambda: fs.makedirs(f"{root}/d")),
            said("pipe", lambda: fs.pipe_file(path, DATA)),
            said("info", lambda: fs.info(path)),
            said("cat", lambda: fs.cat_file(path)),
            said("cat a part", lambda: fs.cat_file(path, start=3, end=9)),
            said("ls", lambda: fs.ls(f"{root}/d", detail=True)),
            said("checksum", lambda: fs.ukey(path)),
            said("chmod", lambda: fs.chmod(path, "600")),
            said("info after", lambda: fs.info(path)),
            said("mv", lambda: fs.mv(path, other)),
            said("info of the old name", lambda: fs.info(path)),
            said("info of the new name", lambda: fs.info(other)),
            said("glob", lambda: fs.glob(f"{root}/d/*")),
            said("rm", lambda: fs.rm(f"{root}/d", recursive=True)),
            said("exists at last", lambda: fs.exists(other)),
            said("cat a missing one", lambda: fs.cat_file(other)),
        ]

    same_outcome(story)
