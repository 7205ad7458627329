#!/bin/sh
# Makes a Debian package of programs that are built, with Debian's own tools (dpkg-shlibdeps, dpkg-deb): there is nothing
# for debhelper to do once cargo has built, and cargo-deb would have to be built first, in each Debian tree.
# usage: deb.sh PROGRAMS DIRECTORY    prints the path of the package
set -eu

programs=$1 out=$2
here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
parts=$here/packaging/deb
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "${VERSION_ID:?}")
php=$("$programs/hearth-php" --version | sed -n 's/.*built for PHP \([0-9.]*\).*/\1/p')
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/Cargo.toml" | head -n 1)-1~deb$release
arch=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

put() { # put MODE FILE PLACE
    install -D -m "$1" "$2" "$root/$3"
}

put 755 "$programs/hearth" usr/bin/hearth
put 755 "$programs/hearth-php" usr/bin/hearth-php
strip --strip-debug --remove-section=.comment "$root/usr/bin/hearth" "$root/usr/bin/hearth-php"
for unit in hearth.service hearth@.service; do
    put 644 "$parts/$unit" "usr/lib/systemd/system/$unit"
done
put 644 "$parts/hearth.toml" etc/hearth/hearth.toml
put 644 "$parts/logrotate" etc/logrotate.d/hearth
doc=usr/share/doc/hearth
put 644 "$parts/copyright" "$doc/copyright"
put 644 "$here/CHANGELOG.md" "$doc/changelog"
gzip -9n "$root/$doc/changelog"
put 644 "$here/README.md" "$doc/README.md"
for page in "$here"/docs/guide/*.md "$here"/docs/reference/options.md; do
    put 644 "$page" "$doc/${page##*/}"
done
mkdir -p "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
    "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
"$programs/hearth" man "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*.1
"$programs/hearth" completions bash >"$root/usr/share/bash-completion/completions/hearth"
"$programs/hearth" completions zsh >"$root/usr/share/zsh/vendor-completions/_hearth"
"$programs/hearth" completions fish >"$root/usr/share/fish/vendor_completions.d/hearth.fish"

# What the programs are linked with. libphp has no shlibs of its own: it is named below.
mkdir "$work/debian"
printf 'Source: hearth\n\nPackage: hearth\nArchitecture: any\n' >"$work/debian/control"
libraries=$(cd "$work" && dpkg-shlibdeps --ignore-missing-info -O root/usr/bin/hearth root/usr/bin/hearth-php 2>/dev/null |
    sed -n 's/^shlibs:Depends=//p' | tr ',' '\n' | sed 's/^ *//' | grep -v '^libphp' | paste -sd, | sed 's/,/, /g')

# Updates of one series add functions that its headers use at once (8.2.36: smart_str_ferealloc).
built_with=$(dpkg-query -W -f '${source:Upstream-Version}' "libphp$php-embed")

mkdir -p "$root/DEBIAN"
for script in postinst prerm postrm; do
    install -m 755 "$parts/$script" "$root/DEBIAN/$script"
done
printf '/etc/%s\n' hearth/hearth.toml logrotate.d/hearth >"$root/DEBIAN/conffiles"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
cat >"$root/DEBIAN/control" <<TEXT
Package: hearth
Version: $version
Architecture: $arch
Maintainer: The Hearth developers <hearth@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: $libraries, libphp$php-embed (>= $built_with)
Recommends: php$php-opcache
Suggests: logrotate, php$php-mysql, php$php-pgsql, php$php-sqlite3, php$php-curl, php$php-mbstring, php$php-xml
Section: httpd
Priority: optional
Description: application server for PHP
 Hearth keeps a PHP application warm in memory and runs ordinary blocking code of many
 requests at the same time, or serves any PHP site as nginx with php-fpm does. It runs
 Debian's own PHP $php with its extensions.
TEXT
mkdir -p "$out"
package=$out/hearth_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
