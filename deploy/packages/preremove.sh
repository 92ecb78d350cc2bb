#!/bin/sh
# dpkg gives what is done; rpm how many versions remain (at an upgrade the new one is there already: nothing to do).
set -e
case "$1" in
    remove | 0)
        if [ -d /run/systemd/system ]; then
            systemctl --quiet --now disable nncache-proxy nncache-publisher nncache-dns nncache-reaper.timer ||
                echo "nncache: not every daemon has stopped in order: journalctl -u 'nncache-*' says why" >&2
        fi
        ;;
    upgrade | deconfigure) ;;
    *) exit 0 ;;
esac
find /usr/lib/nncache -name __pycache__ -type d -prune -exec rm -rf {} +
