"""Exceptions with which a NameNode answers.

HTTP statuses as in org.apache.hadoop.hdfs.web.resources.ExceptionHandler (Hadoop 3.5.0).
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Java(Enum):
    """An exception class of the NameNode, by its full name."""

    ACCESS_CONTROL = "org.apache.hadoop.security.AccessControlException"
    ACL = "org.apache.hadoop.hdfs.protocol.AclException"
    ALREADY_BEING_CREATED = "org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException"
    AUTHORIZATION = "org.apache.hadoop.security.authorize.AuthorizationException"
    DS_QUOTA_EXCEEDED = "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException"
    EOF = "java.io.EOFException"
    FILE_ALREADY_EXISTS = "org.apache.hadoop.fs.FileAlreadyExistsException"
    FILE_NOT_FOUND = "java.io.FileNotFoundException"
    HADOOP_ILLEGAL_ARGUMENT = "org.apache.hadoop.HadoopIllegalArgumentException"
    ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
    INVALID_PATH = "org.apache.hadoop.fs.InvalidPathException"
    IO = "java.io.IOException"
    LEASE_EXPIRED = "org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException"
    NOT_REPLICATED_YET = "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"
    NS_QUOTA_EXCEEDED = "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException"
    PARENT_NOT_DIRECTORY = "org.apache.hadoop.fs.ParentNotDirectoryException"
    PATH_COMPONENT_TOO_LONG = "org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException"
    PATH_IS_NOT_DIRECTORY = "org.apache.hadoop.fs.PathIsNotDirectoryException"
    PATH_IS_NOT_EMPTY_DIRECTORY = "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"
    RECOVERY_IN_PROGRESS = "org.apache.hadoop.hdfs.protocol.RecoveryInProgressException"
    REMOTE = "org.apache.hadoop.ipc.RemoteException"
    RETRIABLE = "org.apache.hadoop.ipc.RetriableException"
    SAFE_MODE = "org.apache.hadoop.hdfs.server.namenode.SafeModeException"
    SECURITY = "java.lang.SecurityException"
    SNAPSHOT = "org.apache.hadoop.hdfs.protocol.SnapshotException"
    STANDBY = "org.apache.hadoop.ipc.StandbyException"
    UNSUPPORTED_ACTION = "org.apache.hadoop.hdfs.server.namenode.UnsupportedActionException"
    UNSUPPORTED_OPERATION = "java.lang.UnsupportedOperationException"
    XATTR_NOT_FOUND = "org.apache.hadoop.hdfs.protocol.XAttrNotFoundException"


_STATUSES: Final = {
    Java.FILE_NOT_FOUND: 404,
    Java.HADOOP_ILLEGAL_ARGUMENT: 400,
    Java.ILLEGAL_ARGUMENT: 400,
    Java.INVALID_PATH: 400,
    Java.UNSUPPORTED_OPERATION: 400,
}


@dataclass(eq=False)  # not frozen: a context manager sets its traceback
class Refusal(Exception):  # noqa: N818 - an answer, not an error of this process
    """An exception that is the NameNode's answer. Raised, nothing was changed. `message` None: Java's null."""

    java: Java
    message: str | None

    def __str__(self) -> str:
        return f"{self.java.value}: {self.message}"

    @property
    def status(self) -> int:
        """The HTTP status; 403 for a class without one of its own."""
        return _STATUSES.get(self.java, 403)


def not_found(message: str) -> Refusal:
    """Return a FileNotFoundException."""
    return Refusal(Java.FILE_NOT_FOUND, message)


def io_error(message: str) -> Refusal:
    """Return a plain IOException."""
    return Refusal(Java.IO, message)


def denied(message: str) -> Refusal:
    """Return an AccessControlException."""
    return Refusal(Java.ACCESS_CONTROL, message)
