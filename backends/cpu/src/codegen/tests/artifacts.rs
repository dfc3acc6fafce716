//! Kernels as bytes.

use super::super::artifact::Artifact;
use super::*;

/// Has a table, calls functions, reads out of range, and says so.
const SOURCE: &str = "
    const table = array<f32, 5>(1, 2, 3, 5, 8);
    @group(0) @binding(0) var<storage> input: array<u32>;
    @group(0) @binding(1) var<storage, read_write> output: array<f32>;
    @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3u) {
        output[id.x] = table[input[id.x] % 5] + sin(f32(input[id.x + 1]));
    }";

fn sealed(source: &str, bounds: Bounds) -> Vec<u8> {
    CompiledKernel::compile_to_keep(lowered(&entry(source), bounds), bounds, false, true).unwrap().1.unwrap()
}

/// Without what they are of.
fn bytes(bounds: Bounds) -> Vec<u8> {
    sealed(SOURCE, bounds).split_off(32)
}

#[test]
fn l7_an_artifact_is_taken_for_its_own_kernel_only() {
    let restore = |source: &str, bounds: Bounds, cancellable: bool, bytes: &[u8]| {
        CompiledKernel::restore(&lowered(&entry(source), bounds), bounds, cancellable, bytes).map(drop)
    };
    let whole = sealed(SOURCE, Bounds::Checked);
    assert!(restore(SOURCE, Bounds::Checked, false, &whole).is_ok());
    // What is no part of a kernel's meaning is no part of its code.
    assert!(restore(&format!("{SOURCE} // more"), Bounds::Checked, false, &whole).is_ok());
    for other in ["% 5", "id.x + 1", "workgroup_size(4)", "binding(1)", "fn main"] {
        let source = SOURCE.replace(other, &other.replace('5', "4").replace('1', "2").replace("(4)", "(8)").replace("main", "m"));
        assert_ne!(source, SOURCE);
        assert!(restore(&source, Bounds::Checked, false, &whole).is_err(), "{other}");
    }
    assert!(restore(SOURCE, Bounds::Unchecked, false, &whole).is_err());
    assert!(restore(SOURCE, Bounds::Checked, true, &whole).is_err());
    assert!((0..32).all(|length| restore(SOURCE, Bounds::Checked, false, &whole[..length]).is_err()));
    assert!(restore(SOURCE, Bounds::Checked, false, &bytes(Bounds::Checked)).is_err());
}

#[test]
fn l7_the_same_kernel_gives_the_same_bytes() {
    for bounds in [Bounds::Checked, Bounds::Unchecked, Bounds::Validate] {
        assert_eq!(bytes(bounds), bytes(bounds));
    }
    assert_ne!(bytes(Bounds::Checked), bytes(Bounds::Validate));
}

#[test]
fn l7_bytes_come_back_as_they_were() {
    let whole = bytes(Bounds::Validate);
    let read = Artifact::from_bytes(&whole).unwrap();
    assert!(!read.tables.is_empty() && read.relocations.len() > 2);
    assert_eq!(read.to_bytes().unwrap(), whole);
}

#[test]
fn l7_an_artifact_that_is_cut_or_longer_is_none() {
    let whole = bytes(Bounds::Checked);
    for length in 0..whole.len() {
        assert!(Artifact::from_bytes(&whole[..length]).is_none(), "{length} of {}", whole.len());
    }
    assert!(Artifact::from_bytes(&[&whole[..], &[0]].concat()).is_none());
}

#[test]
fn l7_any_bytes_are_read_without_harm() {
    let whole = bytes(Bounds::Checked);
    let head = Artifact::from_bytes(&whole).unwrap().code.len();
    let mut sound = 0;
    for at in 0..whole.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] ^= change;
            // What is sound can be linked. Nothing of it may run: that the bytes are the right ones is for whoever kept them.
            if let Some(read) = Artifact::from_bytes(&changed) {
                sound += 1;
                assert!(read.linked().is_some());
            }
        }
    }
    assert!(sound >= 3 * head, "any code is code: {sound} of {}", 3 * whole.len());
    assert!(sound < 3 * whole.len() - 100, "but not any structure");
}

#[test]
fn l7_what_refers_to_nothing_is_refused() {
    let whole = bytes(Bounds::Checked);
    let refused = |change: &dyn Fn(&mut Artifact)| {
        let mut artifact = Artifact::from_bytes(&whole).unwrap();
        change(&mut artifact);
        Artifact::from_bytes(&artifact.to_bytes().unwrap()).is_none()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|artifact| artifact.relocations[0].offset = artifact.code.len() as u32 - 7));
    assert!(refused(&|artifact| artifact.relocations[0].offset = u32::MAX));
    assert!(refused(&|artifact| artifact.relocations[0].addend = -1));
    assert!(refused(&|artifact| artifact.relocations[0].addend = 1 << 40));
    assert!(refused(&|artifact| artifact.relocations[0].symbol = super::super::symbols::Symbol::Function(1 << 20)));
    assert!(refused(&|artifact| artifact.relocations[0].symbol = super::super::symbols::Symbol::Table(7)));
    assert!(refused(&|artifact| artifact.alignment = 3));
    assert!(refused(&|artifact| artifact.alignment = 1 << 13));
    assert!(refused(&|artifact| artifact.scratch_size = u64::MAX));
    assert!(!refused(&|artifact| artifact.frame = super::super::MOST_FRAME));
    assert!(refused(&|artifact| artifact.frame = super::super::MOST_FRAME + 1));
    assert!(refused(&|artifact| artifact.code.clear()));
    assert!(refused(&|artifact| artifact.tables.clear()));
}
