"""What can go wrong with filters.

Each message is one sentence for the user of the command; what HDFS said about it is part of it.
"""

from nncache.invalidation.errors import InvalidationError


class FilterError(InvalidationError):
    """A filter, or a change of one, makes no sense; nothing was touched."""


class FilterStoreError(InvalidationError):
    """The filters could not be read or changed."""


class FilterExistsError(FilterStoreError):
    """There is a filter of that name; only its removal makes room for another."""


class UnknownFilterError(FilterStoreError):
    """There is no filter of that name."""


class BrokenFilterError(FilterStoreError):
    """What HDFS keeps under that name is no filter."""


class FilterAccessError(FilterStoreError):
    """HDFS refuses this user."""


class FiltersUnavailableError(FilterStoreError):
    """HDFS gave no answer that counts; what is known of the filters stays true as far as anybody can tell."""
