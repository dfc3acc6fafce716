//! cubecl on its wgpu runtime, in the way that its examples do. Only with the feature `cubecl`: it brings some 480 crates.

use cubecl::client::Client;
use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::{BUFFERS, Peer};

#[cube(launch)]
fn add(d: &mut [u32]) {
    if ABSOLUTE_POS < d.len() {
        d[ABSOLUTE_POS] = d[ABSOLUTE_POS] + 1;
    }
}

pub struct Cube {
    client: Client,
    buffers: Vec<Handle>,
    large: Option<Handle>,
    next: usize,
}

impl Cube {
    pub fn new() -> Self {
        let client = cubecl::Device::Wgpu(Default::default()).client();
        let buffers = (0..BUFFERS).map(|_| client.create_from_slice(&[0; 256])).collect();
        Self { client, buffers, large: None, next: 0 }
    }

    fn read(&self, from: &Handle, out: &mut [u8]) {
        let bytes = self.client.read_one(from.clone()).expect("a read");
        out.copy_from_slice(&bytes[..out.len()]);
    }
}

impl Peer for Cube {
    fn name(&self) -> &'static str {
        "cubecl"
    }

    fn launch(&mut self) {
        let buffer = self.buffers[self.next % BUFFERS].clone();
        self.next += 1;
        // SAFETY: the buffer has 64 words.
        let argument = unsafe { BufferArg::from_raw_parts(buffer, 64) };
        add::launch(&self.client, CubeCount::Static(1, 1, 1), CubeDim::new_1d(64), argument);
    }

    fn flush(&mut self) {
        self.client.flush().expect("a flush");
    }

    fn wait(&mut self) {
        pollster::block_on(self.client.sync()).expect("a wait");
    }

    fn small_cycle(&mut self, data: &[u8], out: &mut [u8]) {
        let buffer = self.client.create_from_slice(data);
        self.read(&buffer, out);
    }

    fn prepare_large(&mut self, _size: usize) {}

    fn upload(&mut self, data: &[u8]) {
        // It has no write of borrowed bytes to a buffer that is there; its pool gives the memory of the last one.
        self.large = None;
        self.large = Some(self.client.create_from_slice(data));
        self.wait();
    }

    fn readback(&mut self, out: &mut [u8]) {
        let large = self.large.clone().expect("uploaded");
        self.read(&large, out);
    }

    fn first(&mut self, out: &mut [u8]) {
        let buffer = self.buffers[0].clone();
        self.read(&buffer, out);
    }
}
