<?php

declare(strict_types=1);

use Psr\Http\Message\ResponseInterface as Response;
use Psr\Http\Message\ServerRequestInterface as Request;

function write(Response $response, string $text): Response
{
    $response->getBody()->write($text);

    return $response;
}

/** @param Slim\App $app */
function routes(object $app): void
{
    $app->get('/', fn (Request $request, Response $response) => write($response, 'home'));
    $app->get('/user/{id}', fn (Request $request, Response $response, array $arguments) => write(
        $response->withHeader('Content-Type', 'application/json'),
        json_encode(['id' => (int) $arguments['id'], 'query' => $request->getQueryParams()['q'] ?? null]),
    ));
    $app->post('/form', fn (Request $request, Response $response) => write($response, "hello {$request->getParsedBody()['name']}"));
    $app->post('/login', function (Request $request, Response $response) {
        ['name' => $name, 'password' => $password] = $request->getParsedBody();
        if ($password !== "secret of $name") {
            return write($response->withStatus(403), 'no');
        }
        session_start();
        session_regenerate_id(true);
        $_SESSION['user'] = $name;

        return $response->withStatus(302)->withHeader('Location', '/me');
    });
    $app->get('/me', function (Request $request, Response $response) {
        session_start();

        return write($response, $_SESSION['user'] ?? 'guest');
    });
    $app->post('/upload', function (Request $request, Response $response) {
        $file = $request->getUploadedFiles()['file'];

        return write($response, json_encode([
            $file->getError() === UPLOAD_ERR_OK, $file->getClientFilename(), $file->getSize(), (string) $file->getStream(),
        ]));
    });
    $app->get('/redirect', fn (Request $request, Response $response) => $response->withStatus(302)->withHeader('Location', '/'));
    $app->get('/cookie', fn (Request $request, Response $response) => write($response->withHeader('Set-Cookie', 'flavour=vanilla'), 'set'));
    $app->get('/cookie/read', fn (Request $request, Response $response) => write($response, $request->getCookieParams()['flavour'] ?? 'none'));
    $app->get('/throw', function (): void {
        throw new RuntimeException('thrown on purpose');
    });
    $app->get('/stream', fn (Request $request, Response $response) => write(
        $response->withHeader('X-Streamed', 'yes')->withHeader('Content-Type', 'text/plain'),
        str_repeat("a line of text\n", 20000),
    ));
    $app->get('/fields', fn (Request $request, Response $response) => write($response, json_encode([
        'proxy' => $request->getServerParams()['HTTP_PROXY'] ?? null,
        'forwarded' => $request->getServerParams()['HTTP_X_FORWARDED_FOR'] ?? null,
        'cookie' => $request->getHeaderLine('Cookie'),
        'cookies' => array_values($request->getCookieParams()),
        'twice' => $request->getHeaderLine('X-Twice'),
    ])));
    $app->get('/memory', fn (Request $request, Response $response) => write($response, gc_collect_cycles() . ' ' . memory_get_usage()));
}
