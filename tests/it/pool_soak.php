<?php

/** A connection of nothing, which notices when two have it. */
final class Fake
{
    public ?int $owner = null;
}

/** A sequence that is as good as random and each request's own (Knuth's MMIX generator). */
final class Chance
{
    public function __construct(private int $state)
    {
    }

    public function upTo(int $most): int
    {
        // 63 bits, without the overflow that makes a float.
        $low = ($this->state & 0xffffffff) * 1284865837;
        $this->state = ($low + 1442695041) & 0x7fffffffffffffff;

        return ($this->state >> 20) % ($most + 1);
    }
}

$fakes = new Hearth\Pool\Pool(fn () => new Fake(), size: 3, minimumIdle: 0, borrowTimeout: 20, maxLifetime: 0.3, bindToTask: false);
$pdo = new Hearth\Pool\Pdo(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION], size: 3, total: 5, minimumIdle: 0, borrowTimeout: 20, name: 'soak');
$semaphore = new Hearth\Semaphore(2);
$mutex = new Hearth\Mutex();
$leases = 0;
$inside = 0;

/** One lease of a fake connection, ended in one of many ways. */
$lease = function (Chance $chance) use ($fakes, &$leases): void {
    ++$leases;
    $fake = $fakes->borrow();
    if ($fake->owner !== null) {
        throw new LogicException("two owners: $fake->owner");
    }
    $fake->owner = $leases;
    try {
        $chance->upTo(3) === 0 && usleep($chance->upTo(300));
    } finally {
        $fake->owner = null;
    }
    match ($chance->upTo(7)) {
        // It comes back at the end of the task, which must not wait for another meanwhile.
        0 => throw new DomainException('kept'),
        1, 3 => [$fakes->evict($fake), $fakes->giveBack($fake)],
        2 => exit,
        default => $fakes->giveBack($fake),
    };
};

/** A transaction that must come through, whatever else its task is kept from waiting for. */
$transfer = function (Chance $chance, stdClass $seen) use ($pdo): void {
    $pdo->beginTransaction();
    $pdo->exec('INSERT INTO soak (n) VALUES (7)');
    try {
        Hearth\timeout($chance->upTo(2) / 1000, fn () => usleep(20_000));
    } catch (Hearth\TimeoutError) {
    }
    if ($chance->upTo(4) === 0) {
        try {
            Hearth\timeout(0.002, fn () => fgets(stream_socket_client('tcp://' . getenv('SILENT'))));
        } catch (Hearth\TimeoutError) {
        }
    }
    $pdo->exec('INSERT INTO soak (n) VALUES (-7)');
    $pdo->commit();
    ++$seen->committed;
    $chance->upTo(1) === 0 && $pdo->release();
};

/** A transaction that is lost with its connection, or with the answer to a question. */
$fault = function (Chance $chance) use ($pdo): void {
    $pdo->beginTransaction();
    $pdo->exec('INSERT INTO soak (n) VALUES (1)');
    try {
        $chance->upTo(1) === 0
            ? $pdo->exec('KILL CONNECTION_ID()')
            : Hearth\timeout(0.002, fn () => $pdo->query('SELECT SLEEP(0.02)')->fetchAll());
        // A machine that was busy for so long had the answer first.
        $pdo->rollBack();

        return;
    } catch (PDOException | Hearth\TimeoutError) {
    }
    $pdo->query('SELECT 1')->fetchAll();
    throw new LogicException('a transaction went on, on another connection');
};

$step = function (Chance $chance, stdClass $seen, Hearth\Channel $channel) use ($lease, $transfer, $fault, $semaphore, $mutex, &$inside): void {
    switch ($chance->upTo(11)) {
        case 0:
            $semaphore->with(function () use ($chance, &$inside): void {
                if (++$inside > 2) {
                    throw new LogicException('three inside a semaphore of two');
                }
                try {
                    usleep($chance->upTo(200));
                } finally {
                    --$inside;
                }
            });
            break;
        case 1:
            $mutex->with(fn () => usleep($chance->upTo(100)));
            break;
        case 2:
            ++$seen->tried;
            $channel->send($seen->tried, 0.005);
            ++$seen->sent;
            break;
        case 3:
            $value = $channel->receive(0.005);
            if (isset($seen->received[$value])) {
                throw new LogicException("$value came twice");
            }
            $seen->received[$value] = true;
            break;
        case 4:
            $chance->upTo(3) === 0 && $transfer($chance, $seen);
            break;
        case 5:
            if ($chance->upTo(9) === 0) {
                try {
                    $fault($chance);
                } catch (PDOException) {
                }
                throw new DomainException('planned');
            }
            break;
        default:
            $lease($chance);
    }
};

/** Children that all end somehow; what must not be is told. */
$requests = function (int $seed) use ($step): string {
    $chance = new Chance($seed * 2654435761 + 1);
    $seen = (object) ['tried' => 0, 'sent' => 0, 'received' => [], 'committed' => 0];
    $channel = new Hearth\Channel($chance->upTo(1));
    $problems = [];
    $children = [];
    for ($child = 0; $child < 12; ++$child) {
        $own = new Chance($seed * 40503 + $child);
        $children[] = Hearth\async(function () use ($own, $step, $seen, $channel, &$problems): void {
            for ($n = $own->upTo(24); $n >= 0; --$n) {
                try {
                    $step($own, $seen, $channel);
                } catch (Hearth\TimeoutError) {
                } catch (PDOException | LogicException $error) {
                    if (!$error instanceof DomainException) {
                        $problems[] = get_class($error) . ': ' . $error->getMessage();
                    }
                    throw $error;
                }
            }
        });
        $chance->upTo(2) === 0 && usleep($chance->upTo(100));
        $chance->upTo(4) === 0 && $children[$chance->upTo($child)]->cancel();
    }
    foreach ($children as $child) {
        try {
            $child->await();
        } catch (Throwable) {
        }
    }
    $there = count($seen->received) + count($channel);
    if ($there < $seen->sent || $there > $seen->tried) {
        $problems[] = "sent $seen->sent of $seen->tried, there are $there";
    }
    http_response_code(200);

    return $problems === [] ? "ok $seen->committed" : implode("\n", array_unique($problems));
};

/** Now and then one of the requests of a hard life ends by a fatal error, in the middle of what its children do. */
$hard = function (int $seed) use ($requests): string {
    $seed % 40 === 0 && Hearth\async(function (): void {
        usleep(2000);
        str_repeat('x', PHP_INT_MAX >> 20);
    });

    return $requests($seed);
};

return function (Hearth\Request $request) use ($hard, $requests, $fakes, $pdo, $semaphore, $mutex, &$leases): string {
    switch ($request->path) {
        case '/open':
            $pdo->exec('CREATE OR REPLACE TABLE soak (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)');
            return '';
        case '/rest':
            $rest = [];
            foreach ([$fakes, $pdo->pool()] as $pool) {
                $stats = $pool->stats();
                $rest[] = [$stats['active'], $stats['waiting'], $stats['total'] - $stats['idle']];
            }
            return json_encode([...$rest, $semaphore->available(), $semaphore->waiting(), $mutex->isLocked()]);
        case '/all':
            // Each place can be had, all at once.
            Hearth\parallel(array_fill(0, 3, function () use ($fakes, $pdo): void {
                $fakes->borrow();
                $pdo->query('SELECT SLEEP(0.01)')->fetchAll();
            }));
            return 'all';
        case '/rows':
            return json_encode($pdo->query('SELECT COUNT(*) = 2 * SUM(n = 7) AND SUM(n) = 0, SUM(n = 7) FROM soak')->fetch(PDO::FETCH_NUM));
        case '/leases':
            return (string) $leases;
        case '/hard':
            return $hard((int) $request->query('seed'));
    }
    return $requests((int) $request->query('seed'));
};
