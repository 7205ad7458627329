<?php

declare(strict_types=1);

namespace Hearth\Tests\Unit;

use Hearth\Tests\TestCase;

require_once __DIR__ . '/../../stubs/generate.php';

final class StubsTest extends TestCase
{
    public function testTheLibrarysStubsAreFresh(): void
    {
        $file = __DIR__ . '/../../stubs/library.stub.php';
        self::assertSame(\Hearth\Stubs\generate(), \file_get_contents($file), 'run: php php/stubs/generate.php > php/stubs/library.stub.php');
    }

    public function testTheStubsOfTheNativePartAreTrue(): void
    {
        if (!$this->native()) {
            self::markTestSkipped('needs the native part');
        }
        $stubs = \file_get_contents(__DIR__ . '/../../stubs/native.stub.php');
        \preg_match_all('/^    (?:namespace|function) (\w+)\((.*?)\): (\S+)$/m', $stubs, $functions, \PREG_SET_ORDER);
        self::assertGreaterThan(15, \count($functions));
        foreach ($functions as [, $name, $parameters, $type]) {
            $full = match (true) {
                \in_array($name, ['async', 'background', 'defer', 'requestId'], true) => "Hearth\\$name",
                \function_exists("Hearth\\Internal\\$name") => "Hearth\\Internal\\$name",
                // Of other servers.
                default => $name,
            };
            $function = new \ReflectionFunction($full);
            \preg_match_all('/\$(\w+)/', $parameters, $names);
            self::assertSame($names[1], \array_map(static fn ($parameter) => $parameter->name, $function->getParameters()), $full);
            self::assertStringEndsWith(\ltrim($type, '\\'), (string) $function->getReturnType(), $full);
        }
        foreach ((new \ReflectionClass(\Hearth\Request::class))->getMethods() as $method) {
            self::assertStringContainsString("function $method->name(", $stubs);
        }
    }
}
