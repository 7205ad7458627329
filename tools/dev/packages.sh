# shellcheck shell=sh
# Debian packages: what each verb of ./dev needs, and how the missing ones get in.
# Only what is missing is installed, and nothing that is installed is started.

here=${here:?set by ./dev}
known_versions='8.2 8.4'

known_php() {
    case " $known_versions " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# The PHP version of this Debian release.
machine_php() {
    # shellcheck source=/dev/null
    case $(. /etc/os-release && echo "$ID-${VERSION_ID:-}") in
        debian-12) echo 8.2 ;;
        debian-13) echo 8.4 ;;
        *) fail 'this is neither Debian 12 nor Debian 13: ./dev cannot install what it needs here' ;;
    esac
}

# The theme that the WordPress of this release begins with.
wordpress_theme() {
    case $(machine_php) in
        8.2) echo wordpress-theme-twentytwentythree ;;
        *) echo wordpress-theme-twentytwentyfive ;;
    esac
}

# The extensions below come with php-cli of the same version, so plain `php` is there to compare with.
packages_of() {
    v=$(machine_php)
    case $1 in
        build) echo "gcc libc6-dev pkg-config libphp$v-embed php$v-dev" ;;
        serve) echo "php$v-opcache php$v-sqlite3 php$v-mysql php$v-pgsql php$v-curl" ;;
        test)
            echo "php$v-cli php$v-opcache php$v-sqlite3 php$v-mysql php$v-pgsql php$v-redis php$v-curl"
            echo "php$v-mbstring php$v-xml php$v-apcu php$v-igbinary phpunit php-nyholm-psr7 php-psr-http-factory php-psr-log"
            echo 'php-doctrine-dbal php-illuminate-database php-illuminate-http php-symfony-http-kernel php-symfony-http-foundation'
            echo 'php-laravel-framework php-symfony-framework-bundle php-symfony-cache-contracts php-illuminate-cache php-illuminate-config php-symfony-mime php-symfony-runtime php-symfony-dotenv php-symfony-yaml'
            echo 'php-guzzlehttp-guzzle php-slim composer'
            echo 'php-psr-cache php-psr-simple-cache php-cache-integration-tests mariadb-server-core mariadb-client-core postgresql redis-server nginx-light haproxy caddy'
            echo "apache2 libapache2-mod-php$v php$v-fpm chromium chromium-driver"
            echo "php$v-gd wordpress $(wordpress_theme) phpmyadmin dokuwiki adminer"
            [ "$v" = 8.2 ] || echo valkey-server
            # For `xtask gen`: what PHP 8.2's generator of arginfo headers needs (PHPUnit brings it too), and bindgen of that release.
            [ "$v" != 8.2 ] || echo php-parser bindgen libclang1-14
            echo 'apache2-utils wrk procps util-linux openssl openssh-client openssh-server libsnappy1v5 shellcheck logrotate'
            ;;
        bench)
            echo "mariadb-server-core mariadb-client-core postgresql nginx-light wrk apache2-utils curl procps php$v-cli php$v-mysql php$v-pgsql"
            echo "apache2 libapache2-mod-php$v php$v-fpm php$v-apcu php$v-opcache php-illuminate-database util-linux"
            ;;
        deb) echo 'dpkg-dev binutils' ;;
        memcheck) echo 'valgrind' ;;
        phpsrc) echo "dpkg-dev xz-utils php$v-cgi" ;;
        tree) echo 'debootstrap debian-archive-keyring' ;;
        extensions) extension_packages && echo 'php-cli procps' && echo "$servers_of_extensions" ;;
        *) fail "no package group called $1: there are build, serve, test, bench, deb, memcheck, phpsrc and extensions" 2 ;;
    esac
}

# What the probes of extensions talk to.
servers_of_extensions='mariadb-server-core mariadb-client-core postgresql redis-server memcached rabbitmq-server openssh-server snmpd libsqliteodbc'

# Every package that has an extension for the PHP of this release. Left out:
#   cgi cli dev fpm phpdbg uwsgi-plugin-php   no extensions, but PHP as a program
#   xdebug                                    it watches and replaces what the engine does for all code of the process
#   uopz                                      it takes exit() away from all code of the process
#   gmagick yac                               Debian installs them in place of imagick and apcu, not beside them
extension_packages() {
    v=$(machine_php)
    [ -n "$(apt-cache pkgnames "php$v-common")" ] || as_root apt-get -q update >&2
    api=$(apt-cache show "libphp$v-embed" | sed -n 's/^Provides:.*\(phpapi-[0-9]*\).*/\1/p' | head -n 1)
    {
        apt-cache pkgnames "php$v-"
        apt-cache showpkg "${api:?}" | sed -n '/^Reverse Depends/,/^Dependencies/s/^  \([^,]*\),.*/\1/p'
    } | sort -u | grep -vxE "php$v-(cgi|cli|dev|fpm|phpdbg|xdebug|uopz|gmagick|yac)|uwsgi-plugin-php"
}

# Packages that are unpacked beside the machine's own, because installing them would change every PHP of the machine:
# Debian's Xdebug switches itself on, and the others are there for single tests.
private_packages_of() {
    case $1 in
        test) v=$(machine_php) && echo "php$v-xdebug php$v-bz2 php$v-ds php$v-gmp php$v-ldap php$v-memcache php$v-mongodb php$v-msgpack php$v-oauth php$v-pcov php$v-soap php$v-ssh2 php-symfony-debug-bundle" ;;
    esac
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        fail "root is needed for: $* (run it as root, or install sudo)"
    fi
}

packages_missing() {
    wanted=$(for group in "$@"; do packages_of "$group"; done)
    # shellcheck disable=SC2086 # package names: words without blanks
    have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p')
    for package in $wanted; do
        printf '%s\n' "$have" | grep -qxF -- "$package" || echo "$package"
    done | sort -u
}

# package_unpack PACKAGE: where tools/testkit looks for it.
package_unpack() {
    place=${XDG_CACHE_HOME:-$HOME/.cache}/hearth/packages/$1
    [ ! -e "$place" ] || return 0
    echo "./dev: unpacking $1 in $place" >&2
    mkdir -p "${place%/*}"
    fresh=$(mktemp -d "$place.XXXXXX")
    # Nothing is installed, so apt's own user need not be able to write there.
    if (cd "$fresh" && apt-get -q -o APT::Sandbox::User="$(id -un)" download "$1" && dpkg-deb -x ./*.deb . && rm ./*.deb) >&2; then
        mv -T "$fresh" "$place"
    else
        rm -rf "$fresh"
        return 1
    fi
}

# packages_install GROUP...
packages_install() {
    packages_installed "$@"
    for package in $(for group in "$@"; do private_packages_of "$group"; done); do
        package_unpack "$package" && continue
        as_root apt-get -q update >&2
        package_unpack "$package" || fail "apt-get could not fetch $package; see its message"
    done
}

packages_installed() {
    missing=$(packages_missing "$@")
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086
    echo "./dev: installing" $missing >&2
    # shellcheck disable=SC2086
    as_root sh "$here/tools/dev/install.sh" $missing >&2 ||
        fail 'apt-get could not install the packages above; see its message'
}
