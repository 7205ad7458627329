//! The figures of a cell that can be compared.

use crate::Repeat;

/// A figure of a cell that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Good responses per second.
    Goodput,
    /// Good responses per second and processor that the server used.
    PerCore,
    /// Processor time of the server's processes per request, µs.
    Cpu,
    /// Median latency, ms.
    P50,
    /// 99th percentile, ms.
    P99,
    /// Shortest good request, ms.
    Fastest,
    /// Longest good request, ms.
    Longest,
    /// Share of requests that failed, 0 to 1.
    Failed,
    /// Memory of the server's processes, bytes.
    Memory,
    /// A figure that was read back from the server.
    Observed(String),
}

impl Metric {
    /// Returns the metric with the name that `claims.toml` uses.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "goodput" => Self::Goodput,
            "per-core" => Self::PerCore,
            "cpu" => Self::Cpu,
            "p50" => Self::P50,
            "p99" => Self::P99,
            "fastest" => Self::Fastest,
            "longest" => Self::Longest,
            "failed" => Self::Failed,
            "memory" => Self::Memory,
            other => Self::Observed(other.strip_prefix("observed:")?.to_owned()),
        })
    }

    /// Returns whether more of the metric is better.
    #[must_use]
    pub fn more_is_better(&self) -> bool {
        matches!(self, Self::Goodput | Self::PerCore)
    }

    /// Returns the metric's name, for display.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Goodput => "good responses per second",
            Self::PerCore => "good responses per second and processor",
            Self::Cpu => "server CPU per request",
            Self::P50 => "median latency",
            Self::P99 => "99th percentile",
            Self::Fastest => "fastest request",
            Self::Longest => "longest request",
            Self::Failed => "failed requests",
            Self::Memory => "memory of the server",
            Self::Observed(name) => name,
        }
    }

    pub(crate) fn of(&self, repeat: &Repeat) -> Option<f64> {
        let load = &repeat.load;
        let latency = load.headline_latency();
        let ms = |nanos: u64| (!latency.is_empty()).then_some(nanos as f64 / 1e6);
        match self {
            Self::Goodput => Some(load.rates.goodput),
            Self::PerCore => {
                let cores = repeat.serving(|used| used.cores)?;
                (cores > 0.0).then(|| load.rates.goodput / cores)
            }
            Self::Cpu => repeat.serving(|used| used.cpu_us_per_request),
            Self::P50 => ms(latency.percentile(50.0)),
            Self::P99 => ms(latency.percentile(99.0)),
            Self::Fastest => ms(latency.min()),
            Self::Longest => ms(latency.max()),
            Self::Failed => {
                let finished = load.finished();
                (finished > 0).then(|| load.counts.failed as f64 / finished as f64)
            }
            Self::Memory => {
                let bytes = repeat.serving(|used| used.pss_bytes as f64)?;
                (bytes > 0.0).then_some(bytes)
            }
            Self::Observed(_) => None,
        }
    }
}
