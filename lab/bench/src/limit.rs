//! "Why not double?": what kept a figure from being twice as high.

use measure::Run;
use report::{Role, Use};

/// The share of use from which a resource counts as full.
const FULL: f64 = 0.93;

/// The figures of a load that tell what limited it.
struct Seen<'a> {
    run: &'a Run,
    used: &'a [Use],
    processors: f64,
    slots: Option<u32>,
}

/// Returns what limited a load, as text; `processors` are those that servers and database share, `slots` the requests
/// that the server can run at a time.
pub(crate) fn limit(run: &Run, used: &[Use], processors: usize, slots: Option<u32>) -> String {
    let seen = Seen {
        run,
        used,
        processors: processors as f64,
        slots,
    };
    let rules = [
        Seen::nothing_good,
        Seen::rate_limited,
        Seen::starved,
        Seen::servers_full,
        Seen::client_full,
        Seen::processes_busy,
    ];
    rules
        .iter()
        .find_map(|rule| rule(&seen))
        .unwrap_or_else(|| seen.latency())
}

impl Seen<'_> {
    fn cores(&self, role: Role) -> f64 {
        self.used
            .iter()
            .filter(|one| one.role == role)
            .fold(0.0, |sum, one| sum + one.cores)
    }

    /// Returns how many processors servers and database used.
    fn all(&self) -> f64 {
        self.cores(Role::Server) + self.cores(Role::Proxy) + self.cores(Role::Database)
    }

    fn nothing_good(&self) -> Option<String> {
        (self.run.counts.good == 0).then(|| "no request got a good answer".to_owned())
    }

    fn rate_limited(&self) -> Option<String> {
        let rate = self.run.setup.rate?;
        Some(format!(
            "the load was limited to {rate:.0} requests per second, however long answers take; the servers' processors are {:.0} % busy",
            100.0 * self.all() / self.processors
        ))
    }

    fn starved(&self) -> Option<String> {
        let connections = &self.run.connections;
        let waiting = connections.starved + connections.never_answered;
        (waiting > 0).then(|| {
            format!(
                "{waiting} of {} connections waited for a process, the longest {:.1} s: the server keeps one per connection",
                self.run.setup.connections,
                connections.longest_wait_us / 1e6
            )
        })
    }

    fn servers_full(&self) -> Option<String> {
        if self.all() < FULL * self.processors {
            return None;
        }
        let mut text = format!(
            "the servers' processor{} full",
            if self.processors < 2.0 {
                " is"
            } else {
                "s are"
            }
        );
        let share =
            |role: Role| format!("{:.0} %", 100.0 * self.cores(role) / self.all().max(1e-9));
        if self.cores(Role::Database) > 0.1 * self.all()
            || self.cores(Role::Proxy) > 0.1 * self.all()
        {
            let parts = [
                ("server", Role::Server),
                ("nginx", Role::Proxy),
                ("database", Role::Database),
            ];
            let parts = parts.iter().filter(|(_, role)| self.cores(*role) > 0.0);
            let parts: Vec<String> = parts
                .map(|(name, role)| format!("{name} {}", share(*role)))
                .collect();
            text += &format!(": {}", parts.join(", "));
        }
        Some(text)
    }

    fn client_full(&self) -> Option<String> {
        let cpu = &self.run.cpu;
        if cpu.client_thread_busy >= 0.9 {
            return Some(
                "the load generator's processor is full: this is a lower bound".to_owned(),
            );
        }
        (cpu.client_thread_busy + cpu.client_thread_waiting >= 0.95)
            .then(|| "the load generator waited for a processor: this is a lower bound".to_owned())
    }

    fn processes_busy(&self) -> Option<String> {
        let in_flight = self.run.concurrency.achieved;
        let slots = self
            .slots
            .filter(|slots| f64::from(*slots) < in_flight * 0.9)?;
        Some(format!(
            "{slots} process{} one request each and wait{}; {in_flight:.0} requests were in flight; the servers' processors are {:.0} % busy",
            if slots == 1 { " serves" } else { "es serve" },
            if slots == 1 { "s" } else { "" },
            100.0 * self.all() / self.processors
        ))
    }

    fn latency(&self) -> String {
        format!(
            "latency: {} connections, {:.1} ms each; the servers' processors are {:.0} % busy",
            self.run.setup.connections,
            self.run.latency.service.mean() / 1e6,
            100.0 * self.all() / self.processors
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn using(role: Role, cores: f64) -> Use {
        Use {
            role,
            cores,
            ..Use::default()
        }
    }

    fn run() -> Run {
        let mut run = Run::default();
        run.counts.good = 100;
        run.setup.connections = 100;
        run.concurrency.achieved = 100.0;
        run
    }

    #[test]
    fn the_first_thing_that_is_full_is_named() {
        let full = limit(
            &run(),
            &[using(Role::Server, 0.6), using(Role::Database, 0.38)],
            1,
            None,
        );
        assert_eq!(
            full,
            "the servers' processor is full: server 61 %, database 39 %"
        );
        let mut client = run();
        client.cpu.client_thread_busy = 0.97;
        assert!(limit(&client, &[using(Role::Server, 0.5)], 1, None).contains("load generator"));
        assert!(limit(&run(), &[using(Role::Server, 0.1)], 1, Some(8)).starts_with("8 processes"));
        assert!(limit(&run(), &[using(Role::Server, 0.1)], 1, None).starts_with("latency"));
        let mut starved = run();
        starved.connections.starved = 350;
        assert!(
            limit(&starved, &[using(Role::Server, 1.0)], 1, None)
                .starts_with("350 of 100 connections waited")
        );
    }
}
