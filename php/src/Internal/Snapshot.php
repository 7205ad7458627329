<?php

declare(strict_types=1);

namespace Hearth\Internal;

/**
 * The properties of an object at one time, to be restored later.
 *
 * For services of a framework that a request changes and that have no reset. Arrays are kept as values; of objects in
 * properties only the identity, unless they are named as parts. Caches are restored only if another property has changed.
 *
 * @internal
 */
final class Snapshot
{
    /** @var list<array{\ReflectionProperty, mixed}> */
    private array $values = [];

    /** @var list<array{\ReflectionProperty, mixed}> */
    private array $caches = [];

    /** @var list<self> */
    private array $parts = [];

    /**
     * @param list<string> $parts properties whose objects are kept as well, recursively
     * @param list<string> $caches properties that hold results derived from the other properties
     */
    public function __construct(private readonly object $object, array $parts = [], array $caches = [])
    {
        for ($class = new \ReflectionObject($object); $class !== false; $class = $class->getParentClass()) {
            foreach ($class->getProperties() as $property) {
                if ($property->isStatic() || $property->isReadOnly() || !$property->isInitialized($object)) {
                    continue;
                }
                $value = $property->getValue($object);
                if (\in_array($property->getName(), $caches, true)) {
                    $this->caches[] = [$property, $value];
                    continue;
                }
                $this->values[] = [$property, $value];
                if (\is_object($value) && \in_array($property->getName(), $parts, true)) {
                    $this->parts[] = new self($value, $parts, $caches);
                }
            }
        }
    }

    public function restore(): void
    {
        $changed = false;
        foreach ($this->values as [$property, $value]) {
            if ($property->getValue($this->object) !== $value) {
                $property->setValue($this->object, $value);
                $changed = true;
            }
        }
        foreach ($changed ? $this->caches : [] as [$property, $value]) {
            $property->setValue($this->object, $value);
        }
        foreach ($this->parts as $part) {
            $part->restore();
        }
    }
}
