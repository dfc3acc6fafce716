//! What is found out about hostile source takes memory that does not grow with the time that it takes. By itself in a process, whose memory it measures.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use compute_kernel::{Module, Source};

/// The most that this process has ever had in memory, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process has a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

/// Barriers that a part of the workgroup reaches, in a function that is called with ever other arguments uniform.
fn barriers_in_many_contexts(levels: usize, barriers: usize) -> String {
    let names = |from: usize| (0..levels).map(|n| format!("a{}", (n + from) % levels)).collect::<Vec<_>>();
    let parameters = names(0).join(": u32, ") + ": u32";
    let turned = names(1);
    let mut text = format!("fn l{levels}({parameters}) {{ if a0 == 1u {{ {} }} }}\n", "workgroupBarrier();\n".repeat(barriers));
    for level in (0..levels).rev() {
        let next = level + 1;
        let (all, fewer) = (turned.join(", "), turned[..levels - 1].join(", "));
        text.push_str(&format!("fn l{level}({parameters}) {{ l{next}({all}); l{next}({fewer}, 0u); }}\n"));
    }
    let given = vec!["id.x"; levels].join(", ");
    text + &format!("@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ l0({given}); }}")
}

#[test]
fn barriers_that_are_met_in_many_contexts_are_told_once_and_kept_once() {
    let parsed = Module::parse(&Source::wgsl(&barriers_in_many_contexts(13, 80))).expect("the language allows it");
    let before = peak();
    let d = parsed.entry_point(None, &[]).err().expect("refused");
    let taken = peak() - before;
    assert!(taken < 64 << 10, "took {taken} KiB");
    assert!(
        d.refusal
            && d.text.contains("this barrier may be reached by a part of the workgroup only")
            && d.text.contains("and 16 more"),
        "{d}"
    );
    let lines: Vec<u32> = d.list.iter().map(|one| one.location.as_ref().expect("a place").line).collect();
    assert!(lines.is_sorted_by(|a, b| a < b), "{lines:?}");
}
