#!/bin/sh
# dpkg's purge; rpm keeps logs and, as nncache.toml.rpmsave, settings that were changed.
set -e
if [ "$1" = purge ]; then
    rm -rf /var/log/nncache
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
