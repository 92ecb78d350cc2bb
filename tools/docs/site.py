"""A hook of MkDocs: the site has pages that are made while it is built (`make site`)."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tools.docs.made import OF_THE_SITE


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add them to those of docs/."""
    for name, page in OF_THE_SITE.items():
        files.append(File.generated(config, name, content=page()))
    return files
