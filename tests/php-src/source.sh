# shellcheck shell=sh
# PHP's source, as Debian has it for the installed PHP, unpacked once: $version is the release series, $cache where it goes.
version=${version:-} cache=${cache:-}

# area_paths AREA...: where these tests are in the source: a path is itself, `session` is ext/session/tests, `strings` is
# ext/standard/tests/strings.
area_paths() {
    for area in "$@"; do
        paths=$(ls -d "$area" 2>/dev/null || ls -d "ext/$area/tests" "ext/standard/tests/$area" 2>/dev/null) || true
        [ -n "$paths" ] || { echo "PHP's source has no tests called $area" >&2; return 1; }
        echo "$paths"
    done
}

# apt can fetch sources only where they are listed; list them in a place of our own.
fetch_source() {
    back=$PWD
    work=$(mktemp -d)
    mkdir -p "$work/lists/partial"
    # shellcheck disable=SC2016 # apt fills these in
    apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) main' 'Created-By: Packages' | sort -u >"$work/sources.list"
    set -- -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/lists" \
        -o APT::Sandbox::User=root
    cd "$work" || return
    apt-get "$@" update
    # The newest that the mirror really has.
    for one in $(apt-cache "$@" showsrc --only-source "php$version" | sed -n 's/^Version: //p' | sort -rV | uniq); do
        apt-get "$@" --download-only source "php$version=$one" && break
    done
    set -- php*.dsc
    [ -e "$1" ] || { echo "the mirror has no source of php$version; unpack one of that release to $cache" >&2; return 1; }
    dpkg-source --no-check -x php*.dsc php-src
    cd "$back" || return
    mkdir -p "$(dirname "$cache")"
    mv "$work/php-src" "$cache"
    rm -rf "$work"
}
