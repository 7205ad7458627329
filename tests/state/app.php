<?php

// The app of `./dev test state`: runs a script inside a request, and says what of the engine's memory differs.
//
// /take?name=N      a snapshot, under that name
// /changes?name=N   what differs from it, as JSON
// /run?file=F       runs F; then waits for /release, and says what changed for it meanwhile
// /release          lets that request go on

use function Hearth\Internal\{park, stateChanges, stateTake, taskId, unpark};

return new class {
    private int $waiting = 0;
    /** @var list<array<string, mixed>> */
    private array $own = [];

    public function __invoke(Hearth\Request $request): string
    {
        return match ($request->path) {
            '/take' => $this->take($request->query('name')),
            '/changes' => $this->changes($request->query('name')),
            '/run' => $this->run($request->query('file'), $request->query('wait') !== null),
            '/release' => $this->release(),
            default => throw new RuntimeException("no such page: {$request->path}"),
        };
    }

    private function take(string $name): string
    {
        stateTake($name);

        return (string) getmypid();
    }

    private function changes(string $name): string
    {
        return json_encode(stateChanges($name), JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR);
    }

    /** What the script prints goes nowhere; its state is all that counts. */
    private function run(string $file, bool $wait): string
    {
        ob_start(static fn (): string => '');
        $end = 'ended';
        try {
            (static function () use ($file): void {
                include $file;
            })();
        } catch (Throwable $thrown) {
            $end = $thrown::class;
        }
        $changes = $wait ? $this->wait() : [];
        while (ob_get_level() > 0) {
            ob_end_clean();
        }

        return json_encode(['end' => $end, 'changes' => $changes], JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR);
    }

    /** @return list<array<string, mixed>> what others changed of this request's own state while it waited */
    private function wait(): array
    {
        $this->waiting = taskId();
        stateTake('own');
        park();
        $changes = stateChanges('own');
        $this->waiting = 0;

        return $changes;
    }

    private function release(): string
    {
        return $this->waiting !== 0 && unpark($this->waiting) ? 'released' : 'none waits';
    }
};
