<?php

declare(strict_types=1);

namespace App;

/**
 * @property int $id
 * @property string $name
 */
final class User extends \Illuminate\Foundation\Auth\User
{
    public $timestamps = false;

    protected $guarded = [];
}
