"""The error that every frozen settings class raises for an invalid value."""


class SettingError(ValueError):
    """One setting is wrong; the message is one line that names the key, the value and what is allowed."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(f"{key}: {value}: {allowed}")
        self.key = key
        self.value = value
        self.allowed = allowed
