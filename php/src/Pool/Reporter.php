<?php

declare(strict_types=1);

namespace Hearth\Pool;

use function Hearth\Internal\monotonic;

/**
 * Logs messages for operators; each kind at most once per second, with the number of messages left out.
 *
 * @internal
 */
final class Reporter
{
    /** @var array<string, array{float, int}> when each kind was last logged, and the number of messages left out since */
    private array $last = [];

    /** @param object|null $logger PSR-3; null = PHP's error log */
    public function __construct(private readonly string $pool, private readonly ?object $logger)
    {
    }

    /**
     * @param 'debug'|'info'|'warning'|'error' $level
     * @param string $kind messages of one kind are limited together; '' = never limited
     * @param array<string, mixed> $context
     */
    public function report(string $level, string $kind, string $message, array $context = []): void
    {
        $silent = $kind === '' ? 0 : $this->silenced($kind);
        if ($silent === null) {
            return;
        }
        $message = "pool \"$this->pool\": $message" . ($silent > 0 ? " ($silent more since the last such message)" : '');
        $this->log($level, $message, ['pool' => $this->pool] + $context);
    }

    /** Returns the number of messages of this kind left out since the last one; null = this one is left out too. */
    private function silenced(string $kind): ?int
    {
        $now = monotonic();
        [$when, $silent] = $this->last[$kind] ?? [-\INF, 0];
        if ($now - $when < 1.0) {
            $this->last[$kind][1] = $silent + 1;

            return null;
        }
        $this->last[$kind] = [$now, 0];

        return $silent;
    }

    /** @param array<string, mixed> $context */
    private function log(string $level, string $message, array $context): void
    {
        try {
            if ($this->logger !== null) {
                $this->logger->log($level, $message, $context);
            } elseif ($level !== 'debug' && $level !== 'info') {
                \error_log($message);
            }
        } catch (\Throwable $error) {
            \error_log("$message (and the pool's logger failed: {$error->getMessage()})");
        }
    }
}
