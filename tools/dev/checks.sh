# shellcheck shell=sh
# The checks of `./dev test`: each runs to its end, its result is counted, and the last line says how many held.

passed=0
failed=0
# Only when they are named. phpsrc and state fetch PHP's source and take long; phpquick and statequick are the parts that do not.
# asan and memcheck build the programs again; chaos takes hours, sweep three minutes; package installs a Debian tree; miri needs the nightly toolchain.
more_checks='phpsrc phpquick state statequick chaos sweep asan memcheck miri package'
all_checks='format lint arrows generated rust phpt phpunit'

target_dir() {
    echo "${CARGO_TARGET_DIR:-$here/target}"
}

# count PASSED FAILED
count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

# one NAME COMMAND...: a check that either holds or does not.
one() {
    name=$1
    shift
    printf '\n== %s\n' "$name"
    if "$@"; then
        count 1 0
    else
        printf '%s: failed: %s\n' "$name" "$*" >&2
        count 0 1
    fi
}

# libtest NAME COMMAND...: adds up the closing lines of cargo's test binaries.
libtest() {
    name=$1
    shift
    printf '\n== %s\n' "$name"
    log=$(mktemp)
    { "$@" 2>&1 && echo 'exit 0'; } | tee "$log" | grep --line-buffered -v '^exit 0$'
    sums=$(awk '/^test result: /{for(i=1;i<NF;i++){if($(i+1)=="passed;")p+=$i;if($(i+1)=="failed;")f+=$i}}END{print p+0,f+0}' "$log")
    # shellcheck disable=SC2086 # two numbers
    count $sums
    # A binary that did not compile, or died, closes with no line: still a failure.
    if ! grep -q '^exit 0$' "$log" && [ "${sums#* }" -eq 0 ]; then
        printf '%s: failed: %s\n' "$name" "$*" >&2
        count 0 1
    fi
    rm -f "$log"
}

# phpunit_under NAME COMMAND...: the PHP library's tests; NAME is what php/tests/skips calls it.
phpunit_under() {
    under=$1
    shift
    printf '\n== phpunit, under %s\n' "$under"
    log=$(mktemp)
    ended=0
    "$@" "$(command -v phpunit)" --configuration php/phpunit.xml.dist --log-junit "$log" || ended=$?
    sums=$(sed -n '/<testsuite /{s/.* tests="\([0-9]*\)".* errors="\([0-9]*\)".* failures="\([0-9]*\)" skipped="\([0-9]*\)".*/\1 \2 \3 \4/p;q}' "$log" |
        awk '{print $1-$2-$3-$4, $2+$3}')
    # shellcheck disable=SC2086
    count ${sums:-0 0}
    if [ "$ended" -ne 0 ] && [ "${sums#* }" = 0 ] || [ -z "$sums" ]; then
        echo "phpunit, under $under: failed without a failed test: see above" >&2
        count 0 1
    fi
    phpunit_skips "$under" "$log"
    rm -f "$log"
}

# phpunit_skips NAME JUNIT-LOG: names what was skipped; what php/tests/skips does not list has failed.
phpunit_skips() {
    skipped=$(sed -n '/<testcase /{s/.* name="\([^" ]*\).* class="[^"]*\\\([^"\\]*\)".*/\2::\1/;h};/<skipped/{x;p;x}' "$2" | sort -u)
    for test in $skipped; do
        if grep -qxE "$1 +$test" php/tests/skips; then
            echo "skipped, as listed: $test"
        else
            echo "phpunit, under $1: skipped, but not listed in php/tests/skips: $test" >&2
            count 0 1
        fi
    done
}

check_phpunit() {
    phpunit_under php php
    phpunit_under hearth "$(target_dir)/release/hearth" run
}

check() {
    case $1 in
        format) one format cargo fmt --all --check ;;
        lint)
            one lint cargo clippy ${CI:+--locked} --workspace --all-targets -- -D warnings
            one shell sh -c 'shellcheck -x dev .ci/run bench/run bench/cache/run bench/files bench/tail bench/upload bench/preload/run bench/load/* bench/apps/pool/experiment bench/lib.sh bench/classic.sh tests/php-src/run tests/php-src/services.sh tests/php-src/source.sh tests/state/run tests/state/services.sh tests/package/run tests/package/enter tests/package/inside packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm tools/dev/*.sh'
            ;;
        arrows) one arrows cargo run -q -p xtask -- check-arrows ;;
        generated) one generated cargo run -q -p xtask -- gen --check ;;
        rust)
            libtest rust cargo test ${CI:+--locked} --workspace --no-fail-fast
            libtest 'rust, the relay in many orders' cargo test ${CI:+--locked} -p relay --features model interleavings
            libtest 'rust, the cache in many orders' cargo test ${CI:+--locked} -p cache --features model --lib interleavings
            # What is ignored because it needs root; without it these are reported as ignored.
            if [ "$(id -u)" = 0 ]; then
                libtest 'rust, as root' cargo test ${CI:+--locked} -p it -- --ignored hooks::
            fi
            ;;
        *::*) libtest "$1" cargo test ${CI:+--locked} -p it -- "$1" ;;
        phpt) libtest phpt cargo run -q -p testkit --bin phpt -- tests/phpt ;;
        phpunit) check_phpunit ;;
        asan) check_asan ;;
        miri) libtest miri env MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR="$(target_dir)/miri" cargo +nightly miri test -p relay --lib -- no_wake_up ;;
        memcheck) check_memcheck ;;
        phpsrc)
            packages_install phpsrc
            # shellcheck disable=SC2086 # a list of words
            one phpsrc tests/php-src/run ${AREAS:-}
            ;;
        chaos) one chaos env CHAOS_SEEDS="${CHAOS_SEEDS:-100}" CHAOS_REQUESTS="${CHAOS_REQUESTS:-10000}" cargo test -p it --test chaos -- --nocapture ;;
        sweep) one sweep env SWEEP_EVERY="${SWEEP_EVERY:-1}" cargo test -p it --test sweep -- --nocapture ;;
        package)
            packages_install deb tree
            one package tests/package/run "$(target_dir)/release"
            ;;
        phpquick)
            packages_install phpsrc
            one phpquick tests/php-src/run --quick
            ;;
        state)
            packages_install phpsrc
            # shellcheck disable=SC2086 # a list of words
            libtest state tests/state/run ${AREAS:-}
            ;;
        statequick) libtest statequick tests/state/run --probes ;;
    esac
}

# compile_tests_beside CHECK...: in the background. Much of the programs' build is the work of one processor (their optimisation as a
# whole). What does not compile is told by the check itself.
compile_tests_beside() {
    case " $* " in
        *' rust '*) cargo test ${CI:+--locked} --workspace --no-run >/dev/null 2>&1 & ;;
    esac
}

# run_checks [CHECK...]; a word with :: is part of the name of black-box tests, and these are the check.
run_checks() {
    # shellcheck disable=SC2086 # a list of words
    [ $# -gt 0 ] || set -- $all_checks
    # `--asan` is what other projects call it.
    [ "$*" != --asan ] || set -- asan
    for name in "$@"; do
        case $name in *::*) continue ;; esac
        case " $all_checks $more_checks " in *" $name "*) ;; *) fail "no check called $name: there are $all_checks $more_checks, and black-box tests by a part of their name with ::" 2 ;; esac
    done
    # A tree that has all extensions has them instead of those that the tests name.
    if [ "${EXTENSIONS:-}" = all ]; then
        packages_install build extensions
    else
        packages_install build serve test
    fi
    compile_tests_beside "$@"
    if ! build; then
        wait
        printf '0 passed, 1 failed\n'
        exit 1
    fi
    wait
    for step in "$@"; do
        check "$step"
    done
    printf '\n%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
