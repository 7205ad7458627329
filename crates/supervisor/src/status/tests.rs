use super::*;

pub(crate) fn sample() -> Status {
    let mut totals = totals(&Snapshot::default());
    for (name, value) in &mut totals {
        *value = match name.as_str() {
            "requests" => 1000,
            "finished" => 998,
            "responses_2xx" => 990,
            "responses_5xx" => 8,
            _ => 0,
        };
    }
    let worker = |slot, pid, state| WorkerStatus {
        pid,
        slot,
        generation: 3,
        state,
        uptime_seconds: 75.4,
        requests: 500,
        in_flight: 1,
        connections: 12,
        resident_bytes: 23_400_000,
        restarts: 2,
    };
    Status {
        version: "0.1.0".into(),
        pid: 100,
        app: "/srv/app.php".into(),
        listen: vec!["http://127.0.0.1:8080".into(), "unix:/run/a.sock".into()],
        state: "running".into(),
        healthy: true,
        ready: true,
        uptime_seconds: 90061.0,
        generation: 3,
        php: "8.2.36".into(),
        cold: None,
        preload: None,
        slots: 2,
        elastic: None,
        reloads: 2,
        restarts: 4,
        recycled: 7,
        front: None,
        totals,
        latencies: vec![crate::latency::tests::sample()],
        workers: vec![
            worker(0, Some(4711), State::Ready),
            worker(1, None, State::Forking),
        ],
        cache: None,
        redis: None,
        pools: Pools::default(),
    }
}

#[test]
fn the_table_lines_up() {
    let expected = "\
app         /srv/app.php
state       running, pid 100, up 1d01h
listening   http://127.0.0.1:8080 unix:/run/a.sock
generation  3 (PHP 8.2.36, hearth 0.1.0)
requests    998 answered, 8 of them with 5xx; 0 timeouts, 0 exceptions, 0 fatal errors
reloads     2, worker restarts 4, workers recycled 7

slot  generation      pid  state      requests  in request  connections       RSS  restarts       up
   0           3     4711  ready           500          1           12   23.4 MB         2    1m15s
   1           3        -  forking         500          1           12   23.4 MB         2    1m15s
";
    assert_eq!(sample().to_string(), expected);
}

#[test]
fn the_front_has_two_lines() {
    let mut status = sample();
    for (name, value) in &mut status.totals {
        match name.as_str() {
            "queued" => *value = 50,
            "queued_microseconds" => *value = 125_000,
            "retries" => *value = 3,
            "unavailable" => *value = 7,
            "queue_timeouts" => *value = 5,
            _ => {}
        }
    }
    status.front = Some(FrontStatus {
        pid: Some(101),
        state: "ready".into(),
        uptime_seconds: 5.0,
        connections: 12,
        waiting: 4,
        cpu_seconds: vec![1.25, 0.5],
        resident_bytes: 6_300_000,
        restarts: 1,
    });
    let expected = "\
front       ready, pid 101, up 5.0s, 12 connections, 6.3 MB, CPU 1.2 + 0.5 s, restarts 1
queue       4 waiting; 50 have waited, 2.5 ms on average; 7 answered 503 (5 after workers.queue_timeout), 0 502, 3 retried

slot";
    assert!(status.to_string().contains(expected), "{status}");
    let text = serde_json::to_string(&status).unwrap();
    assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
}

#[test]
fn a_number_of_workers_that_follows_the_load_has_a_line() {
    let mut status = sample();
    let mut elastic = ElasticStatus {
        min: 1,
        max: Some(8),
        added: 3,
        retired: 2,
        worker_bytes: None,
    };
    status.elastic = Some(elastic.clone());
    let expected = "\nworkers     2, of 1 to 8; 3 added, 2 retired\n";
    assert!(status.to_string().contains(expected), "{status}");
    (elastic.max, elastic.worker_bytes) = (None, Some(3_400_000));
    status.elastic = Some(elastic);
    let expected = "\nworkers     2, of 1 to auto; 3 added, 2 retired; a worker costs 3.4 MB\n";
    assert!(status.to_string().contains(expected), "{status}");
}

#[test]
fn it_survives_the_control_socket() {
    let mut status = sample();
    status.pools = crate::pool::tests::sample("shop");
    let text = serde_json::to_string(&status).unwrap();
    assert_eq!(serde_json::from_str::<Status>(&text).unwrap(), status);
}
