<?php

declare(strict_types=1);

use App\User;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\App;
use Illuminate\Support\Facades\Auth;
use Illuminate\Support\Facades\Blade;
use Illuminate\Support\Facades\Config;
use Illuminate\Support\Facades\Cookie;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Gate;
use Illuminate\Support\Facades\Lang;
use Illuminate\Support\Facades\Log;
use Illuminate\Support\Facades\Route;
use Illuminate\Support\Facades\Schema;
use Illuminate\Support\Facades\URL;
use Illuminate\Support\Facades\Validator;
use Illuminate\Support\Facades\View;

Route::get('/', fn () => 'home')->name('home');
Route::get('/setup', function () {
    Schema::dropIfExists('users');
    Schema::create('users', function ($table): void {
        $table->increments('id');
        $table->string('name');
        $table->string('password');
        $table->string('remember_token')->nullable();
    });
    foreach (['ada', 'bob'] as $name) {
        User::create(['name' => $name, 'password' => bcrypt("secret of $name")]);
    }

    return (string) User::count();
});
Route::get('/fields', fn () => response()->json([
    'proxy' => request()->server->get('HTTP_PROXY'),
    'forwarded' => request()->server->get('HTTP_X_FORWARDED_FOR'),
    'cookie' => request()->headers->get('Cookie'),
    'cookies' => preg_match_all('/=(\d)/', request()->server->get('HTTP_COOKIE'), $found) ? $found[1] : null,
    'twice' => request()->headers->get('X-Twice'),
]));
Route::get('/user/{id}', fn (int $id) => response()->json(['id' => $id, 'query' => request()->query('q')]));
Route::get('/token', fn () => csrf_token());
Route::post('/form', function (Request $request) {
    $request->validate(['name' => 'required|min:2']);

    return "hello {$request->input('name')}";
});
Route::post('/login', fn (Request $request) => Auth::attempt($request->only('name', 'password')) ? redirect()->route('me') : response('no', 403));
Route::get('/me', fn () => Auth::user()->name ?? 'guest')->name('me');
Route::get('/private', fn (Request $request) => $request->user()->name)->middleware('auth');
Route::post('/logout', function () {
    Auth::logout();

    return 'bye';
});
Route::post('/upload', function (Request $request) {
    $file = $request->file('file');

    return response()->json([$file->isValid(), $file->getClientOriginalName(), $file->getSize(), file_get_contents($file->storeAs('', 'stored.txt', 'local') ? storage_path('uploads/stored.txt') : '')]);
});
Route::get('/redirect', fn () => redirect()->route('home')->with('flash', 'seen once'));
Route::get('/flash', fn () => session('flash', 'none'));
Route::get('/cookie', fn () => response('set')->cookie('flavour', 'vanilla'));
Route::get('/cookie/read', fn (Request $request) => $request->cookie('flavour', 'none'));
Route::get('/throw', fn () => throw new RuntimeException('thrown on purpose'));
Route::get('/exit', function (): void {
    DB::beginTransaction();
    echo 'and out';
    exit;
});
Route::get('/stream', fn () => response()->stream(function (): void {
    foreach (['one', 'two', 'three'] as $piece) {
        echo "$piece\n";
        flush();
    }
}, 200, ['X-Streamed' => 'yes', 'Content-Type' => 'text/plain']));
Route::get('/download', fn () => response()->download(__FILE__, 'routes.txt'));
Route::get('/view', fn () => view('page', ['title' => 'A <page>', 'items' => [1, 2]]));
Route::get('/mutate', function () {
    App::setLocale('de');
    Config::set('app.name', 'changed');
    View::share('leak', 'shared data');
    URL::forceScheme('https');
    URL::defaults(['leak' => 'yes']);
    Auth::setUser(User::find(1));
    session(['leak' => 'in the session']);
    Cookie::queue('leak', 'cookie');
    Log::withContext(['leak' => 1]);
    DB::enableQueryLog();
    DB::beginTransaction();
    DB::table('users')->insert(['name' => 'never', 'password' => '']);
    app()->instance('leak', new stdClass());
    cache()->put('leak', 'cached');

    return response()->json(['level' => DB::transactionLevel(), 'locale' => App::getLocale(), 'user' => Auth::user()->name]);
});
Route::get('/state', fn (Request $request) => response()->json([
    'locale' => App::getLocale(),
    'carbon' => Carbon\Carbon::getLocale(),
    'name' => config('app.name'),
    'shared' => View::shared('leak'),
    'url' => url('/x'),
    'defaults' => URL::getDefaultParameters(),
    'user' => Auth::id(),
    'session' => session('leak'),
    'level' => DB::transactionLevel(),
    'queries' => count(DB::getQueryLog()),
    'logging' => DB::logging(),
    'users' => User::count(),
    'bound' => app()->bound('leak'),
    'cached' => cache('leak'),
    'path' => $request->path(),
    'same app' => app() === Illuminate\Container\Container::getInstance() && app('request') === $request,
]));
// What a request may change beside the container, and the next one must not find.
Route::get('/mutate/services', function () {
    View::addLocation('/nowhere');
    View::addNamespace('leak', '/nowhere');
    Validator::extend('leak', fn () => true);
    Gate::define('leak', fn () => true);
    Lang::addLines(['leak.line' => 'leaked'], 'en');
    Blade::directive('leak', fn () => 'leaked');
    Cookie::setDefaultPathAndDomain('/leak', 'leak.example');
    Route::pushMiddlewareToGroup('web', Illuminate\Http\Middleware\SetCacheHeaders::class);
    Route::get('/leaked', fn () => 'leaked')->name('leaked');
    Route::pattern('leak', '[0-9]+');
    DB::connection()->setTablePrefix('leak_');
    Carbon\Carbon::setTestNow('2001-01-01');
    User::unguard();
    Request::setTrustedProxies(['127.0.0.1'], Request::HEADER_X_FORWARDED_FOR);
    Request::setTrustedHosts(['.*']);
    request()->setFormat('leak', 'text/leak');
    Illuminate\Http\Resources\Json\JsonResource::withoutWrapping();
    Illuminate\Pagination\Paginator::useBootstrap();
    Illuminate\Database\Eloquent\Relations\Relation::morphMap(['leak' => User::class]);
    Illuminate\Support\Facades\Date::useClass(DateTime::class);

    return 'changed';
});
Route::get('/state/services', fn (Request $request) => response()->json([
    'locations' => count(View::getFinder()->getPaths()),
    'namespace' => isset(View::getFinder()->getHints()['leak']),
    'rule' => rescue(fn () => Validator::make(['a' => 1], ['a' => 'leak'])->passes(), 'no such rule', false),
    'gate' => Gate::has('leak'),
    'line' => Lang::has('leak.line'),
    'directive' => isset(Blade::getCustomDirectives()['leak']),
    'cookie' => Cookie::make('a', 'b')->getPath() . Cookie::make('a', 'b')->getDomain(),
    'middleware' => in_array(Illuminate\Http\Middleware\SetCacheHeaders::class, Route::getMiddlewareGroups()['web'], true),
    'route' => Route::has('leaked') || collect(Route::getRoutes()->getRoutes())->contains(fn ($route) => $route->uri() === 'leaked'),
    'pattern' => isset(Route::getPatterns()['leak']),
    'prefix' => DB::connection()->getTablePrefix(),
    'grammar' => DB::connection()->getQueryGrammar()->getTablePrefix(),
    'now' => Carbon\Carbon::now()->year > 2001 && Illuminate\Support\Carbon::getTestNow() === null,
    'unguarded' => User::isUnguarded(),
    'proxies' => Request::getTrustedProxies(),
    'hosts' => Request::getTrustedHosts(),
    'format' => $request->getFormat('text/leak'),
    'wrap' => Illuminate\Http\Resources\Json\JsonResource::$wrap,
    'pages' => Illuminate\Pagination\Paginator::$defaultView,
    'morphs' => Illuminate\Database\Eloquent\Relations\Relation::morphMap(),
    'date' => now() instanceof Carbon\Carbon,
    'users' => User::count(),
]));
Route::get('/begin/{how}', function (string $how) {
    $how === 'pdo' ? DB::getPdo()->beginTransaction() : DB::getPdo()->exec('BEGIN');
    DB::insert("INSERT INTO users (name, password) VALUES ('never', '')");

    return 'begun';
});
Route::get('/insert', function () {
    DB::insert("INSERT INTO users (name, password) VALUES ('kept', '')");

    return DB::table('users')->pluck('name')->join(' ');
});
Route::get('/echo', function () {
    echo '<p>echoed</p>';

    return response('<p>returned</p>')->header('Content-Length', '15');
});
Route::get('/memory', fn () => gc_collect_cycles() . ' ' . memory_get_usage());
Route::get('/pid', fn () => (string) getmypid());
