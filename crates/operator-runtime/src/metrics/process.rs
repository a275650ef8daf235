//! The CPU time and memory of the process, under the names of Prometheus' client libraries. Linux only: the values are read from `/proc`
//! when they are exported.

use std::{fmt, fs};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};

/// The unit of times in [`/proc/PID/stat`](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html) that the kernel shows to programs:
/// `USER_HZ`, which is 100 on all common architectures.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Debug)]
pub(super) struct Process;

#[derive(Debug, PartialEq)]
struct Usage {
    cpu_seconds: f64,
    resident_bytes: u64,
}

impl Process {
    /// `None` if the system does not provide the values.
    pub fn new() -> Option<Self> {
        usage().map(|_| Self)
    }
}

fn usage() -> Option<Usage> {
    let read = |file| fs::read_to_string(format!("/proc/self/{file}")).ok();
    parse(&read("stat")?, &read("status")?)
}

fn parse(stat: &str, status: &str) -> Option<Usage> {
    // The second field is the name of the program in parentheses, which may have any characters.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_ascii_whitespace().skip(11);
    let mut next = || times.next()?.parse::<u64>().ok();
    let (user, system) = (next()?, next()?);
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes: u64 = resident?.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(Usage {
        cpu_seconds: (user + system) as f64 / TICKS_PER_SECOND,
        resident_bytes: kibibytes * 1024,
    })
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let Some(usage) = usage() else {
            return Ok(());
        };
        let seconds = ConstCounter::new(usage.cpu_seconds);
        let bytes = ConstGauge::new(usage.resident_bytes as f64);
        let name = "process_cpu_seconds";
        let help = "User and system CPU time of the process";
        seconds.encode(encoder.encode_descriptor(name, help, None, seconds.metric_type())?)?;
        let name = "process_resident_memory_bytes";
        let help = "Resident memory of the process";
        bytes.encode(encoder.encode_descriptor(name, help, None, bytes.metric_type())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_is_read_from_the_files_of_the_process() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 90 0 1 0 250 50 0 0 20 0 4 0 77 1000 200";
        let status = "Name:\ta) b (c\nVmRSS:\t    2048 kB\nThreads:\t4\n";
        let usage = Usage {
            cpu_seconds: 3.0,
            resident_bytes: 2 << 20,
        };
        assert_eq!(parse(stat, status), Some(usage));
        assert_eq!(parse("", status), None);
        assert_eq!(parse(stat, ""), None);
    }
}
