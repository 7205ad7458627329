<?php

declare(strict_types=1);

namespace Hearth;

/**
 * A handler's response. Immutable: each `with…()` returns a changed copy.
 *
 * Without a `Content-Type` header the server sends `text/html; charset=UTF-8`.
 *
 * ```php
 * return (new Hearth\Response('<h1>Hello</h1>'))->withCookie('seen', '1')->withHeader('Cache-Control', 'no-store');
 * ```
 */
final class Response
{
    private int $status;

    /** @var array<string, list<string>> by name as given */
    private array $headers;

    /** @var string|iterable<string> */
    private mixed $body;

    private ?string $file;

    /**
     * @param string|iterable<string> $body an iterable is streamed, each piece sent as soon as it is there
     * @param int $status 200 to 599
     * @param array<string, string|int|float|list<string|int|float>> $headers
     * @throws \ValueError on a status out of range, or an invalid header
     */
    public function __construct(string|iterable $body = '', int $status = 200, array $headers = [])
    {
        if ($status < 200 || $status > 599) {
            throw self::wrongStatus($status);
        }
        $this->status = $status;
        $this->headers = $headers === [] ? [] : Internal\Headers::checkedHeaders($headers);
        $this->body = $body;
        $this->file = null;
    }

    /**
     * Makes a response with any data as JSON, slashes and non-ASCII characters unescaped.
     *
     * @param int $flags additional `JSON_…` constants
     * @param array<string, string|list<string>> $headers
     * @throws \JsonException when $data cannot be encoded
     */
    public static function json(mixed $data, int $status = 200, array $headers = [], int $flags = 0): self
    {
        $body = \json_encode($data, $flags | \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES | \JSON_UNESCAPED_UNICODE);
        $response = new self($body, $status);
        $response->headers = $headers === []
            ? ['Content-Type' => ['application/json']]
            : Internal\Headers::withDefaults($headers, ['Content-Type' => ['application/json']]);

        return $response;
    }

    /**
     * Makes a response that redirects the client to another location.
     *
     * @param int $status 301, 302, 303, 307 or 308
     * @throws \ValueError
     */
    public static function redirect(string $location, int $status = 302): self
    {
        if (!\in_array($status, [301, 302, 303, 307, 308], true)) {
            throw new \ValueError("$status is not the status of a redirect: 301, 302, 303, 307 or 308 are");
        }
        if ($location === '') {
            throw new \ValueError('the location of a redirect must not be empty');
        }

        return new self('', $status, ['Location' => $location]);
    }

    /**
     * Makes a response with a file, which the server itself sends, with ranges, `ETag` and `Last-Modified`.
     *
     * @param string $path path of the file, as the worker sees it
     * @param string|null $downloadAs makes the browser save the file under this name
     * @param array<string, string|list<string>> $headers the `Content-Type` follows from the file's extension unless given
     * @throws \ValueError
     */
    public static function file(string $path, ?string $downloadAs = null, array $headers = []): self
    {
        if ($path === '' || \str_contains($path, "\0")) {
            throw new \ValueError('the path of a file must not be empty nor contain NUL bytes');
        }
        $response = new self('', 200, $headers);
        $response->file = $path;

        return $downloadAs === null ? $response : $response->withHeader('Content-Disposition', Internal\Headers::attachment($downloadAs));
    }

    /**
     * Makes a response whose body is made while it is sent: each piece is sent at once; a slow client suspends the task.
     *
     * @param iterable<string> $pieces
     * @param array<string, string|list<string>> $headers
     */
    public static function stream(iterable $pieces, int $status = 200, array $headers = []): self
    {
        return new self($pieces, $status, $headers);
    }

    /**
     * Makes a response of server-sent events, for the browser's `EventSource`.
     *
     * Each item is the event's data, or an array with any of `data`, `event` (its type), `id`, `retry` (seconds as float) and
     * `comment`. Data that is no string is sent as JSON. A `null` sends a comment that keeps the connection alive.
     *
     * ```php
     * return Response::events((function () {
     *     foreach ($this->prices() as $id => $price) { yield ['event' => 'price', 'id' => $id, 'data' => $price]; }
     * })());
     * ```
     *
     * @param iterable<string|array<string, mixed>|\JsonSerializable|null> $events
     * @param array<string, string|list<string>> $headers
     */
    public static function events(iterable $events, array $headers = []): self
    {
        $defaults = [
            'Content-Type' => ['text/event-stream'],
            'Cache-Control' => ['no-cache'],
            'X-Accel-Buffering' => ['no'],
        ];
        $response = new self(Internal\Events::eventStream($events));
        $response->headers = $headers === [] ? $defaults : Internal\Headers::withDefaults($headers, $defaults);

        return $response;
    }

    /** @throws \ValueError */
    public function withStatus(int $status): self
    {
        if ($status < 200 || $status > 599) {
            throw self::wrongStatus($status);
        }
        $copy = clone $this;
        $copy->status = $status;

        return $copy;
    }

    /**
     * Returns a copy with this header only, whatever it was before; names are case-insensitive.
     *
     * @param string|int|float|list<string|int|float> $value a list makes several lines
     * @throws \ValueError when the name or a value contains characters that a header must not have, such as line breaks
     */
    public function withHeader(string $name, string|int|float|array $value): self
    {
        $copy = $this->withoutHeader($name);
        $copy->headers[$name] = Internal\Headers::checkedHeader($name, $value);

        return $copy;
    }

    /**
     * Returns a copy with one more line of this header.
     *
     * @param string|int|float|list<string|int|float> $value
     * @throws \ValueError
     */
    public function withAddedHeader(string $name, string|int|float|array $value): self
    {
        $copy = clone $this;
        $key = Internal\Headers::headerKey($this->headers, $name) ?? $name;
        $copy->headers[$key] = [...$this->headers[$key] ?? [], ...Internal\Headers::checkedHeader($name, $value)];

        return $copy;
    }

    public function withoutHeader(string $name): self
    {
        $copy = clone $this;
        while (($key = Internal\Headers::headerKey($copy->headers, $name)) !== null) {
            unset($copy->headers[$key]);
        }

        return $copy;
    }

    /**
     * Returns a copy with a cookie, as `setcookie()` makes it; the value is percent-encoded.
     *
     * @param int|\DateTimeInterface $expires Unix time; 0 = at the end of the browser's session
     * @param string $sameSite `Lax`, `Strict`, `None` (needs $secure) or '' for no such attribute
     * @throws \ValueError
     */
    public function withCookie(
        string $name,
        string $value,
        int|\DateTimeInterface $expires = 0,
        string $path = '/',
        string $domain = '',
        bool $secure = false,
        bool $httpOnly = true,
        string $sameSite = 'Lax',
    ): self {
        $cookie = Internal\Headers::cookie($name, $value, $expires, $path, $domain, $secure, $httpOnly, $sameSite);

        return $this->withAddedHeader('Set-Cookie', $cookie);
    }

    /** Returns a copy that tells the browser to delete a cookie; path and domain must be those it was set with. */
    public function withoutCookie(string $name, string $path = '/', string $domain = ''): self
    {
        return $this->withCookie($name, '', 1, $path, $domain);
    }

    /** @param string|iterable<string> $body */
    public function withBody(string|iterable $body): self
    {
        $copy = clone $this;
        $copy->body = $body;
        $copy->file = null;

        return $copy;
    }

    public function status(): int
    {
        return $this->status;
    }

    /** @return array<string, list<string>> by name as given */
    public function headers(): array
    {
        return $this->headers;
    }

    /** Returns the header's lines joined by a comma, null if it is not set. */
    public function header(string $name): ?string
    {
        $key = Internal\Headers::headerKey($this->headers, $name);

        return $key === null ? null : \implode(', ', $this->headers[$key]);
    }

    /** @return string|iterable<string> '' for a file */
    public function body(): string|iterable
    {
        return $this->body;
    }

    /** Returns the path of the file that is sent, null for another body. */
    public function filePath(): ?string
    {
        return $this->file;
    }

    private static function wrongStatus(int $status): \ValueError
    {
        return new \ValueError("$status is not the status of a response: 200 to 599 are");
    }
}
