"""A hook of MkDocs that adds generated pages to the site during its build (`make site`)."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tools.docs.made import OF_THE_SITE


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to those of docs/."""
    for name, page in OF_THE_SITE.items():
        files.append(File.generated(config, name, content=page()))
    return files
