#!/bin/sh
# Runs ./dev inside a Debian tree. Called by tools/dev/tree.sh as root in a mount and process name space of its own.
# usage: enter.sh TREE CHECKOUT TARGET_DIR RUST_SYSROOT CARGO_HOME VERB ARG...
set -eu

root=$1 checkout=$2 target=$3 rust=$4 cargo=$5
shift 5

# share DIRECTORY PLACE: the directory of this machine, seen at PLACE in the tree.
share() {
    mkdir -p "$root$2"
    mount --rbind "$1" "$root$2"
}

# A mount point of its own, as a root directory is: tests that make name spaces need it.
mount --bind "$root" "$root"
mkdir -p "$root/proc"
mount -t proc proc "$root/proc"
share /dev /dev
share "$rust" /opt/rust
share "$cargo" /opt/cargo
# rustup's stand-ins for cargo's tools ask for a toolchain of its own; those of the toolchain are in PATH.
[ ! -d "$cargo/bin" ] || mount -t tmpfs none "$root/opt/cargo/bin"
share "$checkout" /src/hearth
share "$target" /src/target
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"

# Variables that say how to build and what to test.
set -- /src/hearth/dev "$@"
for name in CI TERM EXTENSIONS AREAS CHAOS_SEED CHAOS_SEEDS CHAOS_REQUESTS CHAOS_ONLY CHAOS_SHRINK CHAOS_KEEP \
    SWEEP_EVERY SWEEP_CASES SWEEP_ACTIONS SWEEP_NAMES \
    RUST_BACKTRACE CARGO_PROFILE_RELEASE_LTO CARGO_PROFILE_RELEASE_CODEGEN_UNITS; do
    eval "value=\${$name:-}"
    [ -z "$value" ] || set -- "$name=$value" "$@"
done

exec chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 \
    PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CARGO_HOME=/opt/cargo CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=/src/target "$@"
