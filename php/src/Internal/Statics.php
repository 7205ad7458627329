<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * Static properties of a framework's classes that its users set, restored after a request.
 *
 * It lists only properties that a request may set and that would be wrong in the next request; caches and wiring of boot
 * stay. A class or a property that this version of the framework does not have is skipped.
 *
 * @internal
 */
final class Statics
{
    public const HTTP_FOUNDATION = [
        \Symfony\Component\HttpFoundation\Request::class => [
            'trustedProxies', 'trustedHostPatterns', 'trustedHosts', 'trustedHeaderSet', 'httpMethodParameterOverride', 'formats',
            'requestFactory',
        ],
    ];

    public const LARAVEL = [
        \Illuminate\Database\Eloquent\Model::class => [
            'unguarded', 'snakeAttributes', 'ignoreOnTouch', 'encrypter', 'isBroadcasting', 'modelsShouldPreventLazyLoading',
            'lazyLoadingViolationCallback', 'modelsShouldPreventSilentlyDiscardingAttributes', 'discardedAttributeViolationCallback',
            'modelsShouldPreventAccessingMissingAttributes', 'missingAttributeViolationCallback',
            'modelsShouldAutomaticallyEagerLoadRelationships',
        ],
        \Illuminate\Database\Eloquent\Relations\Relation::class => ['morphMap', 'requireMorphMap'],
        \Illuminate\Database\Schema\Builder::class => ['defaultStringLength', 'defaultMorphKeyType'],
        \Illuminate\Http\Resources\Json\JsonResource::class => ['wrap'],
        \Illuminate\Pagination\AbstractPaginator::class => ['defaultView', 'defaultSimpleView'],
        \Illuminate\Support\DateFactory::class => ['dateClass', 'callable', 'factory'],
        \Illuminate\Support\Number::class => ['locale', 'currency'],
        \Illuminate\Support\Str::class => ['uuidFactory', 'ulidFactory', 'randomStringFactory'],
        \Illuminate\Validation\Rules\Password::class => ['defaultCallback'],
    ];

    /** @var list<array{\ReflectionProperty, mixed}> */
    private array $values = [];

    /** @param array<string, list<string>> $names properties by class */
    public function __construct(array $names)
    {
        foreach ($names as $class => $properties) {
            if (!\class_exists($class)) {
                continue;
            }
            foreach (\array_filter($properties, static fn (string $name): bool => \property_exists($class, $name)) as $name) {
                $property = new \ReflectionProperty($class, $name);
                $this->values[] = [$property, $property->getValue()];
            }
        }
    }

    public function restore(): void
    {
        foreach ($this->values as [$property, $value]) {
            if ($property->getValue() !== $value) {
                $property->setValue(null, $value);
            }
        }
    }
}
