//! The cost of a run in processor time, and the kernel's counters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Processor time over the measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Processors of this machine.
    pub processors: usize,
    /// This process, user and kernel, seconds.
    pub client_s: f64,
    /// This process per finished request.
    pub client_us_per_request: f64,
    /// Busiest client thread: share of the time it ran.
    pub client_thread_busy: f64,
    /// Busiest client thread: share of the time it was ready but waited for a processor.
    pub client_thread_waiting: f64,
    /// The server's processes, if they are here and known.
    pub server: Option<ServerCpu>,
    /// Share of all processors' time that any process used.
    pub machine_busy: f64,
    /// Share of all processors' time used by others than client and server.
    pub others: f64,
    /// Share stolen by the hypervisor.
    pub stolen: f64,
}

/// The server's processor time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServerCpu {
    /// How the processes were found.
    pub found_by: String,
    /// Name of the first one.
    pub name: String,
    /// Number of processes (children included).
    pub processes: usize,
    /// User and kernel, seconds.
    pub cpu_s: f64,
    /// Per finished request.
    pub us_per_request: f64,
    /// Processors used on average.
    pub cores: f64,
    /// Processors used by the busiest single thread (1 = that thread is the limit).
    pub busiest_thread: f64,
    /// Resident memory at the end, all processes, bytes.
    pub resident_bytes: u64,
}

/// Kernel counters: the difference over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Connections dropped because an accept queue was full.
    pub listen_overflows: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Local ports that one address pair can use.
    pub local_ports: u64,
    /// Source addresses the connections were spread over.
    pub source_addresses: u64,
    /// Sockets in TIME_WAIT at the end.
    pub time_wait: u64,
    /// Largest number of open files allowed.
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
