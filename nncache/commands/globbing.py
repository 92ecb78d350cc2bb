"""A command that takes a glob: a shell that expands it is found out."""

import click

from nncache.commands.options import GroupedHelp

HINT = (
    "a shell expands a glob that is not quoted into the files that it finds here: quote it, as in "
    "--glob '/user/*/_SUCCESS'"
)


class GlobCommand(GroupedHelp):
    """Says what to do where a glob has become several arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments as click does."""
        has_glob = any(each.partition("=")[0] == "--glob" for each in args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if has_glob and not isinstance(error, click.NoSuchOption | click.BadParameter):
                raise click.UsageError(f"{error.message.rstrip('.')}: {HINT}.", ctx) from error
            raise
