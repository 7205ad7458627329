//! What holds with a Redis holds with a Valkey, where this release of Debian has one.

use testkit::service::Redis;

fn with_valkey(test: impl FnOnce(Redis)) {
    match Redis::valkey() {
        Some(valkey) => test(valkey),
        None => eprintln!("skipped: this machine has no valkey-server (Debian has it from 13 on)"),
    }
}

#[test]
fn three_servers_share_one_cache() {
    with_valkey(|valkey| super::three_servers(&valkey));
}

#[test]
fn a_value_is_computed_once_over_servers() {
    with_valkey(|valkey| super::computed_once(&valkey));
}

#[test]
fn a_lock_that_ends_with_its_object_is_no_longer_found() {
    with_valkey(|valkey| super::lock_ends_with_object(&valkey));
}

#[test]
fn valkey_gone_and_back() {
    with_valkey(super::gone_and_back);
}

#[test]
fn a_batch_is_one_round_trip() {
    with_valkey(|valkey| super::batches(&valkey));
}

#[test]
fn a_miss_is_remembered_until_another_server_writes() {
    with_valkey(|valkey| super::misses(&valkey));
}
