# shellcheck shell=sh
# Starting, measuring and ending servers, for the commands of this folder.

here=${here:?set by its caller}
place=${place:?set by its caller}
seconds=${seconds:?set by its caller}
# What is asked for, and how long wrk waits for an answer.
path=''
patience=2s
target=${CARGO_TARGET_DIR:-$here/../target}
started=''

die() {
    printf 'bench: %s\n' "$1" >&2
    exit "${2:-1}"
}

# Ends what this run started, by its process ids.
end_all() {
    trap - EXIT
    for pid in $started; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in $started; do
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$place"
}

# await FILE PATTERN PID: until the file has such a line; dies when the process does first.
await() {
    tries=0
    until grep -q "$2" "$1" 2>/dev/null; do
        tries=$((tries + 1))
        if [ "$tries" -gt 600 ] || ! kill -0 "$3" 2>/dev/null; then
            die "$(cat "$1")"
        fi
        sleep 0.1
    done
}

# start NAME COMMAND...: in the background, output to $place/NAME.out; its pid in $pid.
start() {
    out=$place/$1.out
    shift
    "$@" >"$out" 2>&1 &
    pid=$!
    started="$started $pid"
}

# launch SERVER APP WORKERS: leaves $port and $pid.
launch() {
    case $1 in
        hearth)
            start "$1-$2" "$target/release/hearth" serve "$here/apps/$2.php" --listen 127.0.0.1:0 --workers "$3" --control "$place/$1-$2.sock"
            await "$out" 'listening on http' "$pid"
            port=$(sed -n 's|.*listening on http://127.0.0.1:\([0-9]*\).*|\1|p' "$out" | head -n 1)
            ;;
        epoll)
            [ -x "$place/epoll" ] || cc -O2 -o "$place/epoll" "$here/epoll.c"
            start "$1-$2" "$place/epoll"
            await "$out" '^[0-9]' "$pid"
            port=$(head -n 1 "$out")
            ;;
        nginx)
            port=$((20000 + $$ % 10000))
            cat >"$place/nginx.conf" <<TEXT
daemon off; worker_processes $3; pid $place/nginx.pid; error_log $place/nginx.log;
events { worker_connections 16384; }
http { access_log off; keepalive_requests 1000000000; server { listen 127.0.0.1:$port; location / { return 200 ok; } } }
TEXT
            start "$1-$2" /usr/sbin/nginx -c "$place/nginx.conf" -p "$place"
            until curl_ok "$port"; do sleep 0.1; done
            ;;
        swoole | swoole-process)
            [ -n "${SWOOLE_SO:-}" ] || die 'to measure Swoole, set SWOOLE_SO to its extension file' 2
            start "$1-$2" php -d opcache.enable_cli=1 -d "extension=$SWOOLE_SO" "$here/peers/swoole.php" "$2" "$3" "${1#swoole-}"
            await "$out" '^[0-9]' "$pid"
            port=$(head -n 1 "$out")
            ;;
        *) die "no server called $1: there are hearth, epoll, nginx, swoole and swoole-process" 2 ;;
    esac
}

curl_ok() {
    # shellcheck disable=SC2016 # PHP code
    php -r 'exit(@file_get_contents("http://127.0.0.1:$argv[1]/") === false ? 1 : 0);' "$1"
}

# expect PORT PATTERN: dies unless the server's answer is 200 and matches. A wrong answer would be measured all the same.
expect() {
    # shellcheck disable=SC2016 # PHP code
    php -d default_socket_timeout=5 -r '$body = (string) @file_get_contents("http://127.0.0.1:$argv[1]/$argv[3]");
        $is = $http_response_header[0] ?? "nothing";
        preg_match($argv[2], $body) || fwrite(STDERR, "bench: port $argv[1] answers $is $body, not $argv[2]\n") && exit(1);' "$1" "$2" "$path"
}

# What the figures were taken on.
machine() {
    printf '%s, %s processors, Linux %s, PHP %s, %s, load %s, %s\n' \
        "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)" \
        "$(php -r 'echo PHP_VERSION;')" "$("$target/release/hearth" --version | head -n 1)" "$(cut -d' ' -f1 /proc/loadavg)" "$(date -u '+%F %R UTC')"
}

# A private MariaDB with a table of 10,000 rows; leaves DSN in the environment.
launch_database() {
    [ -z "${DSN:-}" ] || return 0
    # A server that starts removes other servers' temporary tables from the directory for them.
    mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db --user="$(id -un)" \
        --datadir="$place/data" --tmpdir="$place" >"$place/install.log" 2>&1 || die "$(cat "$place/install.log")"
    cat >"$place/init.sql" <<'SQL'
CREATE DATABASE bench;
CREATE USER hearth@'%' IDENTIFIED BY 'hearth';
GRANT ALL ON bench.* TO hearth@'%';
CREATE TABLE bench.items (id INT PRIMARY KEY, name VARCHAR(60) NOT NULL, price DECIMAL(10,2) NOT NULL);
SET SESSION max_recursive_iterations = 20000;
INSERT INTO bench.items WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT i, CONCAT('Item number ', i), i / 100 FROM n;
SQL
    start mariadb mariadbd --no-defaults --user="$(id -un)" --datadir="$place/data" --tmpdir="$place" --socket="$place/mariadb.sock" \
        --skip-networking --max-connections=1000 --innodb-flush-log-at-trx-commit=0 --init-file="$place/init.sql"
    await "$out" 'ready for connections' "$pid"
    DSN="mysql:unix_socket=$place/mariadb.sock;dbname=bench"
    export DSN
}

# The processes below $1 and itself.
tree() {
    echo "$1"
    for child in $(pgrep -P "$1"); do
        tree "$child"
    done
}

# Clock ticks of CPU that the processes and all below them have used, those that ended included.
cpu() {
    for root in $1; do tree "$root"; done | while read -r member; do
        sed 's/.*) //' "/proc/$member/stat" 2>/dev/null || true
    done | awk '{t += $12 + $13 + $14 + $15} END {print t + 0}'
}

# measure PORT PIDS, with $connections set: prints "CPU-MICROSECONDS-PER-REQUEST REQUESTS-PER-SECOND P99-MILLISECONDS ERRORS".
measure() {
    url=http://127.0.0.1:$1/$path
    wrk -t1 -c"${connections:?}" -d1s --timeout "$patience" "$url" >/dev/null
    before=$(cpu "$2")
    wrk -t1 -c"${connections:?}" -d"${seconds}s" --timeout "$patience" --latency "$url" >"$place/wrk.out"
    after=$(cpu "$2")
    # shellcheck disable=SC2086 # process ids
    kill -0 $2 2>/dev/null || die "the server on port $1 ended while it was measured"
    awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" '
        function ms(t) { return t ~ /us$/ ? t / 1000 : t ~ /ms$/ ? t + 0 : t * 1000 }
        / requests in /{n = $1} /Requests\/sec/{rps = $2} $1 == "99%"{p99 = ms($2)}
        /Non-2xx/{bad += $NF} /Socket errors/{gsub(",", ""); bad += $4 + $6 + $8 + $10}
        END {printf "%.2f %.0f %.2f %d\n", n ? ticks / hz * 1e6 / n : 0, rps, p99, bad}' "$place/wrk.out"
}

# column N FILE: "MEDIAN LOWEST HIGHEST" of a column of numbers.
column() {
    awk -v n="$1" '{print $n}' "$2" | sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR]}'
}

# make_classes DIRECTORY: C001.php to C100.php, ten methods each.
make_classes() {
    mkdir -p "$1"
    awk -v place="$1" 'BEGIN {
        for (i = 1; i <= 100; i++) {
            file = sprintf("%s/C%03d.php", place, i)
            printf "<?php\n\nfinal class C%03d\n{\n    public function __construct(private int $number)\n    {\n    }\n\n", i > file
            for (m = 1; m <= 10; m++) printf "    public function method%d(int $a): int\n    {\n        return $a * $this->number + %d;\n    }\n\n", m, m > file
            print "}" > file
            close(file)
        }
    }'
}
