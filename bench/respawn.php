<?php

declare(strict_types=1);

// How long there is no answer after a worker was killed. usage: php respawn.php PORT [TIMES]; the app is apps/pid.php, one worker.
// Prints milliseconds from the kill to the first answer, one line each.

[, $port, $times] = [...$argv, 11];

function ask(int $port): int
{
    $stream = stream_socket_client("tcp://127.0.0.1:$port", timeout: 10);
    stream_set_timeout($stream, 10);
    fwrite($stream, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    $answer = (string) stream_get_contents($stream);
    if (!str_starts_with($answer, 'HTTP/1.1 200')) {
        return 0;
    }

    return (int) substr($answer, (int) strpos($answer, "\r\n\r\n") + 4);
}

for ($round = 0; $round < (int) $times; $round++) {
    $before = ask((int) $port);
    $killed = hrtime(true);
    posix_kill($before, SIGKILL);
    // The new worker may take the connection at once, or the old one's last moment resets it: then ask again.
    do {
        $now = @ask((int) $port);
    } while ($now === 0 || $now === $before);
    printf("%.2f\n", (hrtime(true) - $killed) / 1e6);
    usleep(1_500_000); // back-off is for workers that keep dying: this one is to be judged alone
}
