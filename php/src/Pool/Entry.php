<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * One connection of a pool, and what the pool knows about it.
 *
 * @internal
 */
final class Entry
{
    public State $state = State::Reserved;

    /** The task that has it, or had it last. */
    public int $owner = -1;

    /** How many times the owner has borrowed it and not given it back; of a connection that is lent. */
    public int $depth = 0;

    /** Counts the loans that are over; whatever remembers an older number has lost the connection. */
    public int $lease = 0;

    /** The task in which the pool has code of the app's use it between two loans; 0: none. */
    public int $usedBy = 0;

    public float $borrowedAt = 0.0;
    public float $usedAt;

    /** When it was last known to work. */
    public float $provenAt;

    /** The reason why it must not be lent again, null = none. */
    public ?string $doomed = null;

    /** It must be checked before it is lent, however recently it was used. */
    public bool $suspect = false;

    /** Its statements are watched (by `Pdo`, `Redis`), so that `dirty` can be relied on. */
    public bool $watched = false;

    /** A statement of this loan may have changed the state of the session. */
    public bool $dirty = false;

    /** The loan in which a transaction was found open that has not been found ended since. Only where a broken connection cannot tell. */
    public int $begun = -1;

    /** The loan in which a text was sent that begins or ends a transaction, and whose effect was not looked at since. */
    public int $unsettled = -1;

    /** The loan in which `rollBack()` was called after the connection broke: its task knows what it lost. */
    public int $resigned = -1;

    /** Prepared statements of this loan that are alive and would use the connection when they die. */
    public int $statements = 0;

    /** Whether statements that die may use the connection: the server must be told. */
    public bool $statementsUseIt = true;

    /** The loan in which a statement was last executed. */
    public int $ran = -1;

    /** @var list<object> statements and results of loans that are over: to free one may use the connection */
    public array $kept = [];

    /** @var array<int, mixed> attributes that this loan has changed, with the values to restore */
    public array $attributes = [];

    /** @var list<array{function: string, class?: string, file?: string, line?: int}>|null where it was borrowed */
    public ?array $trace = null;

    public bool $leakReported = false;

    /** The number by which its server can be told to stop what it does for it; 0: none. */
    public int $session = 0;

    /** The database was told to stop what it does for it. */
    public bool $cancelled = false;

    /** @var list<string> what may be the name of a custom setting that the factory has made */
    public array $settings = [];

    /** What a driver keeps about the connection. */
    public mixed $memo = null;

    /**
     * @param float $expiresAt when a successor should be made for it
     * @param float $wornOutAt when it is closed at its next return, even if others wait
     */
    public function __construct(
        public ?object $connection,
        public readonly float $createdAt,
        public readonly float $expiresAt,
        public readonly float $wornOutAt,
    ) {
        $this->usedAt = $this->provenAt = $createdAt;
    }

    /** Calls code of the app's with a connection that the pool has in its hands. */
    public function useBy(\Closure $code): mixed
    {
        $this->usedBy = \Hearth\Internal\taskId();
        try {
            return $code($this->connection);
        } finally {
            $this->usedBy = 0;
        }
    }
}
