//! What only the inside can bring about.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

mod adapters;
mod failures;
mod graphs;
mod hosts;
mod pipelines;
mod reads;
mod slices;

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

use ash::vk::{self, Handle as _};
use compute_hal::kernel::{Module, Source, reflection::Bounds};
use compute_hal::{
    Binding, CompileRequest, CompileSource, Device, DeviceError, Driver, GraphRequest, Grid, HostTarget, HostVulkan, KernelId,
    LateCause, LateFailure, Launch, Node, NodeWork, OpenOptions, Position, Queue, Region, VulkanFunction, VulkanHost, Waited,
};

use crate::device::WgpuDevice;
use crate::errors::{scoped, survive};
use crate::flight::{SENT_HERE, how};
use crate::memory::Memory;
use crate::queue::WgpuQueue;
use crate::sending::PARTS;
use crate::staging::{DOWNLOAD_MOST, Download, TARDY};
use crate::{WgpuDriver, driver, turns};

fn queues(test: impl Fn(&WgpuDevice, &WgpuQueue)) {
    for index in 0..WgpuDriver.probe().devices.len() {
        let device = driver::open_device(u32::try_from(index).unwrap(), &OpenOptions::default(), true).unwrap();
        let queue = device.open_queue().unwrap();
        test(&device, &queue);
    }
}

/// Memory full of fives, for reads.
fn fives() -> HostTarget {
    let target = HostTarget::staging(64).unwrap();
    // SAFETY: the memory is 64 bytes, and nobody else has it yet.
    unsafe { target.pointer().write_bytes(5, 64) };
    target
}

/// What is in staging memory.
fn bytes(target: &HostTarget) -> Vec<u8> {
    // SAFETY: the staging memory lives as long as `target`, and nothing is under way that writes there.
    unsafe { std::slice::from_raw_parts(target.pointer(), target.size()) }.to_vec()
}

fn one<'a>(kernel: KernelId, bindings: &'a [Binding<'a>]) -> Launch<'a> {
    Launch { kernel, grid: Grid::Direct([1, 1, 1]), bindings, immediates: &[], time_limit: 0 }
}

fn with_request<T>(source: &str, then: impl FnOnce(&CompileRequest<'_>) -> T) -> T {
    with_bounds(source, Bounds::Checked, then)
}

fn with_bounds<T>(source: &str, bounds: Bounds, then: impl FnOnce(&CompileRequest<'_>) -> T) -> T {
    let entry = Module::parse(&Source::wgsl(source)).unwrap_or_else(|found| panic!("{}", found.text));
    let entry = entry.entry_point(None, &[]).unwrap_or_else(|found| panic!("{}", found.text));
    let source = CompileSource::Portable(&entry);
    then(&CompileRequest { source, bounds, cancellable: false, print_room: 0, strict: false, label: "t" })
}
