# shellcheck shell=sh
# shellcheck disable=SC2016,SC2154 # PHP's own dollar signs; $out is the directory of the script that sources this
# MariaDB and PostgreSQL of our own, for PHP's tests of its database extensions. Without their programs those tests skip.

free_port() {
    php -r '$s = stream_socket_server("tcp://127.0.0.1:0"); echo substr(strrchr(stream_socket_get_name($s, false), ":"), 1);'
}

# until_it COMMAND...: at most 30 s, while the service that was started last lives.
until_it() {
    for _ in $(seq 300); do
        "$@" >/dev/null 2>&1 && return 0
        kill -0 "$service" 2>/dev/null || break
        sleep 0.1
    done
    echo "a server of the tests did not start; the logs:" >&2
    cat "$out"/*.service >&2
    return 1
}

start_mariadb() {
    command -v mariadbd >/dev/null 2>&1 || return 0
    port=$(free_port)
    # A server that starts removes other servers' temporary tables from the directory for them.
    mariadb-install-db --no-defaults --auth-root-authentication-method=normal --user="$(id -un)" --datadir="$out/mariadb" --tmpdir="$out" >"$out/mariadb.service" 2>&1
    cat >"$out/account.sql" <<'SQL'
CREATE DATABASE IF NOT EXISTS test;
CREATE USER 'hearth'@'%' IDENTIFIED BY 'hearth';
GRANT ALL ON *.* TO 'hearth'@'%' WITH GRANT OPTION;
SQL
    mariadbd --no-defaults --user="$(id -un)" --datadir="$out/mariadb" --tmpdir="$out" --socket="$out/mariadb.sock" --port="$port" --bind-address=127.0.0.1 \
        --skip-name-resolve --local-infile=1 --innodb-flush-log-at-trx-commit=0 --init-file="$out/account.sql" >>"$out/mariadb.service" 2>&1 &
    service=$!
    services="$services $service"
    export MYSQL_TEST_HOST=127.0.0.1 MYSQL_TEST_PORT="$port" MYSQL_TEST_USER=hearth MYSQL_TEST_PASSWD=hearth MYSQL_TEST_DB=test
    export PDO_MYSQL_TEST_DSN="mysql:host=127.0.0.1;port=$port;dbname=test" PDO_MYSQL_TEST_USER=hearth PDO_MYSQL_TEST_PASS=hearth
    export PDO_MYSQL_TEST_HOST=127.0.0.1 PDO_MYSQL_TEST_PORT="$port"
    until_it php -r 'new PDO(getenv("PDO_MYSQL_TEST_DSN"), "hearth", "hearth");'
}

start_postgres() {
    programs=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
    [ -x "$programs/postgres" ] || return 0
    port=$(free_port)
    mkdir "$out/postgres"
    as=''
    if [ "$(id -u)" = 0 ]; then
        # PostgreSQL refuses to run as root.
        chown postgres "$out/postgres"
        chmod 711 "$out"
        as='setpriv --reuid=postgres --regid=postgres --clear-groups --'
    fi
    # shellcheck disable=SC2086 # words
    (cd "$out/postgres" && $as "$programs/initdb" --auth=trust --no-sync --username=postgres --locale=C --encoding=UTF8 -D "$out/postgres/data") \
        >"$out/postgres.service" 2>&1
    # shellcheck disable=SC2086
    (cd "$out/postgres" && exec $as "$programs/postgres" -D "$out/postgres/data" -k "$out/postgres" -p "$port" -c listen_addresses=127.0.0.1 -c fsync=off) \
        >>"$out/postgres.service" 2>&1 &
    service=$!
    services="$services $service"
    export PGSQL_TEST_CONNSTR="host=127.0.0.1 port=$port dbname=test user=postgres"
    export PDO_PGSQL_TEST_DSN="pgsql:host=127.0.0.1 port=$port dbname=test user=postgres"
    until_it php -r "(new PDO('pgsql:host=127.0.0.1 port=$port dbname=postgres user=postgres'))->exec('CREATE DATABASE test');"
}

services=''
stop_services() {
    for service in $services; do
        kill -TERM "$service" 2>/dev/null || true
    done
    for service in $services; do
        wait "$service" 2>/dev/null || true
    done
    services=''
}
