"""What a broken variant is.

Imports nothing of the product: a variant must be in force before the product is imported.
"""

from dataclasses import dataclass
from pathlib import Path

from tests.model.guarantee import Guarantee

PACKAGE = Path(__file__).resolve().parents[3] / "nncache"
"""The product."""


class StaleVariantError(Exception):
    """The source is no longer what the variant breaks: read its rule again, and find where it is kept now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One rule of the design, and one line by which the product keeps it no longer.

    Attributes:
        name: short, for people and command lines.
        guarantee: what is no longer kept; the check of this one must notice.
        rule: what the product does, in a sentence.
        module: the file, from the package's root.
        old: text that stands once in it; lines around the one that changes may make it so.
        new: what stands there instead.
        channel: the one on which it can be seen, by its name in the settings; "" leaves it to the history's seed.
        is_federated: it can be seen where there are two namespaces only.
    """

    name: str
    guarantee: Guarantee
    rule: str
    module: str
    old: str
    new: str
    channel: str = ""
    is_federated: bool = False

    @property
    def dotted(self) -> str:
        """The module's name as it is imported."""
        return "nncache." + self.module.removesuffix(".py").replace("/", ".")

    def applied_to(self, source: str) -> str:
        """Return the source with the rule broken.

        Raises:
            StaleVariantError: what it breaks is not there exactly once, or nothing would change.
        """
        found = source.count(self.old)
        if found != 1 or self.old == self.new:
            raise StaleVariantError(f"{self.name}: its text stands {found} times in {self.module}")
        return source.replace(self.old, self.new)

    def lines_changed(self) -> int:
        """Return how many lines of the source it replaces."""
        old, new = self.old.splitlines(), self.new.splitlines()
        while old and new and old[0] == new[0]:
            del old[0], new[0]
        while old and new and old[-1] == new[-1]:
            del old[-1], new[-1]
        return max(len(old), 1)
