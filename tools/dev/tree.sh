# shellcheck shell=sh
# The other Debian release, as a tree to chroot into: how one machine builds and tests for both PHP versions.
# The tree is made once, outside the checkout, by debootstrap; the checkout and Rust are bind-mounted into it.

here=${here:?set by ./dev}

tree_codename() {
    case $1 in
        8.2) echo bookworm ;;
        8.4) echo trixie ;;
    esac
}

# Where this machine gets Debian from: the mirror that its own apt is set to. $1: Debian or Debian-Security.
apt_source() {
    # shellcheck disable=SC2016 # apt fills these in
    apt-get indextargets --format '$(LABEL)|$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        sed -n "s/^$1|//p" | head -n 1
}

tree_make() {
    packages_install tree
    mirror=$(apt_source Debian)
    if [ -z "$mirror" ]; then
        as_root apt-get -q update >&2 # labels are known only once the lists are there
        mirror=$(apt_source Debian)
    fi
    [ -n "$mirror" ] || fail 'apt on this machine names no Debian mirror: cannot make a Debian tree'
    echo "./dev: making a Debian tree in $root (once; some minutes)" >&2
    as_root rm -rf "$root"
    mkdir -p "$(dirname "$root")"
    as_root debootstrap --variant=minbase --include=ca-certificates "$codename" "$root" "$mirror" >&2 ||
        fail "debootstrap failed; its log is $root/debootstrap/debootstrap.log"
    security=$(apt_source Debian-Security)
    {
        echo "deb $mirror $codename main"
        [ -z "$security" ] || echo "deb $security $codename-security main"
    } | as_root tee "$root/etc/apt/sources.list" >/dev/null
    # Proxy and date checks as on this machine.
    apt-config dump | grep -E '^Acquire::(https?|Check)' | as_root tee "$root/etc/apt/apt.conf.d/50machine" >/dev/null || true
    as_root touch "$root/.ready"
}

# tree_run VERSION EXTENSIONS VERB ARG...: ./dev VERB inside the tree of that PHP version. EXTENSIONS is `all`, for the tree that
# has every extension of the release, or empty.
tree_run() {
    codename=$(tree_codename "$1")
    root=${XDG_CACHE_HOME:-$HOME/.cache}/hearth/$codename${2:+-extensions}
    target=$here/target-php$1
    extensions=$2
    shift 2
    [ -e "$root/.ready" ] || tree_make
    cargo fetch -q ${CI:+--locked}
    mkdir -p "$target"
    # Mounts and processes end with their name spaces.
    as_root env EXTENSIONS="$extensions" unshare --mount --pid --fork --kill-child \
        sh "$here/tools/dev/enter.sh" "$root" "$here" "$target" "$(rustc --print sysroot)" "${CARGO_HOME:-$HOME/.cargo}" "$@"
}
