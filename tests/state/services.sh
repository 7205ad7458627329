# shellcheck shell=sh
# shellcheck disable=SC2154 # $out is the directory of the script that sources this, $services tests/php-src/services.sh's
# Servers of our own for the probes of extensions, each where its program is; a probe finds its address in the environment.
# Uses free_port and until_it of tests/php-src/services.sh.

started() {
    service=$1
    services="$services $service"
}

start_redis() {
    command -v redis-server >/dev/null 2>&1 || return 0
    REDIS_PORT=$(free_port)
    redis-server --port "$REDIS_PORT" --bind 127.0.0.1 --save '' --dir "$out" >"$out/redis.service" 2>&1 &
    started $!
    export REDIS_PORT
    until_it redis-cli -p "$REDIS_PORT" ping
}

start_memcached() {
    command -v memcached >/dev/null 2>&1 || return 0
    MEMCACHED_PORT=$(free_port)
    memcached -u nobody -l 127.0.0.1 -p "$MEMCACHED_PORT" >"$out/memcached.service" 2>&1 &
    started $!
    export MEMCACHED_PORT
    until_it php -r 'exit((int) !@fsockopen("127.0.0.1", (int) getenv("MEMCACHED_PORT")));'
}

start_snmpd() {
    [ -x /usr/sbin/snmpd ] || return 0
    SNMP_PORT=$(free_port)
    echo 'rocommunity probe 127.0.0.1' >"$out/snmpd.conf"
    /usr/sbin/snmpd -f -Lo -C -c "$out/snmpd.conf" -p "$out/snmpd.pid" "udp:127.0.0.1:$SNMP_PORT" >"$out/snmpd.service" 2>&1 &
    started $!
    export SNMP_PORT
    until_it grep -q 'NET-SNMP version' "$out/snmpd.service"
}

# It logs its own account in by a key.
start_sshd() {
    [ -x /usr/sbin/sshd ] || return 0
    SSH_PORT=$(free_port) SSH_FOLDER=$out/ssh
    mkdir -p "$SSH_FOLDER" /run/sshd
    ssh-keygen -q -t rsa -m PEM -N '' -f "$SSH_FOLDER/key"
    ssh-keygen -q -t rsa -N '' -f "$SSH_FOLDER/host"
    cp "$SSH_FOLDER/key.pub" "$SSH_FOLDER/authorized"
    /usr/sbin/sshd -D -e -f /dev/null -p "$SSH_PORT" -o ListenAddress=127.0.0.1 -h "$SSH_FOLDER/host" -o StrictModes=no -o PermitRootLogin=yes \
        -o PubkeyAcceptedAlgorithms=+ssh-rsa -o HostKeyAlgorithms=+ssh-rsa -o Subsystem='sftp internal-sftp' -o PidFile=none \
        -o AuthorizedKeysFile="$SSH_FOLDER/authorized" >"$out/sshd.service" 2>&1 &
    started $!
    export SSH_PORT SSH_FOLDER
    until_it grep -q 'listening' "$out/sshd.service"
}

start_rabbitmq() {
    [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || return 0
    AMQP_PORT=$(free_port)
    mkdir -p "$out/rabbitmq"
    RABBITMQ_NODENAME="probe$AMQP_PORT@localhost" RABBITMQ_NODE_PORT=$AMQP_PORT RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_DIST_PORT=$(free_port) \
        RABBITMQ_MNESIA_BASE=$out/rabbitmq RABBITMQ_LOG_BASE=$out/rabbitmq RABBITMQ_ENABLED_PLUGINS_FILE=$out/rabbitmq/plugins HOME=$out/rabbitmq \
        RABBITMQ_PID_FILE=$out/rabbitmq/pid ERL_EPMD_PORT=$(free_port) /usr/lib/rabbitmq/bin/rabbitmq-server >"$out/rabbitmq.service" 2>&1 &
    started $!
    export AMQP_PORT
    until_it php -r 'exit((int) !@fsockopen("127.0.0.1", (int) getenv("AMQP_PORT")));'
}
