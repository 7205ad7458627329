//! The cost of a run in processor time, and the kernel's counters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Processor time over the measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Processors of this machine.
    pub processors: usize,
    /// Processor time of the load generator, user and kernel, seconds.
    pub client_s: f64,
    /// Processor time of the load generator per finished request, microseconds.
    pub client_us_per_request: f64,
    /// Share of the time that the busiest client thread ran, 0 to 1.
    pub client_thread_busy: f64,
    /// Share of the time that the busiest client thread was ready to run but waited for a processor, 0 to 1.
    pub client_thread_waiting: f64,
    /// Processor time of the server, if its processes run on this machine and were found.
    pub server: Option<ServerCpu>,
    /// Share of all processors' time that any process used, 0 to 1.
    pub machine_busy: f64,
    /// Share of all processors' time that processes other than the load generator and the server used, 0 to 1.
    pub others: f64,
    /// Share of all processors' time that the hypervisor took away (steal), 0 to 1.
    pub stolen: f64,
}

/// The server's processor time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServerCpu {
    /// How the server's processes were found, such as `--server-pid`.
    pub found_by: String,
    /// Name of the first process.
    pub name: String,
    /// Number of processes, children included.
    pub processes: usize,
    /// Processor time, user and kernel, seconds.
    pub cpu_s: f64,
    /// Processor time per finished request, microseconds.
    pub us_per_request: f64,
    /// Processors used on average.
    pub cores: f64,
    /// Processors used by the busiest thread; 1 means that this thread is the limit.
    pub busiest_thread: f64,
    /// Resident memory of all processes at the end, bytes.
    pub resident_bytes: u64,
}

/// Counters of the kernel over the run, and limits of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Connections dropped because an accept queue was full.
    pub listen_overflows: u64,
    /// TCP segments sent again.
    pub retransmits: u64,
    /// Local ports that connections between one pair of addresses can use.
    pub local_ports: u64,
    /// Source addresses that the connections were spread over.
    pub source_addresses: u64,
    /// Sockets in TIME_WAIT at the end.
    pub time_wait: u64,
    /// Open files that the load generator may have.
    pub open_files: u64,
}

/// The machine that generated the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Operating system and kernel.
    pub kernel: String,
    /// Processor model.
    pub processor: String,
    /// Number of processors.
    pub processors: usize,
}
