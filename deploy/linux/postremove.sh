#!/bin/sh
# After the files are gone. Data, settings and the master key stay, until dpkg is told to
# purge the package; rpm never removes them.
set -e
if [ "$1" = purge ]; then
    rm -rf /var/lib/writ /etc/writ
    if getent passwd writ >/dev/null; then userdel writ; fi
    if getent group writ >/dev/null; then groupdel writ; fi
fi
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
