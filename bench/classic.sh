# shellcheck shell=sh
# Servers of sites, for bench/tail and bench/preload: each serves one document root, $site, at a port of its own.

here=${here:?set by its caller}
place=${place:?set by its caller}
target=${target:?set by bench/lib.sh}

free_port() {
    # shellcheck disable=SC2016 # PHP code
    php -r '$s = stream_socket_server("tcp://127.0.0.1:0"); echo substr(strrchr(stream_socket_get_name($s, false), ":"), 1);'
}

# The web servers run as www-data when this is root: they must be able to read what is served.
as_web() {
    if [ "$(id -u)" = 0 ]; then
        exec setpriv --reuid=www-data --regid=www-data --clear-groups -- "$@"
    fi
    exec "$@"
}

until_answer() {
    tries=0
    until curl_ok "$port"; do
        tries=$((tries + 1))
        if [ "$tries" -gt 100 ] || ! kill -0 "$1" 2>/dev/null; then
            die "$(cat "${out:?}" "$own/log" 2>/dev/null)"
        fi
        sleep 0.1
    done
}

# launch_site SERVER SITE WORKERS: leaves $port, and in $pid all process ids whose CPU counts.
launch_site() {
    own=$place/$1-$(basename "$2")
    mkdir -p "$own"
    chmod 777 "$own"
    case $1 in
        hearth | hearth-direct)
            dispatch=balanced
            [ "$1" = hearth ] || dispatch=direct
            start "$1-$(basename "$2")" "$target/release/hearth" serve "$2" --listen 127.0.0.1:0 --workers "$3" --dispatch "$dispatch" --control "$own/control"
            await "$out" 'listening on http' "$pid"
            port=$(sed -n 's|.*listening on http://127.0.0.1:\([0-9]*\).*|\1|p' "$out" | head -n 1)
            ;;
        apache)
            port=$(free_port)
            apache_configuration "$2" >"$own/conf"
            start "$1-$(basename "$2")" as_web /usr/sbin/apache2 -D FOREGROUND -f "$own/conf"
            until_answer "$pid"
            ;;
        fpm)
            port=$(free_port)
            fpm_configuration "$3" >"$own/fpm.conf"
            start "fpm-$(basename "$2")" as_web "$(find /usr/sbin -name 'php-fpm8*' | sort | tail -n 1)" --nodaemonize --force-stderr --fpm-config "$own/fpm.conf"
            await "$out" 'ready to handle connections' "$pid"
            fpm=$pid
            nginx_configuration "$2" >"$own/nginx.conf"
            start "nginx-$(basename "$2")" /usr/sbin/nginx -c "$own/nginx.conf" -p "$own"
            until_answer "$pid"
            pid="$pid $fpm"
            ;;
        *) die "no server called $1: there are hearth, hearth-direct, apache and fpm" 2 ;;
    esac
}

# Debian's own settings, but for the limit of requests per connection (100), which would favour the others.
apache_configuration() {
    cat <<TEXT
ServerRoot $own
ServerName localhost
Listen 127.0.0.1:$port
PidFile $own/pid
Mutex file:$own
DefaultRuntimeDir $own
ErrorLog $own/log
Include /etc/apache2/mods-available/mpm_prefork.load
Include /etc/apache2/mods-available/mpm_prefork.conf
Include /etc/apache2/mods-available/authz_core.load
Include /etc/apache2/mods-available/dir.load
Include /etc/apache2/mods-available/mime.load
Include /etc/apache2/mods-available/mime.conf
Include /etc/apache2/mods-available/php8.*.load
Include /etc/apache2/mods-available/php8.*.conf
KeepAlive On
KeepAliveTimeout 5
MaxKeepAliveRequests 0
DirectoryIndex index.php
DocumentRoot $1
FallbackResource /index.php
<Directory $1>
Options FollowSymLinks
AllowOverride None
Require all granted
</Directory>
TEXT
}

fpm_configuration() {
    cat <<TEXT
[global]
daemonize = no
error_log = $own/log
[www]
listen = $own/fpm.sock
listen.mode = 0666
listen.backlog = 4096
pm = static
pm.max_children = $1
TEXT
}

nginx_configuration() {
    cat <<TEXT
daemon off; worker_processes auto; pid $own/pid; error_log $own/nginx.log;
events { worker_connections 16384; }
http {
    access_log off; keepalive_requests 1000000000; client_body_temp_path $own/body; fastcgi_temp_path $own/fastcgi;
    server {
        listen 127.0.0.1:$port backlog=4096; root $1; index index.php;
        location / { try_files \$uri \$uri/ /index.php?\$args; }
        location ~ \.php$ {
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME \$document_root\$fastcgi_script_name;
            fastcgi_param HTTP_HOST \$http_host;
            fastcgi_pass unix:$own/fpm.sock;
        }
    }
}
TEXT
}

# One directory per run: the small scripts and their classes.
make_site() {
    site=$place/site
    mkdir -p "$site"
    cp "$here"/apps/classic/*.php "$site"
    make_classes "$site/classes"
    chmod -R a+rX "$place"
}
