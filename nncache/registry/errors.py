"""Errors of the registry's operations.

The names are those of Hadoop's exceptions (org.apache.hadoop.registry.client.exceptions and org.apache.hadoop.fs,
Hadoop 3.5.0). Each error carries the path that it is about, below the registry's root.
"""

from typing import ClassVar


class RegistryError(Exception):
    """Root of this room's errors. `str()` is one line: the path, what is wrong, what is allowed."""

    java_class: ClassVar[str] = "org.apache.hadoop.registry.client.exceptions.RegistryIOException"
    """The exception that Hadoop's own client raises in the same case."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what


class InvalidPathnameError(RegistryError):
    """The path is not valid in the registry; the message names the element and the rule."""

    java_class = "org.apache.hadoop.registry.client.exceptions.InvalidPathnameException"


class PathNotFoundError(RegistryError):
    """The entry, or the parent of a new entry, does not exist."""

    java_class = "org.apache.hadoop.fs.PathNotFoundException"


class FileAlreadyExistsError(RegistryError):
    """The entry to be created exists already, and the caller did not ask to overwrite it."""

    java_class = "org.apache.hadoop.fs.FileAlreadyExistsException"


class PathIsNotEmptyDirectoryError(RegistryError):
    """The entry to be deleted has entries below it, and the caller did not ask to delete them."""

    java_class = "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"


class NoRecordError(RegistryError):
    """The entry holds no service record: it has no data, or its data lack the marker of a record."""

    java_class = "org.apache.hadoop.registry.client.exceptions.NoRecordException"


class InvalidRecordError(RegistryError):
    """The record is invalid; the message names the field, its value and what is allowed."""

    java_class = "org.apache.hadoop.registry.client.exceptions.InvalidRecordException"


class NoPathPermissionsError(RegistryError):
    """ZooKeeper's ACL refuses the operation to this client."""

    java_class = "org.apache.hadoop.registry.client.exceptions.NoPathPermissionsException"


class NoChildrenForEphemeralsError(RegistryError):
    """An ancestor is another client's ephemeral znode, which cannot have children."""

    java_class = "org.apache.hadoop.registry.client.exceptions.NoChildrenForEphemeralsException"


class RecordChangedError(RegistryError):
    """Another client has written the entry since the version to be replaced; nothing was changed."""


class RegistryIOError(RegistryError):
    """ZooKeeper did not answer. Whether a write was carried out is unknown."""


class TooMuchDataError(RegistryError):
    """More data are below the path than may be read at a time."""


class ResourceManagerError(RegistryError):
    """YARN cannot tell what has ended. `path` holds URLs; nothing was deleted."""
