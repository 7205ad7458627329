//! A new Laravel project with a page of its own: style, script, a form with its token, a session.

use super::Hour;
use crate::frameworks::skeletons::Project;
use crate::support::example;

const ROUTES: &str = r"<?php
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Route;
Route::view('/', 'notes');
Route::post('/notes', function (Request $request) {
    $request->session()->push('notes', $request->validate(['text' => 'required|max:40'])['text']);
    return redirect('/')->with('said', 'Saved');
});
";

const PAGE: &str = r#"<!doctype html>
<html><head><title>Notes</title>
<link rel="stylesheet" href="{{ asset('css/app.css') }}">
<script src="{{ asset('js/app.js') }}" defer></script></head>
<body><h1>Notes</h1>
<p id="said">{{ session('said') }}</p>
<ul>@foreach (session('notes', []) as $note)<li>{{ $note }}</li>@endforeach</ul>
@error('text')<p id="error">{{ $message }}</p>@enderror
<form method="post" action="{{ url('/notes') }}">@csrf <input name="text"><button>Save</button></form>
</body></html>
"#;

fn project() -> Project {
    let project = Project::laravel();
    project.write("routes/web.php", ROUTES);
    project.write("resources/views/notes.blade.php", PAGE);
    project.write("public/css/app.css", "h1 { color: rgb(1, 2, 3) }");
    project.write("public/js/app.js", "document.body.dataset.script = 'ran'");
    let entry = example("docs/guide/production.md", "laravel-app");
    let code = |text: &str| text.lines().skip(1).collect::<Vec<_>>().join("\n");
    assert_eq!(
        code(&entry),
        code(&example("docs/guide/frameworks.md", "laravel"))
    );
    project.write("app.php", &entry);
    project
}

#[test]
fn a_laravel_app_behind_nginx() {
    let project = project();
    let hour = Hour::begin("laravel", &project.path().join("app.php"));
    let browser = &hour.browser;
    hour.open("/");
    let shown = "return getComputedStyle(document.querySelector('h1')).color";
    assert_eq!(browser.run(shown), "rgb(1, 2, 3)", "{}", browser.source());
    browser.wait_for("return document.body.dataset.script === 'ran'");
    browser.fill(&[("input[name=text]", "milk & honey")]);
    browser.find("button").click();
    assert_eq!(hour.path(), "/");
    assert_eq!(browser.find("#said").text(), "Saved");
    assert_eq!(browser.find("li").text(), "milk & honey");
    browser.find("button").click();
    assert!(
        !browser.find("#error").text().is_empty(),
        "nothing was typed"
    );
    // What the session was told once is gone, what it keeps is there.
    hour.open("/");
    assert_eq!(browser.find("#said").text(), "");
    assert_eq!(browser.find("li").text(), "milk & honey");
    // As under nginx with php-fpm, the script's own name in the address.
    hour.open("/index.php");
    assert_eq!(browser.find("li").text(), "milk & honey");
    let status = "return fetch('/notes', { method: 'POST', body: new URLSearchParams({ text: 'x' }) }).then(r => r.status)";
    assert_eq!(browser.run(status), 419, "without its token");
    browser.forget_cookies();
    hour.open("/");
    assert_eq!(
        browser.run("return document.querySelectorAll('li').length"),
        0
    );
    hour.logged(&[
        ("GET", "/", 200),
        ("GET", "/css/app.css", 200),
        ("GET", "/js/app.js", 200),
        ("POST", "/notes", 302),
        ("POST", "/notes", 419),
    ]);
    hour.measured("/", 3);
    hour.measured("/css/*", 1);
    hour.end();
}
