//! What a run of `hearth bench` looks like from outside: its schema, and everything that is rendered from it.

mod schema;
