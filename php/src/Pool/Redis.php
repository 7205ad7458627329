<?php

declare(strict_types=1);

namespace Hearth\Pool;

if (!\class_exists(\Redis::class, false)) {
    return;
}

/*
 * Hearth\Pool\Redis extends \Redis: it has the methods of the installed version of phpredis, so its code is generated from
 * that class. RedisForwarding has the methods that are written by hand.
 */
(static function (): void {
    $type = static fn (?\ReflectionType $type): string => $type === null ? '' : \preg_replace_callback(
        '/\b[A-Za-z_][A-Za-z0-9_\\\\]*/',
        static fn (array $name): string => \class_exists($name[0], false) || \interface_exists($name[0], false) ? '\\' . $name[0] : $name[0],
        (string) $type,
    );
    $default = static function (\ReflectionParameter $parameter): string {
        if ($parameter->isVariadic() || !$parameter->isOptional()) {
            return '';
        }
        if (!$parameter->isDefaultValueAvailable()) {
            return ' = null';
        }

        return ' = ' . ($parameter->isDefaultValueConstant()
            ? '\\' . \preg_replace('/^self::/', 'Redis::', $parameter->getDefaultValueConstantName())
            : \var_export($parameter->getDefaultValue(), true));
    };
    $methods = '';
    foreach ((new \ReflectionClass(\Redis::class))->getMethods(\ReflectionMethod::IS_PUBLIC) as $method) {
        if ($method->isStatic() || $method->isFinal() || \method_exists(RedisForwarding::class, $method->name)) {
            continue;
        }
        $parameters = $references = [];
        foreach ($method->getParameters() as $parameter) {
            $parameters[] = \trim($type($parameter->getType()) . ' ' . ($parameter->isPassedByReference() ? '&' : '')
                . ($parameter->isVariadic() ? '...' : '') . "\$$parameter->name" . $default($parameter));
            if ($parameter->isPassedByReference()) {
                $references[] = "\$arguments[{$parameter->getPosition()}] = &\$$parameter->name; ";
            }
        }
        $return = $method->hasReturnType() ? ': ' . $type($method->getReturnType()) : '';
        $call = "\$this->forward('$method->name', " . ($references === [] ? '\\func_get_args())' : '$arguments)');
        $methods .= "#[\\ReturnTypeWillChange] public function $method->name(" . \implode(', ', $parameters) . ")$return { "
            . ($references === [] ? '' : '$arguments = \\func_get_args(); ' . \implode('', $references))
            . (\in_array($return, [': void', ': never'], true) ? '' : 'return ') . "$call; }\n";
    }
    eval(<<<PHP
        namespace Hearth\\Pool;
        /** A \\Redis whose commands go to the connection that the current task has. */
        final class Redis extends \\Redis
        {
            use RedisForwarding;

            /** Commands that leave something behind on their connection; with a reason, it cannot be lent again after them. */
            private const CHANGING = [
                'multi' => '', 'pipeline' => '', 'watch' => '', 'select' => '', 'subscribe' => 'subscribed', 'psubscribe' => 'subscribed',
                'ssubscribe' => 'subscribed', 'rawcommand' => 'raw command', 'rawCommand' => 'raw command', 'client' => 'client command',
                'reset' => 'raw command',
            ];

            $methods
        }
        PHP);
})();
