<?php

// The app of `./dev test state`: runs a script inside a request, and says what of the engine's memory differs.
//
// /process          the worker's process id
// /take?name=N      a snapshot, under that name
// /run?file=F       runs F, with ?ini[NAME]=VALUE; then waits until it is let go and says what changed for it meanwhile; ?alone=1: ends
// /settled          answers when that request waits or has ended, or that it runs still
// /observe?name=N   /settled, and once the request waits, /changes; then it goes on
// /changes?name=N   what differs from the snapshot, as JSON
// /finish?name=N&until=F  lets it go on to the end that /run?end= named (fatal, time); what differs once file F is there
// /left             the client of that request has left: answers when this has ended its wait, or lets go one that ignores it

declare(strict_types=1);

use function Hearth\Internal\{park, stateChanges, stateTake, taskId, unpark};

// What is found, or made, once is so before there are workers.
// The handlers of generators:
foreach ((static function () { yield 1; })() as $ignored) {
}
stateTake('boot');

return new class {
    /** The request that has run its script: its task, while it waits. */
    private int $waiting = 0;
    private bool $ended = false;
    private int $watcher = 0;
    /** How the request ends that has run its script, if not by itself. */
    private string $end = '';
    /** One request runs at a time: none would let go another that waits. */
    private bool $alone = false;

    public function __invoke(Hearth\Request $request): string
    {
        return match ($request->path) {
            '/process' => (string) getmypid(),
            '/take' => $this->take((string) $request->query('name')),
            '/changes' => self::json(self::changes((string) $request->query('name'))),
            '/run' => $this->run((bool) $request->query('alone'), (string) $request->query('end'), (string) $request->query('file'), (array) $request->query('ini', [])),
            '/settled' => $this->settled(),
            '/finish' => $this->finish((string) $request->query('name'), (string) $request->query('until')),
            '/left' => $this->left(),
            '/observe' => $this->observe((string) $request->query('name')),
            default => throw new RuntimeException("no such page: {$request->path}"),
        };
    }

    /** What a cycle holds goes when the collector runs: now. */
    private static function changes(string $name): array
    {
        gc_collect_cycles();

        return stateChanges($name);
    }

    private function take(string $name): string
    {
        gc_collect_cycles();
        $this->ended = false;
        stateTake($name);

        return 'taken';
    }

    /** @param array<string, string> $settings */
    private function run(bool $alone, string $end, string $file, array $settings): string
    {
        [$this->alone, $this->end] = [$alone, $end];
        $report = ['end' => 'exit', 'changes' => null];
        // What the script prints goes nowhere. One that calls exit() waits in the shutdown functions.
        ob_start(static fn (): string => '');
        register_shutdown_function(function () use (&$report): void {
            if ($report['changes'] === null) {
                // Where its client leaves, the wait ends in an exception.
                $report['changes'] = [];
                if ((error_get_last()['type'] ?? 0) & (E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_PARSE | E_RECOVERABLE_ERROR)) {
                    $report['end'] = 'fatal';
                }
                $report['changes'] = $this->wait();
                echo self::line($report);
            }
        });
        foreach ($settings as $name => $value) {
            @ini_set($name, $value);
        }
        try {
            (static function () use ($file): void {
                include $file;
            })();
            $report['end'] = 'ended';
        } catch (Throwable $thrown) {
            $report['end'] = $thrown::class;
        }
        $report['changes'] = [];
        $report['changes'] = $this->wait();
        $this->end();

        return self::line($report);
    }

    /** Nothing that the script has set keeps this from being the end. */
    private function end(): void
    {
        if ($this->end === 'fatal') {
            str_repeat('x', 1 << 45);
        }
        if ($this->end === 'time') {
            set_time_limit(1);
            for (;;) {
                strlen('x');
            }
        }
    }

    private function finish(string $name, string $until): string
    {
        unpark($this->waiting);
        while (!file_exists($until)) {
            usleep(1000);
            clearstatcache();
        }

        return self::json(self::changes($name));
    }

    /** A script that has called ignore_user_abort() goes on. */
    private function left(): string
    {
        for ($turns = 0; $this->waiting !== 0 && $turns < 500; $turns++) {
            usleep(1000);
        }

        return $this->waiting !== 0 && unpark($this->waiting) ? 'let go' : 'ended';
    }

    /** @return list<array<string, mixed>> what others changed of this request's own state while it waited */
    private function wait(): array
    {
        if ($this->alone) {
            return [];
        }
        stateTake('own');
        $this->waiting = taskId();
        unpark($this->watcher);
        try {
            park();

            return stateChanges('own');
        } finally {
            $this->waiting = 0;
            $this->ended = true;
        }
    }

    private function settled(): string
    {
        if ($this->waiting === 0 && !$this->ended) {
            $this->watcher = taskId();
            park(0.1);
        }

        return $this->waiting !== 0 || $this->ended ? 'settled' : 'runs';
    }

    /** One request: a worker that a fatal error has broken serves those that it has begun, and closes connections between requests. */
    private function observe(string $name): string
    {
        if ($this->settled() === 'runs') {
            return 'runs';
        }
        // Background work that the script has begun, and what it waits for.
        usleep(5000);
        $changes = self::changes($name);
        if ($this->waiting !== 0) {
            unpark($this->waiting);
        }

        return self::json($changes);
    }

    /** The report as the last line of the answer, whatever the script has sent of it. */
    private static function line(array $report): string
    {
        while (ob_get_level() > 0 && @ob_end_clean()) {
        }
        http_response_code(200);

        return "\n" . self::json($report);
    }

    private static function json(mixed $value): string
    {
        return json_encode($value, JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR);
    }
};
