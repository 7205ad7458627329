#!/bin/sh
# Installs the named Debian packages, as root, without starting the services that some of them bring.
# usage: install.sh PACKAGE...
set -eu

policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    # 101: "action forbidden by policy"; Debian's maintainer scripts ask before they start anything.
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' INT TERM HUP
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
apt-get -q -o DPkg::Lock::Timeout=300 update
apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold install --no-install-recommends "$@"
