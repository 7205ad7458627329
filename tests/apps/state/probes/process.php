<?php
// What a process has one of and each request its own: as the code of a request sees it, and as a program does that it starts.

/** Whether the next number is one of a series that every one can compute who knows the seed. */
function is_predicted(int $number): bool
{
    static $series;
    $series ??= (function () {
        $engine = new Random\Engine\Mt19937(20240);

        return array_map(fn () => unpack('V', $engine->generate())[1] >> 1, range(1, 200));
    })();

    return in_array($number, $series, true);
}

return [
    'working directory' => [
        fn () => chdir('/usr'),
        fn () => [getcwd() === '/usr', file_exists('bin/env'), realpath('bin') === '/usr/bin'],
    ],
    'working directory of programs' => [fn () => chdir('/usr'), fn () => trim(shell_exec('pwd')) === '/usr'],
    'working directory, left and entered' => [
        function () { chdir('/usr'); chdir('/'); },
        fn () => [getcwd() === '/', is_dir('usr/bin')],
    ],
    'locale' => [fn () => setlocale(LC_ALL, 'C.UTF-8'), fn () => [setlocale(LC_ALL, 0), setlocale(LC_TIME, 0)]],
    'one category of the locale' => [fn () => setlocale(LC_NUMERIC, 'C.UTF-8'), fn () => [setlocale(LC_NUMERIC, 0), setlocale(LC_TIME, 0)]],
    'the locale of characters' => [fn () => setlocale(LC_CTYPE, 'C'), fn () => [setlocale(LC_CTYPE, 0), escapeshellarg("\xc3\xa9")]],
    'umask' => [fn () => umask(0027), fn () => umask()],
    'umask of files' => [
        fn () => umask(0027),
        function () { $file = sys_get_temp_dir() . '/probe-' . getmypid() . '-' . hrtime(true); touch($file); $mode = fileperms($file) & 0777; unlink($file); return decoct($mode); },
    ],
    'umask of programs' => [fn () => umask(0027), fn () => trim(shell_exec('umask'))],
    'environment' => [fn () => putenv('SECRET=of-one'), fn () => [getenv('SECRET'), getenv()['SECRET'] ?? null]],
    'environment of programs' => [fn () => putenv('SECRET=of-one'), fn () => shell_exec('echo "$SECRET"')],
    'an environment variable of the entry script' => [
        fn () => putenv('BOOTED=by a request'),
        fn () => [getenv('BOOTED'), trim(shell_exec('echo "$BOOTED"'))],
    ],
    'an environment variable of the entry script that is gone' => [fn () => putenv('BOOTED'), fn () => getenv('BOOTED')],
    'an environment variable that is set and gone' => [
        function () { putenv('BOOTED'); putenv('BOOTED=again'); putenv('SECRET=1'); putenv('SECRET'); },
        fn () => [getenv('BOOTED'), getenv('SECRET')],
    ],
    'time zone of the C library' => [fn () => putenv('TZ=Asia/Tokyo'), fn () => trim(shell_exec('date -d @0 +%H'))],
    'mt_srand()' => [fn () => mt_srand(20240), fn () => is_predicted(mt_rand())],
    'srand()' => [fn () => srand(20240), fn () => is_predicted(rand())],
    'mt_srand() of PHP 5' => [fn () => mt_srand(5, MT_RAND_PHP), fn () => in_array(mt_rand(), [1663152327, 118498407, 272618113, 354616872, 1698574469, 781119035, 1972701896, 2103342116], true) ? 'predicted' : null],
    'shuffle() after mt_srand()' => [
        function () { mt_srand(20240); $GLOBALS['shuffled'] = str_shuffle(implode(range('a', 'z'))); mt_srand(20240); },
        function () { $now = str_shuffle(implode(range('a', 'z'))); if ($now === ($GLOBALS['shuffled'] ?? '')) { mt_srand(20240); return 'predicted'; } return null; },
    ],
];
