# shellcheck shell=sh
# The checks of `./dev test` that look for wrong uses of memory. Each has a build of its own, beside the release build.

# AddressSanitizer knows nothing of libphp's stacks. USE_ZEND_ALLOC=0 makes the engine's allocations visible, and the memory
# limit void: tests that count on one are left out.
asan_options='verify_asan_link_order=0:detect_leaks=0:detect_stack_use_after_return=0:alloc_dealloc_mismatch=0'
asan_tests='apcu:: cache:: concurrency:: faults:: isolation:: redis_tier:: request_end:: sessions:: superglobals:: pool_hangups:: two_tasks::'
asan_without='copies_are_bounded memory full_heap a_worker_that_a_fatal_error_broke recurs large small orphans as_under_php_fpm a_fatal_error_ends_its_child a_fatal_error_in_a_shutdown_function'

# Libraries that PHP loads compare strings by words, and so does code that PCRE compiles, which is switched off; PHP's heap has its
# own marks of what is defined. So only addresses count.
memcheck_options='--quiet --undef-value-errors=no --trace-children=yes --num-callers=30 --max-stackframe=4000000'
memcheck_phpt='engine fiber process stream'
memcheck_phpunit='Channel|Locks|PoolBorrow|PoolFaults|PoolUpkeep|Tasks'

# memory_build NAME: the programs for that check.
memory_build() {
    PHP_SYS_CHECK=$1 CARGO_TARGET_DIR=$(target_dir)/$1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        cargo build --release ${CI:+--locked} --bin hearth --bin hearth-php
}

# memory_findings NAME DIRECTORY: whether the reports in it are empty of what counts.
memory_findings() {
    if grep -lE 'ERROR: AddressSanitizer|Invalid (read|write|free)|Mismatched free|Jump to the invalid|overlap in|bad address|terminating with default action of signal (4|6|7|8|11) ' "$2"/* >/dev/null 2>&1; then
        cat "$2"/*
        return 1
    fi
}

check_asan() {
    one 'asan, build' memory_build asan || return 0
    reports=$(mktemp -d)
    chmod 777 "$reports"
    skips=''
    for name in $asan_without; do skips="$skips --skip $name"; done
    # shellcheck disable=SC2086 # lists of words
    libtest 'asan, black box' env PHP_SYS_CHECK=asan CARGO_TARGET_DIR="$(target_dir)/asan" USE_ZEND_ALLOC=0 \
        ASAN_OPTIONS="$asan_options:log_path=$reports/report" cargo test ${CI:+--locked} -p it -- $asan_tests $skips
    one 'asan, findings' memory_findings asan "$reports"
    rm -rf "$reports"
}

# memcheck_run REPORTS NAME COMMAND...: a script of `hearth run`; what it prints is another check's.
memcheck_run() {
    report=$1/$2
    shift 2
    # shellcheck disable=SC2086 # a list of words
    USE_ZEND_ALLOC=0 timeout 300 valgrind $memcheck_options --trace-children-skip='*/php[0-9]*,*/bash,*/sh,*/dash' \
        --log-file="$report.%p" "$(target_dir)/memcheck/release/hearth" run -d pcre.jit=0 "$@" >"$report.out" 2>&1 </dev/null
    if [ $? -eq 124 ]; then
        echo "memcheck: $report took too long" >&2
        return 1
    fi
}

memcheck_phpt() {
    code=$(mktemp "$(dirname "$2")/memcheck.XXXXXX")
    sed '1,/^--FILE--/d;/^--EXPECT/,$d' "$2" >"$code"
    memcheck_run "$1" "$(basename "$2")" "$code"
    ended=$?
    rm -f "$code"
    return $ended
}

# Every script's reports in one directory.
memcheck_all() {
    for area in $memcheck_phpt; do
        for test in tests/phpt/"$area"/*.phpt; do
            memcheck_phpt "$1" "$test" || return 1
        done
    done
    memcheck_run "$1" phpunit "$(command -v phpunit)" --configuration php/phpunit.xml.dist --testsuite unit \
        --filter "$memcheck_phpunit"
}

# A server, with requests to random handlers at once. Where memory is wrong, few requests show it.
memcheck_chaos() {
    USE_ZEND_ALLOC=0 CARGO_TARGET_DIR="$(target_dir)/memcheck" CHAOS_SEED="${CHAOS_SEED:-201}" CHAOS_SEEDS="${CHAOS_SEEDS:-5}" \
        CHAOS_REQUESTS="${CHAOS_REQUESTS:-600}" \
        CHAOS_UNDER="valgrind $memcheck_options --trace-children-skip=*/bash,*/sh,*/dash --log-file=$1/chaos.%p" \
        cargo test ${CI:+--locked} -p it --test chaos -- --nocapture random_handlers
}

check_memcheck() {
    packages_install memcheck
    one 'memcheck, build' memory_build memcheck
    reports=$(mktemp -d)
    one 'memcheck, run' memcheck_all "$reports"
    one 'memcheck, chaos' memcheck_chaos "$reports"
    rm -f "$reports"/*.out
    one 'memcheck, findings' memory_findings memcheck "$reports"
    rm -rf "$reports"
}
