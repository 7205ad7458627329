<?php

declare(strict_types=1);

namespace Hearth\Pool;

use Hearth\CancelledError;
use Hearth\Internal;
use Hearth\Internal\Group;
use Hearth\TimeoutError;

use function Hearth\Internal\monotonic;

/**
 * Finds out whether a connection works before it is lent.
 *
 * @internal
 */
final class Check
{
    /** A connection that was made or used so recently is taken to work. */
    public const RECENT = 0.005;

    /** Longest time that the other side may take to say that it is there. */
    private const LONGEST = 1.0;

    /** @param \Closure(Entry, string): void $destroy */
    public function __construct(
        private readonly Options $options,
        private readonly Connector $connector,
        private readonly Statistics $statistics,
        private readonly Reporter $reporter,
        private readonly \Closure $destroy,
    ) {
    }

    /**
     * Whether a connection may be lent; one that may not is closed.
     *
     * @throws CancelledError|TimeoutError when the borrower's time is up meanwhile
     */
    public function passes(Entry $entry, float $now): bool
    {
        if ($now - $entry->usedAt < self::RECENT && !$entry->suspect && ($this->options->check === null || $now - $entry->createdAt < self::RECENT)) {
            return true;
        }
        try {
            $works = !$this->connector->driver()->isClosed($entry) && (!$this->isDue($entry, $now) || $this->ask($entry));
        } catch (CancelledError | TimeoutError $ending) {
            ($this->destroy)($entry, 'cancelled');
            throw $ending;
        } catch (\Throwable $error) {
            $works = false;
            $this->reporter->report('info', 'check', "a connection was found broken: {$error->getMessage()}", ['exception' => $error]);
        }
        if (!$works) {
            ++$this->statistics->failedChecks;
        }
        $reason = $works ? $entry->doomed : 'broken';
        if ($reason !== null) {
            ($this->destroy)($entry, $reason);
        }

        return $reason === null;
    }

    private function isDue(Entry $entry, float $now): bool
    {
        return ($this->options->check !== null && $now - $entry->createdAt >= self::RECENT)
            || $entry->suspect
            || $now - \max($entry->usedAt, $entry->provenAt) > $this->options->checkAfter;
    }

    private function ask(Entry $entry): bool
    {
        $check = $this->options->check;
        $driver = $this->connector->driver();
        $ask = $check === null ? static fn () => $driver->check($entry) : static fn () => $check($entry->connection);
        if (Internal\taskId() === 0) {
            $answer = $ask();
        } elseif (!(new Group())->within(self::LONGEST, $ask, $answer)) {
            $answer = false;
        }
        $entry->provenAt = monotonic();
        $entry->suspect = false;

        return $answer !== false;
    }
}
