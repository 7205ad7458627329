<?php

declare(strict_types=1);

namespace Hearth\Pool;

/**
 * A connection of a pool, and what the pool knows about it.
 *
 * @internal
 */
final class Entry
{
    public State $state = State::Reserved;

    /** The task that has borrowed it, or was the last to. */
    public int $owner = -1;

    /** How many times the owner of a lent connection has borrowed it without giving it back. */
    public int $depth = 0;

    /** The number of leases that have ended; code that remembers an older number has lost the connection. */
    public int $lease = 0;

    /** The task in which the pool runs the app's code on it between two leases; 0: none. */
    public int $usedBy = 0;

    public float $borrowedAt = 0.0;
    public float $usedAt;

    /** When it was last known to work. */
    public float $provenAt;

    /** The reason why it must not be lent again, null = none. */
    public ?string $evictReason = null;

    /** Whether it must be checked before it is lent, however recently it was used. */
    public bool $suspect = false;

    /** Whether its statements are watched (by `Pdo`, `Redis`), so that `dirty` can be relied on. */
    public bool $watched = false;

    /** Whether a statement of this lease may have changed the state of the session. */
    public bool $dirty = false;

    /** The lease with an open transaction that was not seen to end. Only for drivers whose broken connections cannot tell. */
    public int $begun = -1;

    /** The lease with a statement that begins or ends a transaction, and whose effect has not been checked since. */
    public int $unsettled = -1;

    /** The lease in which `rollBack()` was called after the connection broke: its task knows what it lost. */
    public int $resigned = -1;

    /** The number of live prepared statements of this lease that use the connection when they are freed. */
    public int $statements = 0;

    /** Whether freeing a statement may use the connection, because the server must be told. */
    public bool $statementsUseIt = true;

    /** The lease in which a statement was last executed. */
    public int $ran = -1;

    /** The lease in which a call on the connection failed last. */
    public int $failed = -1;

    /** The lease in which a statement may have written last, */
    public int $wrote = -1;

    /** and the one in which the session was made to forget the ids of earlier leases. */
    public int $forgot = -1;

    /** What the client's side of the connection kept when it was new: see `Internal\clientState()`. */
    public string $client = '';

    /** @var list<object> statements and results of ended leases: to free one may use the connection */
    public array $kept = [];

    /** @var array<int, mixed> attributes that this lease has changed, with the values to restore */
    public array $attributes = [];

    /** @var list<array{function: string, class?: string, file?: string, line?: int}>|null where it was borrowed */
    public ?array $trace = null;

    public bool $leakReported = false;

    /** The session's number, by which its server can be told to cancel its query; 0: none. */
    public int $session = 0;

    /** Whether the database was told to cancel its query. */
    public bool $cancelled = false;

    /** @var list<string> possible names of custom settings that the factory has made */
    public array $settings = [];

    /** Data of a driver about the connection. */
    public mixed $memo = null;

    /**
     * @param float $expiresAt when a successor should be made for it
     * @param float $wornOutAt when it is closed at its next return, even if other tasks wait
     */
    public function __construct(
        public ?object $connection,
        public readonly float $createdAt,
        public readonly float $expiresAt,
        public readonly float $wornOutAt,
    ) {
        $this->usedAt = $this->provenAt = $createdAt;
    }

    /** Calls code of the app with a reserved connection. */
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
