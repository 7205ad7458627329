<?php

declare(strict_types=1);

namespace Hearth;

/** The native class, given its parts by the test. */
final class Request
{
    public function __construct(
        public readonly string $method = 'GET',
        public readonly string $target = '/',
        private readonly array $headers = [],
        private readonly string $body = '',
        private readonly array $form = [],
        private readonly array $files = [],
        private array $attributes = [],
        public readonly string $protocol = 'HTTP/1.1',
    ) {
    }

    public function __get(string $name): string
    {
        return match ($name) {
            'path' => \explode('?', $this->target)[0],
            'queryString' => \explode('?', $this->target, 2)[1] ?? '',
        };
    }

    public function query(?string $name = null, mixed $default = null): mixed
    {
        \parse_str($this->queryString, $query);

        return $name === null ? $query : $query[$name] ?? $default;
    }

    public function header(string $name): ?string
    {
        foreach ($this->headers as $key => $lines) {
            if (\strcasecmp($key, $name) === 0) {
                return \implode(', ', $lines);
            }
        }

        return null;
    }

    public function headers(): array
    {
        return $this->headers;
    }

    public function cookie(?string $name = null, mixed $default = null): mixed
    {
        \parse_str(\strtr($this->header('Cookie') ?? '', ['; ' => '&']), $cookies);

        return $name === null ? $cookies : $cookies[$name] ?? $default;
    }

    public function form(?string $name = null, mixed $default = null): mixed
    {
        return $name === null ? $this->form : $this->form[$name] ?? $default;
    }

    public function body(): string
    {
        return $this->body;
    }

    /** @return resource */
    public function stream()
    {
        $stream = \fopen('php://temp', 'r+');
        \fwrite($stream, $this->body);
        \rewind($stream);

        return $stream;
    }

    public function files(): array
    {
        return $this->files;
    }

    public function client(): string
    {
        return '192.0.2.1';
    }

    public function isSecure(): bool
    {
        return false;
    }

    public function attribute(string $name, mixed $default = null): mixed
    {
        return $this->attributes[$name] ?? $default;
    }

    public function withAttribute(string $name, mixed $value): static
    {
        $copy = clone $this;
        $copy->attributes[$name] = $value;

        return $copy;
    }
}
