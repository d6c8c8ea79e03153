//! Every tool with hostile arguments, in a process that may have 1 GiB: each call ends with a clear
//! outcome, in time, and takes no more memory than [`threadline_tools::memory`] states.
//!
//! `THREADLINE_FIRE_ARGUMENTS` says how many random arguments each tool gets beside the fixed ones.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test stops where something is wrong, in its helpers too"
)]

mod arguments;
mod calls;

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use threadline_testing::ids::Choices;
use threadline_tools::memory;

use crate::calls::Bench;

/// What a process may have in all.
const ADDRESS_SPACE_KIB: u64 = 1024 * 1024;
/// How long one call may take, on a slow machine and without optimisation.
const CALL_TIMEOUT: Duration = Duration::from_mins(1);
/// The tool that a child tries.
const TOOL: &str = "THREADLINE_MEMORY_TOOL";
/// How many random arguments a tool gets.
const ROUNDS: &str = "THREADLINE_FIRE_ARGUMENTS";
/// How many children run at a time.
const CHILDREN: usize = 2;

#[test]
fn every_tool_stays_within_its_memory() {
    let tools = Mutex::new(Bench::tools());
    std::thread::scope(|scope| {
        for _ in 0..CHILDREN {
            scope.spawn(|| {
                // The lock is free again before the child runs.
                while let Some(tool) = { tools.lock().unwrap().pop() } {
                    try_in_child(&tool);
                }
            });
        }
    });
}

/// Tries a tool in a child. The limit is set around the child: this process keeps its own.
fn try_in_child(tool: &str) {
    let limited = format!("ulimit -v {ADDRESS_SPACE_KIB} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(limited).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]);
    // Arenas of the allocator take address space that nobody uses.
    command.env(TOOL, tool).env("MALLOC_ARENA_MAX", "1").stdin(Stdio::null());
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool}: {}\n{told}\n{wrong}", output.status);
    assert!(told.contains(&format!("{tool}: all calls ended")), "{tool}:\n{told}\n{wrong}");
}

/// Not a test of its own: what a child does.
#[test]
fn child() {
    let Some(tool) = variable(TOOL) else { return };
    let bench = Bench::new();
    let cap = memory::cap_bytes(&tool).unwrap_or_else(|| panic!("{tool} states no cap"));
    let rounds = variable(ROUNDS).map_or(2, |rounds| rounds.parse().unwrap());
    let schema = bench.schema(&tool);
    let mut all = calls::hostile(&tool);
    all.extend(arguments::fixed(&schema));
    let mut choices = Choices::new(7);
    // One at a time: all of them together would not fit.
    let random = (0..rounds).map(|_| arguments::random(&schema, &mut choices));
    for (number, call) in all.into_iter().chain(random).enumerate() {
        let beginning: String = call.arguments.chars().take(80).collect();
        println!("call {number}: {beginning}");
        bench.prepare(&call.file);
        let (before, began) = (reset_peak(), Instant::now());
        let outcome = bench.call(&tool, &call.arguments);
        let (taken, elapsed) = (peak().saturating_sub(before), began.elapsed());
        println!("  {outcome}: {} KiB, {} ms", taken / 1024, elapsed.as_millis());
        assert!(taken <= cap, "{tool} took {taken} bytes, more than the {cap} it states");
        assert!(elapsed <= CALL_TIMEOUT, "{tool} took {elapsed:?}");
    }
    println!("{tool}: all calls ended");
}

#[expect(clippy::disallowed_methods, reason = "a test is told by the environment what to do")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Forgets the most memory that this process had so far; gives what it has now.
fn reset_peak() -> u64 {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    peak()
}

/// The most memory that this process has had.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
