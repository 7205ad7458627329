//! Each call that blocks under PHP yields here: eight requests of one worker, each waiting the same time in it, take
//! together the time of one. `docs/reference/what-yields.md` is made from these rows.

mod name_server;

use std::path::PathBuf;

use testkit::Server;
use testkit::service::{MariaDb, Nginx, Peer, Postgres, Redis};

use crate::support::{at_once, ok, one_worker, same};

/// How many at once.
const AT_ONCE: usize = 8;
/// What each waits, in seconds, unless the row says otherwise.
const WAIT: f64 = 0.4;

/// One call.
struct Row {
    /// What the table calls it.
    call: &'static str,
    /// On what it waits in the test, for the table.
    on: &'static str,
    /// What it needs beside PHP.
    needs: Needs,
    /// How long one waits, in seconds.
    wait: f64,
    /// The handler's body: returns `ok` after the wait.
    code: &'static str,
}

/// What is started for a row; its address is in the environment.
#[derive(Clone, Copy, PartialEq)]
enum Needs {
    Nothing,
    /// `DSN`, `PORT`
    MariaDb,
    /// `DSN`, `PORT`
    Postgres,
    /// `PORT`
    Redis,
    /// `URL`, `PORT`: answers late
    Peer,
    /// `URL`: the same through TLS
    TlsPeer,
    /// A resolver that answers late
    Resolver,
}

macro_rules! rows {
    ($($(#[$attribute:meta])* $name:ident: $row:expr;)*) => {
        const ROWS: &[(&str, Row)] = &[$((stringify!($name), $row)),*];
        $(
            #[test]
            $(#[$attribute])*
            fn $name() {
                check(stringify!($name));
            }
        )*
    };
}

const fn row(call: &'static str, on: &'static str, needs: Needs, code: &'static str) -> Row {
    Row {
        call,
        on,
        needs,
        wait: WAIT,
        code,
    }
}

rows! {
    pdo_mysql: row("PDO MySQL: connect, query, prepared statements", "`SELECT SLEEP` in MariaDB", Needs::MariaDb,
        r#"$db = new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
        $q = $db->prepare('SELECT SLEEP(0.4), ?'); $q->execute(['ok']); return $q->fetchColumn(1);"#);
    mysqli: row("mysqli", "`SELECT SLEEP` in MariaDB", Needs::MariaDb,
        r#"$db = mysqli_connect('127.0.0.1', 'hearth', 'hearth', 'hearth', (int) getenv('PORT'));
        return $db->query("SELECT SLEEP(0.4), 'ok'")->fetch_row()[1];"#);
    pdo_pgsql: row("PDO PostgreSQL", "`pg_sleep` in PostgreSQL", Needs::Postgres,
        r#"$q = (new PDO(getenv('DSN')))->prepare('SELECT ?::text FROM pg_sleep(0.4)'); $q->execute(['ok']); return $q->fetchColumn();"#);
    pgsql: row("pgsql: `pg_connect`, `pg_query`", "`pg_sleep` in PostgreSQL", Needs::Postgres,
        r#"$db = pg_connect('host=127.0.0.1 user=postgres dbname=postgres port=' . getenv('PORT'), PGSQL_CONNECT_FORCE_NEW);
        return pg_fetch_result(pg_query($db, "SELECT 'ok' FROM pg_sleep(0.4)"), 0, 0);"#);
    phpredis: row("phpredis", "`BLPOP` on an empty list in Redis", Needs::Redis,
        r#"$redis = new Redis(); $redis->connect('127.0.0.1', (int) getenv('PORT'));
        return $redis->rawCommand('BLPOP', 'nothing', '0.4') ? 'popped' : 'ok';"#);
    pdo_sqlite: row("PDO SQLite: waiting for a lock (`PDO::ATTR_TIMEOUT`)", "a database locked by another connection", Needs::Nothing,
        r#"$file = tempnam('.', 'sqlite'); $holder = new PDO("sqlite:$file"); $holder->exec('BEGIN EXCLUSIVE');
        $db = new PDO("sqlite:$file"); $db->exec('PRAGMA busy_timeout = 400');
        try { $db->exec('CREATE TABLE t (a)'); return 'not locked'; } catch (PDOException $e) { return str_contains($e->getMessage(), 'locked') ? 'ok' : $e->getMessage(); }"#);
    curl_easy: row("curl: `curl_exec`", "a late HTTP answer", Needs::Peer,
        r#"$curl = curl_init(getenv('URL')); curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);
        return curl_exec($curl) === "late\n" ? 'ok' : curl_error($curl);"#);
    curl_multi: row("curl: `curl_multi_exec`, `curl_multi_select`", "two late HTTP answers", Needs::Peer,
        r#"$multi = curl_multi_init(); $handles = [];
        foreach ([1, 2] as $n) { $handles[] = $curl = curl_init(getenv('URL')); curl_setopt($curl, CURLOPT_RETURNTRANSFER, true); curl_multi_add_handle($multi, $curl); }
        $turns = 0; do { curl_multi_exec($multi, $running); if ($running) { curl_multi_select($multi); } $turns++; } while ($running && $turns < 1000);
        return implode(array_map('curl_multi_getcontent', $handles)) === "late\nlate\n" ? 'ok' : "$turns turns";"#);
    curl_tls: row("curl over TLS", "a late HTTPS answer", Needs::TlsPeer,
        r#"$curl = curl_init(getenv('URL'));
        curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_SSL_VERIFYPEER => false, CURLOPT_SSL_VERIFYHOST => 0]);
        return curl_exec($curl) === "late\n" ? 'ok' : curl_error($curl);"#);
    http_stream: row("`file_get_contents`, `fopen` on `http://`", "a late HTTP answer", Needs::Peer,
        r#"return file_get_contents(getenv('URL')) === "late\n" ? 'ok' : 'no answer';"#);
    https_stream: row("`file_get_contents`, `fopen` on `https://`", "a late HTTPS answer", Needs::TlsPeer,
        r#"$context = stream_context_create(['ssl' => ['verify_peer' => false, 'verify_peer_name' => false]]);
        return file_get_contents(getenv('URL'), false, $context) === "late\n" ? 'ok' : 'no answer';"#);
    fsockopen: row("`fsockopen`, `fgets`, `fwrite`", "a late answer on a socket", Needs::Peer,
        r#"$s = fsockopen('127.0.0.1', (int) getenv('PORT')); fwrite($s, "GET /400\n"); return str_starts_with(fgets($s), 'HTTP') ? 'ok' : 'no answer';"#);
    stream_socket_client: row("`stream_socket_client`, `fread`, `stream_get_contents`", "a late answer on a socket", Needs::Peer,
        r#"$s = stream_socket_client('tcp://127.0.0.1:' . getenv('PORT')); fwrite($s, "GET /400\n");
        return str_ends_with(stream_get_contents($s), "late\n") ? 'ok' : 'no answer';"#);
    stream_select: row("`stream_select`", "a late answer on a socket", Needs::Peer,
        r#"$s = stream_socket_client('tcp://127.0.0.1:' . getenv('PORT')); fwrite($s, "GET /400\n"); stream_set_blocking($s, false);
        $read = [$s]; $none = null; return stream_select($read, $none, $none, 5) === 1 && $read[0] === $s ? 'ok' : 'nothing';"#);
    stream_select_timeout: row("`stream_select` until its time is over", "a silent socket", Needs::Nothing,
        r#"[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); $read = [$a]; $none = null;
        return stream_select($read, $none, $none, 0, 400000) === 0 ? 'ok' : 'something';"#);
    stream_socket_accept: row("`stream_socket_accept`", "no peer that connects, until its time is over", Needs::Nothing,
        r#"$s = stream_socket_server('tcp://127.0.0.1:0'); return @stream_socket_accept($s, 0.4) === false ? 'ok' : 'a client';"#);
    stream_timeout: row("`stream_set_timeout`", "a silent socket, until its time is over", Needs::Nothing,
        r#"[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); stream_set_timeout($a, 0, 400000);
        return fread($a, 10) === '' || stream_get_meta_data($a)['timed_out'] ? 'ok' : 'something';"#);
    sockets: row("sockets: `socket_connect`, `socket_read`, `socket_recv`", "a late answer on a socket", Needs::Peer,
        r#"$s = socket_create(AF_INET, SOCK_STREAM, SOL_TCP); socket_connect($s, '127.0.0.1', (int) getenv('PORT'));
        socket_write($s, "GET /400\n"); return str_starts_with(socket_read($s, 100), 'HTTP') ? 'ok' : 'no answer';"#);
    socket_select: row("sockets: `socket_select`", "a late answer on a socket", Needs::Peer,
        r#"$s = socket_create(AF_INET, SOCK_STREAM, SOL_TCP); socket_connect($s, '127.0.0.1', (int) getenv('PORT'));
        socket_write($s, "GET /400\n"); $read = [$s]; $none = null; return socket_select($read, $none, $none, 5) === 1 ? 'ok' : 'nothing';"#);
    socket_timeout: row("sockets: `socket_recvfrom` with `SO_RCVTIMEO`", "no peer that sends, until its time is over", Needs::Nothing,
        r#"$s = socket_create(AF_INET, SOCK_DGRAM, SOL_UDP); socket_bind($s, '127.0.0.1', 0);
        socket_set_option($s, SOL_SOCKET, SO_RCVTIMEO, ['sec' => 0, 'usec' => 400000]);
        return @socket_recvfrom($s, $data, 10, 0, $from, $port) === false ? 'ok' : 'something';"#);
    stream_select_file: row("`stream_select` with a regular file in `$except`, until its time is over", "nothing", Needs::Nothing,
        r#"$none = null; $except = [fopen('app.php', 'r')];
        return stream_select($none, $none, $except, 0, 400000) === 0 ? 'ok' : 'not';"#);
    timerfd: row("FFI: `read` of a `timerfd`, an `inotify` descriptor", "time, a file", Needs::Nothing,
        r#"$c = FFI::cdef('int timerfd_create(int, int); int timerfd_settime(int, int, long *, void *); int inotify_init(void);
            int inotify_add_watch(int, const char *, unsigned); long read(int, void *, unsigned long); int close(int);');
        $time = FFI::new('long[4]'); $time[3] = 200000000; $bytes = FFI::new('char[1024]');
        $timer = $c->timerfd_create(1, 0); $c->timerfd_settime($timer, 0, FFI::addr($time[0]), null);
        $read = [$c->read($timer, $bytes, 8)];
        $watch = $c->inotify_init(); $file = tempnam('.', 'watched'); $c->inotify_add_watch($watch, $file, 4);
        $p = proc_open(['sh', '-c', 'sleep 0.2; touch ' . $file], [], $pipes); $read[] = $c->read($watch, $bytes, 1024); proc_close($p);
        array_map([$c, 'close'], [$timer, $watch]);
        return $read === [8, 16] ? 'ok' : json_encode($read);"#);
    sleep: Row { wait: 1.0, ..row("`sleep`", "time", Needs::Nothing, "sleep(1); return 'ok';") };
    usleep: row("`usleep`", "time", Needs::Nothing, "usleep(400000); return 'ok';");
    time_nanosleep: row("`time_nanosleep`", "time", Needs::Nothing, "return time_nanosleep(0, 400000000) === true ? 'ok' : 'interrupted';");
    time_sleep_until: row("`time_sleep_until`", "time", Needs::Nothing, "return time_sleep_until(microtime(true) + 0.4) ? 'ok' : 'not';");
    proc_open: row("`proc_open` and its pipes, `proc_close`", "a program", Needs::Nothing,
        r#"$p = proc_open('sleep 0.4; echo ok', [1 => ['pipe', 'w']], $pipes); $text = trim(stream_get_contents($pipes[1])); fclose($pipes[1]);
        return proc_close($p) === 0 ? $text : 'failed';"#);
    proc_close: row("`proc_close`: waiting for the end", "a program without pipes", Needs::Nothing,
        r#"$p = proc_open(['sleep', '0.4'], [], $pipes); return proc_close($p) === 0 ? 'ok' : 'failed';"#);
    popen: row("`popen`, `pclose`", "a program", Needs::Nothing,
        r#"$p = popen('sleep 0.4; echo ok', 'r'); $text = trim(fgets($p)); return pclose($p) === 0 ? $text : 'failed';"#);
    exec: row("`exec`", "a program", Needs::Nothing, "exec('sleep 0.4; echo ok', $lines, $code); return $code === 0 ? $lines[0] : 'failed';");
    shell_exec: row("`shell_exec`, backticks", "a program", Needs::Nothing, "return trim(shell_exec('sleep 0.4; echo ok'));");
    system: row("`system`, `passthru`", "a program", Needs::Nothing,
        "ob_start(); $last = system('sleep 0.4; echo ok'); ob_end_clean(); return $last;");
    mail: row("`mail`", "a program that reads late", Needs::Nothing,
        r#"return mail('a@example.test', 'x', str_repeat("A line of a large mail.\r\n", 20000)) && filesize('mailed') > 400000 ? 'ok' : 'not';"#);
    flock: row("`flock`", "a lock that another process holds", Needs::Nothing,
        r#"$file = tempnam('.', 'lock'); $p = proc_open(['flock', $file, 'sh', '-c', 'echo held; sleep 0.4'], [1 => ['pipe', 'w']], $pipes);
        fgets($pipes[1]); $f = fopen($file, 'c'); return flock($f, LOCK_EX) ? 'ok' : 'not';"#);
    record_lock: row("FFI: `fcntl` with `F_SETLKW`", "a record lock that another process holds", Needs::Nothing,
        r#"$code = 'int open(const char *, int); int fcntl(int, int, ...); struct lock { short type, whence; long start, len; int pid; };';
        $file = tempnam('.', 'lock'); $lock = "\$c = FFI::cdef('$code'); \$l = \$c->new('struct lock'); \$l->type = 1; \$got = \$c->fcntl(\$c->open('$file', 2), 7, FFI::addr(\$l));";
        $words = ['php', '-n', '-d', 'extension=ffi', '-r', "$lock echo 'held', PHP_EOL; fgets(STDIN); usleep(400000);"];
        $p = proc_open($words, [['pipe', 'r'], ['pipe', 'w']], $pipes); fgets($pipes[1]); fwrite($pipes[0], "go\n");
        eval($lock); return $got === 0 ? 'ok' : 'not';"#);
    semtimedop: row("FFI: `semtimedop`", "a semaphore, until the time is over", Needs::Nothing,
        r#"$c = FFI::cdef('int semget(int, int, int); int semctl(int, int, int); struct op { unsigned short number; short change, flags; };
            int semtimedop(int, struct op *, unsigned long, long *);');
        $set = $c->semget(0, 1, 0600); $op = $c->new('struct op'); $op->change = -1; $time = FFI::new('long[2]'); $time[1] = 400000000;
        $result = $c->semtimedop($set, FFI::addr($op), 1, FFI::addr($time[0])); $c->semctl($set, 0, 0); return $result === -1 ? 'ok' : 'not';"#);
    epoll: row("FFI: `epoll_wait`, `epoll_pwait` without a signal mask", "a timerfd", Needs::Nothing,
        r#"$c = FFI::cdef('int timerfd_create(int, int); int timerfd_settime(int, int, long *, void *); int close(int);
            int epoll_create1(int); int epoll_ctl(int, int, int, void *); int epoll_wait(int, void *, int, int);
            int epoll_pwait(int, void *, int, int, void *);');
        [$timer, $epoll] = [$c->timerfd_create(1, 0), $c->epoll_create1(0)]; $time = FFI::new('long[4]'); $time[3] = 400000000;
        $event = FFI::new('unsigned[3]'); $event[0] = 1; $c->epoll_ctl($epoll, 1, $timer, FFI::addr($event[0]));
        $c->timerfd_settime($timer, 0, FFI::addr($time[0]), null);
        $ready = mt_rand(0, 1) ? $c->epoll_wait($epoll, FFI::addr($event[0]), 1, 3000) : $c->epoll_pwait($epoll, FFI::addr($event[0]), 1, -1, null);
        $c->close($timer); $c->close($epoll); return $ready === 1 ? 'ok' : 'not';"#);
    writev: row("FFI: `writev` to a socket, a pipe", "another process that reads late", Needs::Nothing,
        r#"$c = FFI::cdef('struct part { void *base; unsigned long length; }; int pipe(int *); int socketpair(int, int, int, int *);
            long writev(int, struct part *, int); long read(int, void *, unsigned long); int close(int);');
        $ends = FFI::new('int[2]'); mt_rand(0, 1) ? $c->pipe(FFI::addr($ends[0])) : $c->socketpair(1, 1, 0, FFI::addr($ends[0]));
        $text = FFI::new('char[1000000]'); $parts = $c->new('struct part[2]');
        if (!($child = pcntl_fork())) { usleep(400000); for ($left = 2000000; $left > 0 && ($n = $c->read($ends[0], FFI::addr($text[0]), 65536)) > 0; $left -= $n); exit; }
        foreach ($parts as $part) { $part->base = FFI::cast('void *', FFI::addr($text[0])); $part->length = 1000000; }
        $wrote = $c->writev($ends[1], FFI::addr($parts[0]), 2); $c->close($ends[0]); $c->close($ends[1]);
        pcntl_waitpid($child, $status); return $wrote === 2000000 ? 'ok' : (string) $wrote;"#);
    sem_acquire: row("`sem_acquire`", "a semaphore that another process holds", Needs::Nothing,
        r#"$key = mt_rand(); $code = "\$s = sem_get($key); sem_acquire(\$s); echo 'held', PHP_EOL; usleep(400000);";
        $p = proc_open(['php', '-n', '-d', 'extension=sysvsem', '-r', $code], [1 => ['pipe', 'w']], $pipes); fgets($pipes[1]);
        $s = sem_get($key); $got = sem_acquire($s); proc_close($p); sem_remove($s); return $got ? 'ok' : 'not';"#);
    msg_receive: row("`msg_receive`", "a message of another process", Needs::Nothing,
        r#"$key = mt_rand(); $queue = msg_get_queue($key);
        $p = proc_open(['php', '-n', '-d', 'extension=sysvmsg', '-r', "usleep(400000); msg_send(msg_get_queue($key), 1, 'ok');"], [], $pipes);
        msg_receive($queue, 0, $type, 100, $text); proc_close($p); msg_remove_queue($queue); return $text;"#);
    msg_send: row("`msg_send`", "another process that reads from a full queue", Needs::Nothing,
        r#"$key = mt_rand(); $queue = msg_get_queue($key); $text = str_repeat('x', 4000);
        while (@msg_send($queue, 1, $text, false, false));
        $p = proc_open(['php', '-n', '-d', 'extension=sysvmsg', '-r', "usleep(400000); \$q = msg_get_queue($key); while (msg_receive(\$q, 0, \$t, 4000, \$m, false, MSG_IPC_NOWAIT));"], [], $pipes);
        $sent = msg_send($queue, 1, $text, false); proc_close($p); msg_remove_queue($queue); return $sent ? 'ok' : 'not';"#);
    pcntl_waitpid: row("`pcntl_waitpid`", "a child of the request", Needs::Nothing,
        "$child = pcntl_fork() ?: exit((int) usleep(400000)); return pcntl_waitpid($child, $status) === $child ? 'ok' : 'not';");
    pcntl_wait: row("`pcntl_wait`, `pcntl_waitpid(-1)`", "a child of the request", Needs::Nothing,
        "$child = pcntl_fork() ?: exit((int) usleep(400000)); return pcntl_wait($status) === $child ? 'ok' : 'not';");
    pcntl_wait_usage: row("`pcntl_wait` with `WUNTRACED` and resource usage", "a child of the request", Needs::Nothing,
        r#"$child = pcntl_fork() ?: exit((int) usleep(400000)); $ended = pcntl_wait($status, WUNTRACED, $usage) === $child;
        return $ended && isset($usage['ru_utime.tv_sec']) ? 'ok' : 'not';"#);
    pcntl_waitid: row("`pcntl_waitid` (PHP 8.4)", "a child of the request", Needs::Nothing,
        r#"$child = pcntl_fork() ?: exit((int) usleep(400000));
        if (!function_exists('pcntl_waitid')) { return pcntl_wait($status) === $child ? 'ok' : 'not'; }
        return pcntl_waitid(P_ALL, null, $about, WEXITED) && $about['pid'] === $child ? 'ok' : 'not';"#);
    pcntl_sigtimedwait: row("`pcntl_sigtimedwait`, `pcntl_sigwaitinfo`", "no signal, until the time is over", Needs::Nothing,
        "return in_array(pcntl_sigtimedwait([SIGUSR2], $about, 0, 400000000), [-1, false], true) ? 'ok' : 'a signal';");
    pthread_join: row("FFI: `pthread_join`", "a thread of a library", Needs::Nothing,
        r#"$c = FFI::cdef('int pthread_create(unsigned long *, void *, void *, void *); int pthread_join(unsigned long, void **); int usleep(unsigned);');
        $thread = FFI::new('unsigned long'); $value = FFI::new('void *');
        $c->pthread_create(FFI::addr($thread), null, FFI::cast('void *', $c->usleep), FFI::cast('void *', 400000));
        return $c->pthread_join($thread->cdata, FFI::addr($value)) === 0 && FFI::isNull($value) ? 'ok' : 'not';"#);
    #[ignore = "needs root: a name server of its own, on port 53 and in a mount name space"]
    gethostbyname: row("`gethostbyname`", "a slow name server", Needs::Resolver,
        "return gethostbyname('late' . mt_rand() . '.example.test') === '127.0.0.9' ? 'ok' : 'not resolved';");
    #[ignore = "needs root: a name server of its own, on port 53 and in a mount name space"]
    gethostbyaddr: row("`gethostbyaddr` (`getnameinfo`)", "a slow name server", Needs::Resolver,
        "return gethostbyaddr('192.0.2.' . mt_rand(1, 254)) === 'late.example.test' ? 'ok' : 'not resolved';");
    #[ignore = "needs root: a name server of its own, on port 53 and in a mount name space"]
    gethostbyaddr_of_libraries: row("FFI: `gethostbyaddr`, `gethostbyaddr_r` of libc", "a slow name server", Needs::Resolver,
        r#"$libc = FFI::cdef('struct hostent { char *name; char **aliases; int family, length; char **addresses; };
            struct hostent *gethostbyaddr(const char *, int, int);
            int gethostbyaddr_r(const char *, int, int, struct hostent *, char *, size_t, struct hostent **, int *);');
        $address = "\xc0\0\2" . chr(mt_rand(1, 254)); $error = FFI::new('int');
        if (mt_rand(0, 1)) { $found = $libc->gethostbyaddr($address, 4, 2); }
        else {
            [$room, $buffer, $found] = [$libc->new('struct hostent'), FFI::new('char[1024]'), $libc->new('struct hostent *')];
            $libc->gethostbyaddr_r($address, 4, 2, FFI::addr($room), $buffer, 1024, FFI::addr($found), FFI::addr($error));
        }
        if (FFI::isNull($found)) { return 'not resolved'; }
        return FFI::string($found->name) === 'late.example.test' && FFI::string($found->addresses[0], 4) === $address ? 'ok' : 'another one';"#);
    #[ignore = "needs root: a name server of its own, on port 53 and in a mount name space"]
    getaddrinfo: row("names in `fsockopen`, `stream_socket_client`, curl, PDO (`getaddrinfo`)", "a slow name server", Needs::Resolver,
        r#"$s = @stream_socket_client('tcp://late' . mt_rand() . '.example.test:1', $number, $message, 5);
        return str_contains($message, 'refused') ? 'ok' : $message;"#);
    #[ignore = "needs root: a name server of its own, on port 53 and in a mount name space"]
    dns_get_mx: row("`dns_get_mx`, `getmxrr`", "a slow name server", Needs::Resolver,
        r#"return getmxrr('late' . mt_rand() . '.example.test.', $hosts) === false && $hosts === [] ? 'ok' : 'a record';"#);
    #[ignore = "needs root: a name server of its own, on port 53 and in a mount name space"]
    dns_check_record: row("`dns_check_record`, `checkdnsrr`", "a slow name server", Needs::Resolver,
        "return checkdnsrr('late' . mt_rand() . '.example.test.', 'A') ? 'ok' : 'no record';");
    #[ignore = "needs root: a name server of its own, on port 53 and in a mount name space"]
    dns_get_record: row("`dns_get_record`", "a slow name server", Needs::Resolver,
        r#"return (dns_get_record('late' . mt_rand() . '.example.test', DNS_A)[0]['ip'] ?? '') === '127.0.0.9' ? 'ok' : 'no record';"#);
    fiber: row("all of these inside a `Fiber`", "time, in a fiber in a fiber", Needs::Nothing,
        r#"$f = new Fiber(function () { (new Fiber(fn () => usleep(200000)))->start(); Fiber::suspend(); usleep(200000); });
        $f->start(); $f->resume(); return $f->isTerminated() ? 'ok' : 'not ended';"#);
    generator: row("all of these inside generators, `array_map` and `usort` callbacks", "time", Needs::Nothing,
        r#"$g = (function () { usleep(100000); yield 1; })(); foreach ($g as $x) {}
        array_map(fn () => usleep(100000), [1]);
        $two = [2, 1]; usort($two, function ($a, $b) { usleep(200000); return $a <=> $b; }); return 'ok';"#);
}

fn check(name: &str) {
    let row = &ROWS
        .iter()
        .find(|(known, _)| *known == name)
        .expect("the row of this test")
        .1;
    let server = start(row);
    let one = ok(&server.get("/"));
    assert_eq!(one, "ok", "{} alone", row.call);
    let (answers, took) = at_once(&server, &same("/", AT_ONCE));
    for answer in &answers {
        assert_eq!(ok(answer), "ok", "{}", row.call);
    }
    let serial = row.wait * AT_ONCE as f64;
    assert!(
        took.as_secs_f64() >= row.wait * 0.9,
        "{}: nothing waited: {took:?}",
        row.call
    );
    assert!(
        took.as_secs_f64() < serial * 0.6,
        "{}: {AT_ONCE} at once took {took:?}, one by one it is {serial} s",
        row.call
    );
    server.stop();
}

fn start(row: &Row) -> Server {
    let mut server = one_worker(&format!("return function () {{ {} }};", row.code))
        .arg("--ini=ffi.enable=1")
        .file(
            "mailer",
            "#!/bin/sh\nsleep 0.4; cat > mailed.$$; mv mailed.$$ mailed\n",
        )
        .arg("--ini=sendmail_path=sh ./mailer");
    match row.needs {
        Needs::Nothing => {}
        Needs::MariaDb => {
            let mariadb = MariaDb::shared();
            server = server
                .env("DSN", mariadb.dsn())
                .env("PORT", mariadb.port.to_string());
        }
        Needs::Postgres => {
            let postgres = Postgres::shared();
            server = server
                .env("DSN", postgres.dsn())
                .env("PORT", postgres.port.to_string());
        }
        Needs::Redis => server = server.env("PORT", Redis::shared().port.to_string()),
        Needs::Peer => {
            let peer = Peer::start();
            server = server
                .env("URL", peer.url(400))
                .env("PORT", peer.port.to_string());
        }
        Needs::TlsPeer => server = server.env("URL", format!("{}/400", tls_peer().url())),
        Needs::Resolver => {
            server = server
                .file(
                    "resolv.conf",
                    format!(
                        "nameserver {}\noptions timeout:5 attempts:1\n",
                        name_server::ADDRESS
                    ),
                )
                .inside([
                    "unshare",
                    "--mount",
                    "sh",
                    "-c",
                    "mount --bind resolv.conf /etc/resolv.conf && exec \"$@\"",
                    "sh",
                ]);
            name_server::start();
        }
    }
    server.start()
}

/// nginx ends TLS in front of the late peer. One for all tests.
fn tls_peer() -> &'static Nginx {
    static SHARED: std::sync::OnceLock<Nginx> = std::sync::OnceLock::new();
    SHARED.get_or_init(|| {
        let port = Peer::start().port;
        Nginx::start_tls(&format!(
            "location / {{ proxy_pass http://127.0.0.1:{port}; }}"
        ))
    })
}

/// The answers come when the tasks have ended: they are discarded.
#[test]
#[ignore = "needs root: a name server of its own, on port 53 and in a mount name space"]
fn a_look_up_that_is_cancelled_once_or_twice_ends_before_its_answer() {
    let server = start(&row(
        "",
        "",
        Needs::Resolver,
        r#"$ended = 0; $start = hrtime(true);
        $address = fn () => gethostbyaddr('192.0.2.' . mt_rand(1, 254));
        foreach (['dns_get_record', 'dns_get_record', 'gethostbyname', fn ($name) => fsockopen($name, 1), $address] as $look) {
            $task = Hearth\async(fn () => @$look('late' . mt_rand() . '.example.test'));
            $task->cancel(); usleep(1000); if ($ended % 2) { $task->cancel(); }
            try { $task->await(); } catch (Hearth\CancelledError) { $ended++; }
        }
        $took = hrtime(true) - $start;
        usleep(600000);
        return $took < 300000000 && $ended === 5 ? 'ok' : "$ended ended in $took ns";"#,
    ));
    assert_eq!(ok(&server.get("/")), "ok");
    server.stop();
}

/// libcurl joins its resolver's thread, which goes on until the name server has answered.
#[test]
#[ignore = "needs root: a name server of its own, on port 53 and in a mount name space"]
fn a_transfer_that_ends_before_its_name_is_looked_up_stops_no_other_task() {
    let server = start(&row(
        "",
        "",
        Needs::Resolver,
        r#"$longest = 0; $last = hrtime(true);
        $ticks = Hearth\async(function () use (&$longest, &$last) {
            while (true) { usleep(5000); $longest = max($longest, hrtime(true) - $last); $last = hrtime(true); }
        });
        $fetch = function (int $limit) {
            $curl = curl_init('http://late' . mt_rand() . '.example.test/');
            curl_setopt_array($curl, [CURLOPT_CONNECTTIMEOUT_MS => $limit, CURLOPT_RETURNTRANSFER => true]);
            curl_exec($curl); return curl_errno($curl);
        };
        $timed_out = $fetch(50) === CURLE_OPERATION_TIMEDOUT;
        $task = Hearth\async(fn () => $fetch(5000)); usleep(50000); $task->cancel(); $cancelled = false;
        try { $task->await(); } catch (Hearth\CancelledError) { $cancelled = true; }
        $ticks->cancel();
        return $timed_out && $cancelled && $longest < 150000000 ? 'ok' : json_encode([$timed_out, $cancelled, $longest]);"#,
    ));
    assert_eq!(ok(&server.get("/")), "ok");
    server.stop();
}

#[test]
fn the_table_in_the_docs_is_these_rows() {
    let path: PathBuf = testkit::checkout().join("docs/reference/what-yields.md");
    let table = table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &table).expect("the page can be written");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == table,
        "{} is not what the tests say: run `UPDATE_DOCS=1 cargo test -p it the_table`",
        path.display()
    );
}

/// What blocks because of a lock, and the test in `locks.rs` that shows it.
const LOCKED: [(&str, &str); 6] = [
    (
        "php-ldap: `ldap_bind` and whatever waits for an answer",
        "no_other_request_runs_while_ldap_waits",
    ),
    (
        "php-ldap: the name of the server, at the first call on a connection",
        "four_requests_that_bind_to_a_directory_at_once_do_not_lock_each_other_out",
    ),
    (
        "the callback of `apcu_entry`",
        "no_other_request_runs_while_apcu_entry_computes",
    ),
    (
        "`posix_getpwnam`, `posix_getgrgid`, `chown` by name, `getservbyname` and their relatives, with NSS modules that wait (SSSD, LDAP)",
        "no_other_request_runs_while_libc_holds_a_lock_for_a_module_of_the_name_service",
    ),
    (
        "FFI: the callback of a function of a library",
        "no_other_request_runs_while_a_library_calls_back",
    ),
    (
        "FFI: whatever waits while a `pthread` lock is held",
        "each_kind_of_lock_holds_a_task",
    ),
];

fn table() -> String {
    let mut text = format!(
        "# What yields\n\n\
         <!-- Made by tests/it/hooks.rs: UPDATE_DOCS=1 cargo test -p it the_table -->\n\n\
         While one request waits in one of these calls, its worker serves others. Each row is a test: {AT_ONCE} requests \
         at once in\none worker, each of which waits {WAIT} s (`sleep`: 1 s) in the call, are all answered in the time of \
         one.\n\n| call | waits in the test for |\n|---|---|\n"
    );
    for (_, row) in ROWS {
        text.push_str(&format!("| {} | {} |\n", row.call, row.on));
    }
    text.push_str(
        "\nNames are looked up by threads, as many at once as there are (512); a look-up whose task was cancelled goes on until its\n\
         name server has answered, and the answer is discarded.\n\
         \n## What blocks because a library holds a lock\n\n\
         A library that holds a lock of its own while it waits (`pthread_mutex_lock` and its relatives, `pthread_once`, the loader,\n\
         libc for a module of its name service)\n\
         must not be left: another request would take the same lock on the same thread, and wait for itself. There every call\n\
         blocks as under php-fpm, and the worker serves nothing else meanwhile. `await()` and other waits of Hearth's own throw an\n\
         `\\Error` that says so.\n\n| call | test |\n|---|---|\n",
    );
    for (call, test) in LOCKED {
        text.push_str(&format!("| {call} | `{test}` |\n"));
    }
    text.push_str(
        "\nA library that FFI calls may be in the middle of its own state when it calls back, so its callback blocks too. A client that leaves\n\
        does not end it: PHP has no exceptions there.\n\n\
        The same holds for PDO Firebird, queries of PDO_DBLIB (FreeTDS), unixODBC and libpq with GSSAPI, as far as they hold a lock while they\n\
        wait.\n\
         A lock that is still held when its task ends is logged once and no longer counted.\n\n\
         A directory server that does not answer stops the worker until php-ldap gives up or the request's time is over\n\
         (`request.timeout`); that the client leaves does not end the wait. `LDAP_OPT_NETWORK_TIMEOUT` limits only the connection.\n\
         Set `LDAP_OPT_TIMEOUT`, which limits the wait for an answer, on each connection. Set `PDO::ATTR_TIMEOUT` for PDO_DBLIB; Firebird has no\n\
         such limit.\n\
         \n## What does not\n\n\
         - Computing: a loop holds its worker until it ends, waits, or runs into the request's time limit.\n\
         - Reading and writing regular files: the kernel answers from memory or disk; there is nothing to wait on.\n\
         - snmp, smbclient, libvirt and rrd, which keep what they do in variables of the process or in arrays that requests share.\n\
         - `lockf()` of a library: libc takes that record lock itself. No extension of Debian waits in it.\n\
         - `res_query()`, `res_search()` and their relatives: no extension of Debian calls them in a request, only `res_nsearch()`.\n\
         - `pthread_cond_wait()`, `sem_wait()` and their relatives: the libraries of Debian's extensions wait there for threads that\n\
         \x20 compute (LZMA, Zstandard, image formats), or, in a pool of unixODBC, while they hold a lock.\n\
         - `syslog()` while the system's logger is stopped and its queue full: libc waits there, with a lock.\n\
         - `ppoll()`, `pselect()` and `epoll_pwait()` with a signal mask, which holds for a thread and not for a task; `epoll_pwait2()`,\n\
         \x20 `mq_receive()`, `sendfile()` and `splice()`, of a library.\n\
         - Reads by stdio in a library, such as `fgets()` of what the library opened with `popen()`: libc calls the kernel itself.\n\
         - Opening a named pipe (FIFO) that has no peer yet: the kernel waits in `open`, without a descriptor.\n\
         - Any call while PHP compiles a file, loads a class, collects garbage or, before PHP 8.4, calls a destructor:\n\
         \x20 switching there would break the engine. Such a call ends with the request's time limit; one of code that goes on ends\n\
         \x20 at once when half of `request.grace` has passed. `await()` and other waits of Hearth's own throw an `\\Error` there,\n\
         \x20 and so does naming `$_POST`, `$_FILES` or `$_REQUEST` before the body has come.\n\
         - The same in code that the engine calls in the middle of a write to a variable that requests share, because another request could\n\
         \x20 remove the variable meanwhile: `__toString()`, an error handler or a destructor in `self::$log .= $object`,\n\
         \x20 `self::$counts[$key] += $text`, `$this->list[$key]->text .= $object` and their relatives, with a global or static variable, too.\n\
         - The same in the middle of an object that `var_dump()`, `print_r()`, `==`, `in_array()`, `sort()` and their relatives go over, and in `__debugInfo()`.\n\
         - Streams, PHP functions and error handlers in the methods of dom, simplexml and xsl that save, validate, transform or query a\n\
         \x20 document, such as `DOMDocument::save()`, `SimpleXMLElement::asXML()`, `XSLTProcessor::transformToXml()` and `DOMXPath::query()`.\n\
         - The progress monitor of Imagick, and the end of a process of `popen()` that goes with its last variable, without `pclose()`.\n",
    );
    text
}

/// As the threads of libzmq do. All timerfds have one inode.
#[test]
fn a_timerfd_whose_number_another_thread_closed_before_is_waited_for() {
    let server = one_worker(
        r#"return function () {
            $c = FFI::cdef('int timerfd_create(int, int); int timerfd_settime(int, int, long *, void *); int close(int);
                struct entry { int fd; short events, ready; }; int poll(struct entry *, unsigned long, int);
                int pthread_create(unsigned long *, void *, void *, void *); int pthread_join(unsigned long, void **);');
            $wait = function (int $fd, int $time) use ($c) { $entry = $c->new('struct entry'); $entry->fd = $fd; $entry->events = 1; return $c->poll(FFI::addr($entry), 1, $time); };
            $first = $c->timerfd_create(1, 0); $wait($first, 10);
            $thread = FFI::new('unsigned long'); $value = FFI::new('void *');
            $c->pthread_create(FFI::addr($thread), null, FFI::cast('void *', $c->close), FFI::cast('void *', $first));
            $c->pthread_join($thread->cdata, FFI::addr($value));
            $second = $c->timerfd_create(1, 0); $time = FFI::new('long[4]'); $time[3] = 10000000; $c->timerfd_settime($second, 0, FFI::addr($time[0]), null);
            $ready = $wait($second, 5000); $c->close($second);
            return "$ready " . ($first === $second ? 'same' : 'another') . ' number';
        };"#,
    )
    .args(["--ini", "ffi.enable=1"])
    .start();
    assert_eq!(ok(&server.get("/")), "1 same number");
    server.stop();
}
