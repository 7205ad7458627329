//! The machine of a run, and the load by other processes on it.

use crate::procfs;
use crate::run_dir::{Processors, RunDir};
use crate::runtimes::{Tools, version_of};
use measure::procfs::Machine;
use report::{Host, Noise};
use std::time::Duration;

fn line(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the description of the machine.
pub(crate) fn host(tools: &Tools) -> Host {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| {
        line.strip_prefix("model name")?
            .split_once(": ")
            .map(|(_, name)| name.to_owned())
    });
    let php = tools
        .program("php", &["php"])
        .and_then(|php| version_of(&php, &["-v"]));
    let is_virtual = cpuinfo.lines().any(|line| {
        line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor")
    });
    Host {
        name: line("/proc/sys/kernel/hostname").unwrap_or_default(),
        kernel: format!(
            "Linux {}",
            line("/proc/sys/kernel/osrelease").unwrap_or_default()
        ),
        processor: model.unwrap_or_default(),
        processors: crate::run_dir::allowed_processors().len(),
        memory_bytes: procfs::memory("MemTotal:"),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        virtual_machine: is_virtual
            .then(|| line("/sys/class/dmi/id/product_name").unwrap_or_else(|| "yes".to_owned())),
        php: php.unwrap_or_default(),
    }
}

/// Returns what other processes use now, observed for the duration `watched`.
pub(crate) fn noise(watched: Duration) -> Noise {
    let before = Machine::now();
    std::thread::sleep(watched);
    let shares = Machine::now().since(&before);
    let load = line("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok());
    let mut noise = Noise {
        others_before: shares.busy,
        steal: shares.stolen,
        psi_some_before: procfs::pressure(),
        load_average: load.unwrap_or(0.0),
        ..Noise::default()
    };
    if noise.others_before > 0.05 {
        noise.notes.push(format!(
            "before the run other processes used {:.0} % of the machine: compare ratios, not rates",
            noise.others_before * 100.0
        ));
    }
    noise
}

/// Returns which processors each program has, as text.
pub(crate) fn pinned(dir: &RunDir) -> Option<String> {
    let Processors { load, servers } = &dir.processors;
    dir.processors.are_divided().then(|| {
        format!(
            "load on processor {}, servers and database on {}",
            Processors::list(load),
            Processors::list(servers)
        )
    })
}
