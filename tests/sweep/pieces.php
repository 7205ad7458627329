<?php

// Values that run PHP code when an extension or the engine uses them.

declare(strict_types=1);

/** Calls every method that the engine knows. */
class Magic implements IteratorAggregate, ArrayAccess, Countable, JsonSerializable, Stringable
{
    public $kept;
    public array $list = [];
    private $hidden;

    public function __construct()
    {
        $this->kept = str_repeat('k', 40);
        $this->list = ['a' => str_repeat('a', 40), 'b' => [str_repeat('b', 40)]];
        $this->hidden = [1, 2, [3]];
    }

    public function __toString(): string { Wait::here(); return '1'; }
    public function __get($name) { Wait::here(); return $this->list['a'] ?? null; }
    public function __set($name, $value): void { Wait::here(); }
    public function __isset($name): bool { Wait::here(); return true; }
    public function __unset($name): void { Wait::here(); }
    public function __call($name, $arguments) { Wait::here(); return $arguments[0] ?? 1; }
    public static function __callStatic($name, $arguments) { Wait::here(); return $arguments[0] ?? 1; }
    public function __invoke(...$arguments) { Wait::here(); return $arguments[0] ?? 1; }
    public function __clone() { Wait::here(); }
    public function __serialize(): array { Wait::here(); return [$this->kept, $this->list]; }
    public function __unserialize(array $data): void { Wait::here(); }
    public function __debugInfo() { Wait::here(); return ['kept' => $this->kept, 'list' => $this->list]; }
    public function getIterator(): Iterator { Wait::here(); return new Steps($this->list); }
    public function offsetExists(mixed $offset): bool { Wait::here(); return true; }
    public function offsetGet(mixed $offset): mixed { Wait::here(); return $this->list; }
    public function offsetSet(mixed $offset, mixed $value): void { Wait::here(); }
    public function offsetUnset(mixed $offset): void { Wait::here(); }
    public function count(): int { Wait::here(); return count($this->list); }
    public function jsonSerialize(): mixed { Wait::here(); return $this->list; }
    public function compare($one, $other) { Wait::here(); return 1; }
}

/** A child whose `parent::compare` is a deprecated callable. */
class Child extends Magic
{
    public function call($function, array $arguments)
    {
        return $function(...$arguments);
    }
}

final class Text
{
    public function __construct(private string $text = '1') {}
    public function __toString(): string { Wait::here(); return $this->text; }
}

final class Steps implements Iterator
{
    public $kept;
    public function __construct(public array $list = ['a' => 1, 'b' => 2]) { $this->kept = str_repeat('s', 40); }
    public function current(): mixed { Wait::here(); return current($this->list); }
    public function key(): mixed { Wait::here(); return key($this->list); }
    public function next(): void { Wait::here(); next($this->list); }
    public function rewind(): void { Wait::here(); reset($this->list); }
    public function valid(): bool { Wait::here(); return key($this->list) !== null; }
}

class Node
{
    public $one;
    public $two;
    public ?array $list = null;

    public function __construct($one = null, $two = null)
    {
        [$this->one, $this->two] = [$one, $two];
        $this->list = [str_repeat('l', 40)];
    }
}

final class Asleep
{
    public $one = 1;
    public $two = [2];
    public function __sleep(): array { Wait::here(); return ['one', 'two']; }
    public function __wakeup(): void { Wait::here(); }
}

final class Dies
{
    public $kept = [1];
    public function __destruct() { Wait::here(); }
}

/** A stream whose every function runs PHP code. */
final class Wrapper
{
    public $context;
    private int $at = 0;
    private static string $content = "one,two\nthree,four\n{\"a\":1}\n<a><b/></a>\n";

    private function piece(int $count): string
    {
        $piece = substr(self::$content, $this->at, $count);
        $this->at += strlen($piece);
        return $piece;
    }

    public function stream_open($path, $mode, $options, &$opened): bool { Wait::here(); return true; }
    public function stream_read($count): string { Wait::here(); return $this->piece($count); }
    public function stream_write($data): int { Wait::here(); return strlen($data); }
    public function stream_eof(): bool { Wait::here(); return $this->at >= strlen(self::$content); }
    public function stream_tell(): int { Wait::here(); return $this->at; }
    public function stream_seek($offset, $whence): bool { Wait::here(); $this->at = max(0, $offset); return $whence === SEEK_SET; }
    public function stream_stat(): array|false { Wait::here(); return ['size' => strlen(self::$content), 'mode' => 0100644]; }
    public function url_stat($path, $flags): array|false { Wait::here(); return ['size' => 9, 'mode' => str_ends_with($path, 'folder') ? 040755 : 0100644]; }
    public function stream_flush(): bool { Wait::here(); return true; }
    public function stream_close(): void { Wait::here(); }
    public function stream_lock($operation): bool { Wait::here(); return true; }
    public function stream_truncate($size): bool { Wait::here(); return true; }
    public function stream_metadata($path, $option, $value): bool { Wait::here(); return true; }
    public function stream_set_option($option, $one, $other): bool { Wait::here(); return false; }
    public function stream_cast($as) { Wait::here(); return false; }
    public function dir_opendir($path, $options): bool { Wait::here(); return true; }
    public function dir_readdir(): string|false { Wait::here(); return ['a', 'b', 'c'][$this->at++] ?? false; }
    public function dir_rewinddir(): bool { Wait::here(); $this->at = 0; return true; }
    public function dir_closedir(): bool { Wait::here(); return true; }
    public function mkdir($path, $mode, $options): bool { Wait::here(); return true; }
    public function rmdir($path, $options): bool { Wait::here(); return true; }
    public function rename($from, $to): bool { Wait::here(); return true; }
    public function unlink($path): bool { Wait::here(); return true; }
}

final class Filter extends php_user_filter
{
    public function onCreate(): bool { Wait::here(); return true; }
    public function onClose(): void { Wait::here(); }

    public function filter($in, $out, &$consumed, bool $closing): int
    {
        while ($bucket = stream_bucket_make_writeable($in)) {
            Wait::here();
            $consumed += $bucket->datalen;
            stream_bucket_append($out, $bucket);
        }
        return PSFS_PASS_ON;
    }
}

function steps()
{
    Wait::here();
    $sent = yield 'a' => str_repeat('g', 40);
    Wait::here();
    yield 'b' => [$sent];
    Wait::here();
}
