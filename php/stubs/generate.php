<?php

declare(strict_types=1);

// Writes library.stub.php: what user code can see of php/src, without bodies and private members. For editors; a test keeps it fresh.
//
//     php php/stubs/generate.php > php/stubs/library.stub.php

namespace Hearth\Stubs;

const FILES = [
    'errors.php', 'Response.php', 'functions.php', 'Timer.php', 'Channel.php', 'Semaphore.php', 'Mutex.php', 'Local.php',
    'Pool/errors.php', 'Pool/Pool.php', 'Pool/Statement.php', 'Pool/Pdo.php', 'Cache/SimpleCache.php', 'Cache/Pool.php',
    'Cache/SymfonyCache.php', 'Cache/LaravelStore.php',
];

const REDIS = <<<'PHP'
    /** A \Redis whose commands go to the connection that the current task has. */
    final class Redis extends \Redis
    {
        /**
         * @param string|null $host name, address, or path of a socket; null = `connect()` says it later
         * @param float $timeout seconds for connecting, 0 = as php.ini has it
         * @param float $readTimeout seconds for an answer, 0 = as php.ini has it
         * @param mixed $auth password, or [user, password]
         * @param array<int, mixed> $options `Redis::OPT_…` of every connection
         * @param mixed ...$pool options of `Pool`, by name
         * @throws \ValueError on wrong options of the pool
         */
        public function __construct(?string $host = null, int $port = 6379, float $timeout = 0.0, float $readTimeout = 0.0, mixed $auth = null, int $database = 0, array $options = [], mixed ...$pool) {}

        /** The pool behind it, for its statistics and its operations. */
        public function pool(): Pool {}
    }

    PHP;

/** @return list<\PhpToken> from $at to the one that closes what opens there */
function block(array $tokens, int $at): array
{
    $depth = 0;
    for ($end = $at; ; ++$end) {
        $depth += match (true) {
            $tokens[$end]->text === '{' || $tokens[$end]->is([\T_CURLY_OPEN, \T_DOLLAR_OPEN_CURLY_BRACES]) => 1,
            $tokens[$end]->text === '}' => -1,
            default => 0,
        };
        if ($depth === 0) {
            return \array_slice($tokens, $at, $end - $at + 1);
        }
    }
}

/** The declarations among the tokens of a file, or of the body of a class. */
function declarations(array $tokens): string
{
    $out = '';
    $member = [];
    for ($i = 0; $i < \count($tokens); ++$i) {
        $token = $tokens[$i];
        $member[] = $token;
        if ($token->text === '{') {
            $body = block($tokens, $i);
            $i += \count($body) - 1;
            \array_pop($member);
            $out .= declaration($member, \array_slice($body, 1, -1));
            $member = [];
        } elseif ($token->text === ';') {
            $out .= declaration($member, null);
            $member = [];
        }
    }

    return $out;
}

/** @param list<\PhpToken>|null $body null = it has none */
function declaration(array $head, ?array $body): string
{
    $has = static fn (int $kind): bool => \array_filter(beforeParentheses($head), static fn (\PhpToken $token) => $token->is($kind)) !== [];
    $text = \implode('', \array_map(static fn (\PhpToken $token) => $token->text, $head));
    if ($has(\T_NAMESPACE) || $has(\T_USE) || $has(\T_DECLARE) || $has(\T_OPEN_TAG) || $has(\T_RETURN) || $has(\T_PRIVATE) || \str_contains($text, '@internal') && !\str_contains($text, '__construct')) {
        return '';
    }
    if ($has(\T_IF)) {
        // Declared under a condition: the first branch is what editors should know.
        return \str_contains($text, 'class_exists') && \str_contains($text, 'PDOException') ? declarations($body) : '';
    }
    if ($has(\T_ELSE)) {
        return '';
    }
    $text = \rtrim($text);
    if ($body === null) {
        return "$text\n";
    }

    return $has(\T_FUNCTION) ? "$text {}\n" : "$text\n{" . declarations($body) . "}\n";
}

/** @return list<\PhpToken> */
function beforeParentheses(array $tokens): array
{
    foreach ($tokens as $at => $token) {
        if ($token->text === '(' && !$tokens[\max(0, $at - 1)]->is(\T_IF)) {
            return \array_slice($tokens, 0, $at);
        }
    }

    return $tokens;
}

function generate(): string
{
    $files = ['Hearth' => '', 'Hearth\Pool' => ''];
    foreach (FILES as $file) {
        $source = \file_get_contents(__DIR__ . "/../src/$file");
        $files[\str_starts_with($file, 'Pool/') ? 'Hearth\Pool' : 'Hearth'] .= declarations(\PhpToken::tokenize($source)) . "\n";
    }
    $text = "<?php\n\n// Made by generate.php from php/src. The classes and functions of Hearth that are written in PHP; for editors, not loaded at run time.\n";
    foreach ($files as $namespace => $declarations) {
        $declarations = \preg_replace("/\n{3,}/", "\n\n", \trim($declarations) . ($namespace === 'Hearth\Pool' ? "\n\n" . REDIS : "\n"));
        $text .= "\nnamespace $namespace {\n\n" . $declarations . "}\n";
    }

    return $text;
}

if (\realpath($_SERVER['SCRIPT_FILENAME'] ?? '') === __FILE__) {
    echo generate();
}
