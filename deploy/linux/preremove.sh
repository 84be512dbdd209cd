#!/bin/sh
# Before the files go: dpkg calls this with "remove" or "upgrade", rpm with the number of
# versions that stay. During an upgrade the server runs on, and is restarted afterwards.
set -e
case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac
[ -d /run/systemd/system ] || exit 0
systemctl disable --now writ.service
