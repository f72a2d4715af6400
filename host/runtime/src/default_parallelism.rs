//! How many agents this machine can run at a time, if a workflow does not say (D9). Depends on cores and memory only.

use std::fs;
use std::thread::available_parallelism;

/// Agents wait for their provider most of the time, so a core serves several.
const AGENTS_PER_CORE: u32 = 4;
/// Even one core waits for this many.
const AGENTS_MIN: u32 = 4;
/// A higher number must be set in the workflow, by a user who knows the machine and the provider's limits.
const AGENTS_MAX: u32 = 32;
/// Memory of a coding agent with its child processes: a Node.js process and an occasional build.
const AGENT_BYTES: u64 = 500 << 20;

/// Where Linux says how much memory the machine has, in KiB.
const MEMORY: &str = "/proc/meminfo";
/// Where Linux says how much of it a container may use, in bytes, or `max`.
const CONTAINER_MEMORY: &str = "/sys/fs/cgroup/memory.max";

/// Agents at a time on this machine.
pub(crate) fn agents() -> u32 {
    let cores = available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX));
    let total = fs::read_to_string(MEMORY).ok().and_then(|text| total_bytes(&text));
    let container = fs::read_to_string(CONTAINER_MEMORY).ok().and_then(|text| text.trim().parse().ok());
    agents_for(cores, [total, container].into_iter().flatten().min())
}

/// Memory that is not known bounds nothing; one agent is always possible.
fn agents_for(cores: u32, memory_bytes: Option<u64>) -> u32 {
    let by_cores = cores.saturating_mul(AGENTS_PER_CORE).clamp(AGENTS_MIN, AGENTS_MAX);
    let by_memory =
        memory_bytes.map_or(AGENTS_MAX, |bytes| u32::try_from(bytes / AGENT_BYTES).unwrap_or(AGENTS_MAX));
    by_cores.min(by_memory).max(1)
}

/// "MemTotal:       16309500 kB".
fn total_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_and_memory_bound_the_agents() {
        // D9
        const GIB: u64 = 1 << 30;
        assert_eq!(agents_for(1, Some(16 * GIB)), 4);
        assert_eq!(agents_for(4, Some(16 * GIB)), 16);
        assert_eq!(agents_for(64, Some(256 * GIB)), 32);
        assert_eq!(agents_for(8, Some(4 * GIB)), 8);
        assert_eq!(agents_for(8, Some(GIB / 4)), 1);
        assert_eq!(agents_for(2, None), 8);
        assert!((1..=32).contains(&agents()));
    }

    #[test]
    fn memory_is_read_as_linux_writes_it() {
        assert_eq!(total_bytes("MemTotal:       2048 kB\nMemFree: 1 kB\n"), Some(2 << 20));
        assert_eq!(total_bytes("MemFree: 1 kB\n"), None);
        assert_eq!(total_bytes("MemTotal: many\n"), None);
    }
}
