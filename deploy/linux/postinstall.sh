#!/bin/sh
# After the files are there: dpkg calls this with "configure" and the earlier version,
# rpm with the number of versions that are installed.
set -e

first=no
case "$1" in
configure) [ -n "${2:-}" ] || first=yes ;;
1) first=yes ;;
2) ;;
*) exit 0 ;;
esac

getent group writ >/dev/null || groupadd --system writ
getent passwd writ >/dev/null ||
    useradd --system --gid writ --home-dir /var/lib/writ --no-create-home --shell /usr/sbin/nologin writ

[ -d /var/lib/writ ] || install -d -o writ -g writ -m 0700 /var/lib/writ

# The settings may hold secrets. Of the folder also when it is upgraded: rpm makes it its own again.
chown root:writ /etc/writ
chmod 0750 /etc/writ
if [ "$first" = yes ]; then
    chown root:writ /etc/writ/writ.env
    chmod 0640 /etc/writ/writ.env
fi

# A new key would not open a database that is there, here or elsewhere, and must not hide that its key is missing.
if [ "$first" = yes ] && [ ! -e /etc/writ/master.key ] && [ ! -e /var/lib/writ/writ.db ] &&
    ! grep -q '^DATABASE_URL' /etc/writ/writ.env; then
    (umask 077 && head -c 32 /dev/urandom | base64 >/etc/writ/master.key.new)
    chown root:writ /etc/writ/master.key.new
    chmod 0640 /etc/writ/master.key.new
    mv /etc/writ/master.key.new /etc/writ/master.key
fi

[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if [ "$1" = configure ] && [ "$first" = yes ]; then
    # As Debian does. It listens on this machine only, until its settings say more.
    systemctl enable --now writ.service ||
        echo "writ: the server did not start; journalctl -u writ says why" >&2
elif [ "$first" = no ]; then
    systemctl try-restart writ.service ||
        echo "writ: the server did not start again; journalctl -u writ says why" >&2
fi
