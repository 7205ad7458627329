//! HTTP as clients speak it, well and badly.

mod answers;
mod beside_nginx;
mod bodies;
mod connection;
mod hosts;
mod malformed;

use testkit::Server;

/// Answers with what it was asked.
const ECHO: &str = r#"
return function (Hearth\Request $request): Hearth\Response {
    return new Hearth\Response("$request->method $request->target\n" . $request->body(), 200, ['X-Length' => (string) strlen($request->body())]);
};"#;

fn echo() -> Server {
    Server::script(ECHO).args(["--workers", "1"]).start()
}
