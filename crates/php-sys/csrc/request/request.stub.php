<?php

namespace Hearth {

    /**
     * A request. Nothing of it is parsed before it is asked for.
     *
     * ```php
     * return fn (Hearth\Request $request) => "Hello {$request->query('name', 'world')}\n";
     * ```
     */
    final class Request
    {
        /** `GET`, `POST`, … as the client sent it. */
        public readonly string $method;

        /** What the request line asks for: path and query string, undecoded. */
        public readonly string $target;

        /** The path of the target, undecoded, without the query string. */
        public readonly string $path;

        /** What follows the `?`, undecoded; '' if nothing does. */
        public readonly string $queryString;

        /** `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`. */
        public readonly string $protocol;

        private function __construct()
        {
        }

        /**
         * A parameter of the query string, parsed as for `$_GET`.
         *
         * @param string|null $name null = all, as an array
         * @param mixed $default for a parameter that is not there
         * @return ($name is null ? array<array-key, string|array> : mixed)
         */
        public function query(?string $name = null, mixed $default = null): mixed
        {
        }

        /** A header, in any case; several lines joined by a comma; null if it is not there. */
        public function header(string $name): ?string
        {
        }

        /** @return array<string, list<string>> all headers by name */
        public function headers(): array
        {
        }

        /**
         * A cookie, decoded.
         *
         * @param string|null $name null = all, as an array
         * @return ($name is null ? array<string, string> : mixed)
         */
        public function cookie(?string $name = null, mixed $default = null): mixed
        {
        }

        /** The whole body; waits until it has arrived. */
        public function body(): string
        {
        }

        /**
         * The body as a stream to read from; reading waits for what has not arrived yet.
         *
         * @return resource
         */
        public function stream()
        {
        }

        /**
         * The body decoded as JSON; objects become arrays.
         *
         * @param int $flags `JSON_…` constants
         * @throws \JsonException
         */
        public function json(int $flags = 0): mixed
        {
        }

        /**
         * A field of the form in the body (urlencoded or multipart), as in `$_POST`.
         *
         * @param string|null $name null = all, as an array
         * @return ($name is null ? array<array-key, string|array> : mixed)
         */
        public function form(?string $name = null, mixed $default = null): mixed
        {
        }

        /** @return array<string, array<string, mixed>> the uploaded files, as in `$_FILES` */
        public function files(): array
        {
        }

        /** The client's address; that of the client behind them if it came through trusted proxies. */
        public function client(): string
        {
        }

        /** Whether the client uses HTTPS, also through trusted proxies. */
        public function isSecure(): bool
        {
        }

        /** What middleware attached to the request. */
        public function attribute(string $name, mixed $default = null): mixed
        {
        }

        /** A copy with an attribute. */
        public function withAttribute(string $name, mixed $value): static
        {
        }
    }
}
