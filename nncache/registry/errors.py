"""What can go wrong with an operation of the registry.

Named after the exceptions of Hadoop's registry (org.apache.hadoop.registry.client.exceptions and org.apache.hadoop.fs,
Hadoop 3.5.0). Each knows the path that it is about, below the registry's root.
"""

from typing import ClassVar


class RegistryError(Exception):
    """Root of this room's errors. `str()` is one line: path, what is wrong, what is allowed."""

    java_class: ClassVar[str] = "org.apache.hadoop.registry.client.exceptions.RegistryIOException"
    """The exception that Hadoop's own client raises in its place."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what


class InvalidPathnameError(RegistryError):
    """The path is none of the registry; names the element and the rule."""

    java_class = "org.apache.hadoop.registry.client.exceptions.InvalidPathnameException"


class PathNotFoundError(RegistryError):
    """The entry, or the parent of one to be made, is not there."""

    java_class = "org.apache.hadoop.fs.PathNotFoundException"


class FileAlreadyExistsError(RegistryError):
    """The entry to be made is there already, and it was not asked to overwrite it."""

    java_class = "org.apache.hadoop.fs.FileAlreadyExistsException"


class PathIsNotEmptyDirectoryError(RegistryError):
    """The entry to be deleted has entries below it, and it was not asked to delete those."""

    java_class = "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"


class NoRecordError(RegistryError):
    """The entry holds no service record: no data, or data without the marker of one."""

    java_class = "org.apache.hadoop.registry.client.exceptions.NoRecordException"


class InvalidRecordError(RegistryError):
    """It is no valid service record; names the field, its value and what is allowed."""

    java_class = "org.apache.hadoop.registry.client.exceptions.InvalidRecordException"


class NoPathPermissionsError(RegistryError):
    """ZooKeeper's ACL refuses it to this client."""

    java_class = "org.apache.hadoop.registry.client.exceptions.NoPathPermissionsException"


class NoChildrenForEphemeralsError(RegistryError):
    """An entry above is an ephemeral znode of another client, which can have no entries below it."""

    java_class = "org.apache.hadoop.registry.client.exceptions.NoChildrenForEphemeralsException"


class RecordChangedError(RegistryError):
    """Another client has written the entry since the version that was to be replaced; nothing was changed."""


class RegistryIOError(RegistryError):
    """ZooKeeper did not answer. Of a write it is not known whether it was carried out."""


class TooMuchDataError(RegistryError):
    """There is more below the path than may be read at a time."""


class ResourceManagerError(RegistryError):
    """YARN cannot say what has ended. It is about URLs instead of a path; nothing was deleted."""
