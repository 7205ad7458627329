//! The process that listens on a port, as far as `/proc` shows it.

use std::fmt;
use std::fs;
use std::net::{IpAddr, SocketAddr};

/// A process that listens on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortOwner {
    pub pid: u32,
    pub name: String,
}

impl fmt::Display for PortOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// Finds the process that listens there; `None` if there is none or it belongs to another user.
pub(crate) fn port_owner(address: SocketAddr) -> Option<PortOwner> {
    let inodes: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listening_inodes(&table, address))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    if inodes.is_empty() {
        return None;
    }
    let pids = fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // The lowest pid is that of the parent, not of its workers.
    let pid = pids.filter(|pid| holds(*pid, &inodes)).min()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(PortOwner {
        pid,
        name: name.trim().into(),
    })
}

/// Returns the inodes of the rows in state LISTEN (0A) on this port, on this address or on all.
fn listening_inodes(table: &str, address: SocketAddr) -> Vec<String> {
    let port = format!("{:04X}", address.port());
    let wanted = local_hex(address.ip());
    let row = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (ip, row_port) = columns.get(1)?.split_once(':')?;
        let clashes =
            address.ip().is_unspecified() || ip == wanted || ip.bytes().all(|b| b == b'0');
        (row_port == port && columns.get(3) == Some(&"0A") && clashes)
            .then(|| columns.get(9).map(|i| i.to_string()))?
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// Formats an address as the tables do: words in the byte order of the machine.
fn local_hex(ip: IpAddr) -> String {
    let octets = match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = octets
        .chunks(4)
        .map(|w| format!("{:08X}", u32::from_ne_bytes([w[0], w[1], w[2], w[3]])));
    words.collect()
}

fn holds(pid: u32, sockets: &[String]) -> bool {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    let links = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.into_iter().any(|link| {
        sockets
            .iter()
            .any(|socket| link.as_os_str() == socket.as_str())
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_is_found_by_its_port() {
        for local in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(local) else {
                continue;
            };
            let address = listener.local_addr().unwrap();
            assert_eq!(port_owner(address).unwrap().pid, std::process::id());
            drop(listener);
            assert_eq!(port_owner(address), None);
        }
    }
}
