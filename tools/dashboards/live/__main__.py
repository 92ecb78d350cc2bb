"""`python -m nncache.deploy.live`."""

from nncache.deploy.live.command import live

live()
