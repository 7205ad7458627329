//! What a run of `hearth bench` looks like from outside: its schema, and everything that is rendered from it.

mod anything;
mod browser;
mod claims;
mod compare;
mod sample;
mod schema;
mod text;
