<?php

namespace {

    /**
     * For worker scripts of FrankenPHP: waits for a request and calls $callback in it.
     *
     * The callback finds the request in the superglobals and answers with `echo`, `header()` and `http_response_code()`. What
     * the script does after this call runs after the response was sent.
     *
     * ```php
     * while (frankenphp_handle_request(fn () => print "Hello {$_GET['name']}\n")) { gc_collect_cycles(); }
     * ```
     *
     * @return bool false when the script is to end
     * @throws \RuntimeException where there is no such loop
     */
    function frankenphp_handle_request(callable $callback): bool
    {
    }

    /** Sends the response as it is; the code goes on without its client. False when that was done before. */
    function frankenphp_finish_request(): bool
    {
    }

    /**
     * The same.
     *
     * @implementation-alias frankenphp_finish_request
     */
    function fastcgi_finish_request(): bool
    {
    }

    /**
     * @return array<string, string> the headers of the request, as `getallheaders()` has them
     *
     * @implementation-alias Hearth_getallheaders
     */
    function frankenphp_request_headers(): array
    {
    }

    /**
     * @return array<string, string> the headers set so far, as `apache_response_headers()` has them
     *
     * @implementation-alias Hearth_apache_response_headers
     */
    function frankenphp_response_headers(): array
    {
    }
}
