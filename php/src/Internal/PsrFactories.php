<?php

declare(strict_types=1);

namespace Hearth\Internal;

use Psr\Http\Message\ServerRequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Message\UploadedFileFactoryInterface;

/**
 * The PSR-17 factories of the PSR-7 package that the app has installed.
 *
 * @internal
 */
final class PsrFactories
{
    private const KNOWN = [
        ['Nyholm\Psr7\Factory\Psr17Factory', 'Nyholm\Psr7\Factory\Psr17Factory', 'Nyholm\Psr7\Factory\Psr17Factory'],
        ['GuzzleHttp\Psr7\HttpFactory', 'GuzzleHttp\Psr7\HttpFactory', 'GuzzleHttp\Psr7\HttpFactory'],
        ['Slim\Psr7\Factory\ServerRequestFactory', 'Slim\Psr7\Factory\StreamFactory', 'Slim\Psr7\Factory\UploadedFileFactory'],
        [
            'Laminas\Diactoros\ServerRequestFactory',
            'Laminas\Diactoros\StreamFactory',
            'Laminas\Diactoros\UploadedFileFactory',
        ],
        [
            'HttpSoft\Message\ServerRequestFactory',
            'HttpSoft\Message\StreamFactory',
            'HttpSoft\Message\UploadedFileFactory',
        ],
    ];

    public function __construct(
        public readonly ServerRequestFactoryInterface $request,
        public readonly StreamFactoryInterface $stream,
        public readonly UploadedFileFactoryInterface $file,
    ) {
    }

    /** @throws \LogicException when none is installed */
    public static function installed(): self
    {
        foreach (self::KNOWN as [$request, $stream, $file]) {
            if (\class_exists($request)) {
                return new self(new $request(), new $stream(), new $file());
            }
        }
        throw new \LogicException(
            'the script returned a PSR-15 handler, but no PSR-17 factories are installed. '
            . 'Install one of nyholm/psr7, guzzlehttp/psr7, slim/psr7, laminas/laminas-diactoros, httpsoft/http-message',
        );
    }
}
