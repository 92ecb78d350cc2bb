"""What runs for as long as its `with` block lasts."""

from abc import ABC, abstractmethod
from typing import Self


class Running(ABC):
    """Starts with its `with` block and ends with it, also when the start fails."""

    @abstractmethod
    def start(self) -> object:
        """Start it and wait until it serves."""

    @abstractmethod
    def close(self) -> None:
        """End it and remove what is its own. May be called again."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
