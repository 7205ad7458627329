<?php

declare(strict_types=1);

use App\User;
use Illuminate\Support\Facades\Route;
use Illuminate\Support\Facades\Schema;

if (!Schema::hasTable('users')) {
    Schema::create('users', function ($table): void {
        $table->increments('id');
        $table->string('name');
        $table->string('password');
        $table->string('remember_token')->nullable();
    });
    User::create(['name' => 'ada', 'password' => '']);
}
Route::get('/', fn () => view('page', ['title' => 'News', 'items' => User::query()->orderBy('id')->limit(10)->pluck('id')->all()]));
Route::get('/user/{id}', fn (int $id) => response()->json(User::query()->findOrFail($id)));
Route::get('/about', fn () => view('page', ['title' => 'About', 'items' => [1, 2]]));
