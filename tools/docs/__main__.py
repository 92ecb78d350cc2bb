"""Write the generated pages that are in git: `make docs`."""

from pathlib import Path

from tools.docs import KEPT

if __name__ == "__main__":
    for name, text in KEPT.items():
        Path("docs", name).write_text(text, encoding="utf-8")
