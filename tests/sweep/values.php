<?php

// Arguments: one that is usual for a parameter, by its type and name; and those with which PHP code runs in the middle of a call.

declare(strict_types=1);

final class Values
{
    /** What a text of this name mostly is. */
    private const TEXTS = [
        '/pattern|regex/' => '/a/', '/^(file_?name|file|path|from|to|target|link|source_file|image_file|uri|filepath)$/' => 'a.txt', '/dir|folder/' => '.',
        '/format/' => '%s', '/encoding|charset/' => 'UTF-8', '/class/' => 'ArrayObject', '/function|callback|callable/' => 'strcmp', '/algo/' => 'md5',
        '/cipher/' => 'aes-128-cbc', '/timezone/' => 'UTC', '/locale/' => 'en', '/date|time/' => '2020-01-01', '/json/' => '{"a":[1,{"b":2}]}',
        '/xml|source|html|data|input/' => '<a b="c"><d>1</d></a>', '/url/' => 'data:,text', '/host/' => '127.0.0.1', '/query|sql/' => 'SELECT 1', '/mode/' => 'r+',
        '/separator|delimiter/' => ',', '/enclosure|escape/' => '"', '/property|member/' => 'kept', '/method/' => 'count', '/extension/' => 'json',
        '/^name$/' => 'kept', '/expression/' => '//d', '/interval|duration/' => 'P1D', '/address|ip/' => '127.0.0.1', '/protocol/' => 'tcp', '/dsn/' => 'sqlite::memory:',
        '/type/' => 'string', '/filter/' => 'string.rot13', '/modifier/' => '+1 day',
    ];

    public static function usual(ReflectionParameter $parameter, int $depth = 0): mixed
    {
        $name = strtolower($parameter->getName());
        if ($parameter->isDefaultValueAvailable() && $parameter->isOptional()) {
            return $parameter->getDefaultValue();
        }
        foreach (self::types($parameter) as $type) {
            switch ($type) {
                case 'array': case 'iterable': return ['b' => 'two', 'a' => 'one'];
                case 'string': return self::text($name);
                case 'int': return preg_match('/flag|option|mode/', $name) ? 0 : 1;
                case 'float': return 1.0;
                case 'bool': case 'true': return true;
                case 'false': return false;
                case 'callable': return static function (...$arguments) { Wait::here(); return $arguments[0] ?? 1; };
                case 'object': return new Node();
                case 'null': break;
                case 'mixed': return preg_match('/array/', $name) ? ['b' => 'two', 'a' => 'one'] : 'text';
                case 'none': return match (true) {
                    (bool) preg_match('/stream|handle|^fp$|socket|^from$|^to$/', $name) => Streams::plain(),
                    (bool) preg_match('/context/', $name) => stream_context_create(),
                    (bool) preg_match('/callback|function/', $name) => static function () { Wait::here(); return 1; },
                    default => 'text',
                };
                default: return Objects::of($type, $depth);
            }
        }
        return null;
    }

    private static function text(string $name): string
    {
        foreach (self::TEXTS as $pattern => $text) {
            if (preg_match($pattern, $name)) {
                return $text;
            }
        }
        return 'text';
    }

    /** @return list<string> names of types; 'none' where there is none */
    public static function types(ReflectionParameter $parameter): array
    {
        $type = $parameter->getType();
        if (!$type) {
            return ['none'];
        }
        $names = array_map(static fn ($one) => $one->getName(), $type instanceof ReflectionNamedType ? [$type] : $type->getTypes());
        return $type->allowsNull() && !in_array('mixed', $names, true) ? [...array_diff($names, ['null']), 'null'] : $names;
    }

    /** @return list<string> the kinds of special arguments that a parameter accepts */
    public static function kinds(ReflectionParameter $parameter): array
    {
        $name = strtolower($parameter->getName());
        $kinds = [];
        foreach (self::types($parameter) as $type) {
            $kinds = [...$kinds, ...match ($type) {
                'string' => ['text', 'null', ...(preg_match('/file|path|^from$|^to$|dir|uri|url|target|link/', $name) ? ['url', 'folder'] : []),
                    ...(preg_match('/class/', $name) ? ['class'] : [])],
                'int', 'float', 'bool' => ['null', 'fraction'],
                'array', 'iterable' => [...self::ARRAYS, ...($type === 'iterable' ? ['steps', 'generator'] : [])],
                'mixed', 'object' => [...self::OBJECTS, ...($type === 'mixed' ? ['text', 'fraction', ...self::ARRAYS] : [])],
                'callable' => ['callable', 'echoing', 'deprecated', 'method'],
                'none' => match (true) {
                    (bool) preg_match('/stream|handle|^fp$|socket|^from$|^to$/', $name) => ['stream', 'filtered', 'plain', 'dir'],
                    (bool) preg_match('/context/', $name) => ['context'],
                    (bool) preg_match('/callback|function/', $name) => ['callable', 'echoing', 'deprecated', 'method'],
                    default => ['text', 'null', ...self::ARRAYS, ...self::OBJECTS],
                },
                'Traversable', 'Iterator', 'IteratorAggregate' => ['steps', 'generator', 'magic', 'of:ArrayIterator', 'waiting:ArrayIterator'],
                'null', 'self', 'static', 'true', 'false' => [],
                default => ["of:$type", "waiting:$type"],
            }];
        }
        return array_values(array_unique($kinds));
    }

    private const ARRAYS = ['texts', 'arrays', 'nodes', 'magics', 'callables', 'deadly'];
    private const OBJECTS = [
        'magic', 'node', 'asleep', 'steps', 'generator', 'callable', 'of:ArrayObject', 'waiting:ArrayObject', 'of:ArrayIterator', 'waiting:ArrayIterator',
        'of:SplObjectStorage', 'waiting:SplObjectStorage', 'of:SplDoublyLinkedList', 'of:SplFixedArray', 'of:SplMinHeap', 'of:SplPriorityQueue', 'of:WeakMap',
        'of:DateTime', 'of:SimpleXMLElement',
    ];

    /** Whether texts are made in the place of objects that are texts: what is equal to a value of the same kind. */
    private static bool $texts = false;

    public static function piece(string $text): string|Text
    {
        return self::$texts ? $text : new Text($text);
    }

    /** A value that is equal to the one of the kind, and has no code in it. */
    public static function like(string $kind): mixed
    {
        self::$texts = true;
        try {
            return self::special($kind);
        } finally {
            self::$texts = false;
        }
    }

    /** An argument of a kind. */
    public static function special(string $kind): mixed
    {
        $class = explode(':', $kind)[1] ?? '';
        return match (explode(':', $kind)[0]) {
            'text' => new Text(),
            'null' => null,
            'fraction' => 1.5,
            'url' => 'sweep://x',
            'folder' => 'sweep://folder',
            'class' => 'Computed',
            'texts' => self::shared(['b' => self::piece('b'), 'a' => self::piece('a'), 'x' => 'c', 'y' => 'd']),
            'arrays' => self::shared([['b' => [1], 'a' => self::piece('1')], ['b' => [2], 'a' => 'x'], [[3]]]),
            'nodes' => self::shared([new Node(self::piece('1'), [self::piece('1')]), new Node([self::piece('1')], new Node(self::piece('1'))), new Node('x', 'y')]),
            'magics' => self::shared([self::piece('1'), new Magic(), 'k' => new Magic(), new Asleep()]),
            'callables' => self::shared(['a' => static fn () => Wait::here() ?? '1', 'Child::compare', [new Child(), 'parent::compare']]),
            'deadly' => self::shared([new Dies(), [new Dies()], 'x']),
            'magic' => new Magic(),
            'node' => new Node(new Node(self::piece('1'), [new Magic(), self::piece('1')]), [[self::piece('1')], new Magic(), new Asleep()]),
            'asleep' => new Asleep(),
            'steps' => new Steps(['a' => new Text(), 'b' => [new Text()]]),
            'generator' => steps(),
            'callable' => static function () { Wait::here(); return 1; },
            'echoing' => static function (...$arguments) { Wait::here(); return $arguments[0] ?? 'text'; },
            'deprecated' => [new Child(), 'parent::compare'],
            'method' => [new Magic(), 'compare'],
            'stream' => Streams::wrapped(),
            'filtered' => Streams::filtered(),
            'plain' => Streams::plain(),
            'dir' => opendir('sweep://folder'),
            'context' => stream_context_create(['sweep' => ['a' => new Text()]], ['notification' => [new Magic(), 'compare']]),
            'of' => Objects::of($class),
            'waiting' => Objects::waiting($class),
        };
    }

    /** An array with a part that others can change: a reference. */
    private static function shared(array $array): array
    {
        $inner = ['i' => new Text(), 'j' => [new Text('j'), new Node(new Text())], 'k' => str_repeat('k', 40)];
        Act::$inner = &$inner;
        $array['ref'] = &$inner;
        return $array;
    }
}

/** Its constants call code that warns. */
final class Computed
{
    public const TEXT = [1.5 => 'a'];
    public static $list = [1.5 => 'a', 'b'];
    public $one = [2.5 => 'c'];
}

final class Streams
{
    public static function plain()
    {
        $stream = fopen('php://temp', 'w+');
        fwrite($stream, "one,two\nthree\n");
        rewind($stream);
        return $stream;
    }

    public static function wrapped()
    {
        return fopen('sweep://x', 'r+');
    }

    public static function filtered()
    {
        $stream = self::plain();
        stream_filter_append($stream, 'sweep');
        return $stream;
    }
}
