"""Load the class that a setting names: a built-in one, or anybody's."""

import importlib
from collections.abc import Mapping
from typing import TypeVar

from nncache.net.setting_error import SettingError

_T = TypeVar("_T")


def load_class(key: str, name: str, built_in: Mapping[str, str], base: type[_T]) -> type[_T]:
    """Return the class that the setting `key` names, as a key of `built_in` or as `package.module:Class`.

    Raises:
        SettingError: there is no such class, or it is no `base`.
    """
    allowed = f"must be {', '.join(built_in)} or package.module:Class, an {base.__name__}"
    module_name, colon, class_name = built_in.get(name, name).partition(":")
    if not (module_name and colon and class_name):
        raise SettingError(key, name, allowed)
    try:
        loaded = getattr(importlib.import_module(module_name), class_name, None)
    except Exception as exc:  # whatever a foreign module does when it is imported
        raise SettingError(key, name, f"{allowed} ({type(exc).__name__}: {exc})") from exc
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise SettingError(key, name, allowed)
    return loaded
