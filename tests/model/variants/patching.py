"""Import the product with one module of it broken.

The file on the disk stays as it is, and no compiled one is read or written, so nobody else sees the breakage. It is in
force for the rest of the process: each variant runs in a process of its own.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType

from tests.model.variants.variant import PACKAGE, Variant


class _BrokenLoader(SourceFileLoader):
    """Loads the one module from its source, broken."""

    def __init__(self, variant: Variant) -> None:
        super().__init__(variant.dotted, str(PACKAGE / variant.module))
        self._variant = variant

    def get_code(self, fullname: str) -> CodeType:
        """Compile the broken source; what was compiled before is not looked at."""
        return compile_broken(self._variant)


class _Finder(MetaPathFinder):
    """Finds the one module before everybody else."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where to load the module from, None for any other."""
        if fullname != self._variant.dotted:
            return None
        return spec_from_file_location(
            fullname, PACKAGE / self._variant.module, loader=_BrokenLoader(self._variant)
        )


def compile_broken(variant: Variant) -> CodeType:
    """Return the code of the broken module.

    Raises:
        StaleVariantError: the source is no longer what the variant breaks.
        SyntaxError: broken, it is no Python.
    """
    path = PACKAGE / variant.module
    source = variant.applied_to(path.read_text(encoding="utf-8"))
    return compile(source, str(path), "exec", dont_inherit=True)


def install(variant: Variant) -> None:
    """Have the variant's module imported broken from here on; the product must not be imported yet."""
    assert variant.dotted not in sys.modules, f"{variant.dotted} was imported whole already"
    compile_broken(variant)  # a stale variant is told at once
    sys.meta_path.insert(0, _Finder(variant))
