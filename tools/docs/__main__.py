"""Write the generated pages that are in git: `make docs`."""

from pathlib import Path

from tools.docs.made import KEPT

if __name__ == "__main__":
    for name, page in KEPT.items():
        Path("docs", name).write_text(page(), encoding="utf-8")
