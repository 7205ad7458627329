//! Slim: an entry script that returns the application.

use super::{app, everyday, fields, memory_is_flat, no_token, one_at_a_time, serve, sessions};

#[test]
fn slim_answers() {
    let server = serve(app("slim/app.php")).start();
    one_at_a_time(&server, "a Slim application");
    everyday(&server, no_token);
    sessions(&server, no_token);
    fields(&server);
    memory_is_flat(&server, &["/", "/user/1", "/me", "/nowhere"]);
    server.stop();
}
