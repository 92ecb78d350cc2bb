#!/bin/sh
# dpkg gives "configure" and, where there was one before, its version; rpm how many versions are installed now.
set -e
case "$1:$2" in
    configure: | 1:) first=yes ;;
    configure:* | [2-9]*) first=no ;;
    *) exit 0 ;;
esac
systemd-sysusers nncache.conf
if [ "$first" = yes ]; then
    chgrp nncache /etc/nncache/nncache.toml
    chmod 640 /etc/nncache/nncache.toml
fi
/usr/lib/nncache/bin/python -m compileall -q /usr/lib/nncache/lib
# No daemon is enabled or started: it needs settings first. One that runs gets the new code; if it does not start with
# it, as with wrong settings, the package is installed all the same.
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    if [ "$first" = no ]; then
        systemctl try-restart nncache-proxy nncache-publisher nncache-dns ||
            echo "nncache: not every daemon has started again: journalctl -u 'nncache-*' says why" >&2
    fi
fi
