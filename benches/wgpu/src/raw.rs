//! wgpu as a program would use it by itself, in the way that its examples do.

use std::task::{Context, Poll, Waker};

use wgpu::{BufferUsages, MapMode, PollType};

use crate::{BUFFERS, Peer, SOURCE};

pub struct Raw {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    buffers: Vec<wgpu::Buffer>,
    /// Made once and for all, instead of one for each launch.
    groups: Option<Vec<wgpu::BindGroup>>,
    encoder: Option<wgpu::CommandEncoder>,
    pass: Option<wgpu::ComputePass<'static>>,
    small: wgpu::Buffer,
    large: Option<(wgpu::Buffer, wgpu::Buffer)>,
    next: usize,
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("wgpu did not answer at once"),
    }
}

impl Raw {
    pub fn new(cached: bool) -> Self {
        let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
        desc.backends = wgpu::Backends::VULKAN;
        desc.flags = wgpu::InstanceFlags::empty();
        let instance = wgpu::Instance::new(desc);
        let adapter = ready(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).expect("an adapter");
        let desc = wgpu::DeviceDescriptor { required_limits: adapter.limits(), ..Default::default() };
        let (device, queue) = ready(adapter.request_device(&desc)).expect("a device");
        let module = device
            .create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source: wgpu::ShaderSource::Wgsl(SOURCE.into()) });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            cache: None,
        });
        let layout = pipeline.get_bind_group_layout(0);
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let buffers: Vec<_> = (0..BUFFERS).map(|_| create(&device, 256, storage)).collect();
        let small = create(&device, 4096, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let mut raw = Self {
            device,
            queue,
            pipeline,
            layout,
            buffers,
            groups: None,
            encoder: None,
            pass: None,
            small,
            large: None,
            next: 0,
        };
        raw.groups = cached.then(|| raw.buffers.iter().map(|buffer| raw.group(buffer)).collect());
        raw
    }

    fn group(&self, buffer: &wgpu::Buffer) -> wgpu::BindGroup {
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
        })
    }

    fn poll(&self) {
        self.device.poll(PollType::wait_indefinitely()).expect("a wait");
    }

    fn read(&mut self, from: &wgpu::Buffer, staging: &wgpu::Buffer, out: &mut [u8]) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(from, 0, staging, 0, out.len() as u64);
        self.queue.submit([encoder.finish()]);
        let slice = staging.slice(..out.len() as u64);
        slice.map_async(MapMode::Read, |answer| answer.expect("mapped"));
        self.poll();
        out.copy_from_slice(&slice.get_mapped_range().expect("mapped"));
        staging.unmap();
    }
}

fn create(device: &wgpu::Device, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

const STORAGE: BufferUsages = BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

impl Peer for Raw {
    fn name(&self) -> &'static str {
        if self.groups.is_some() { "wgpu, cached groups" } else { "wgpu" }
    }

    fn launch(&mut self) {
        let index = self.next % BUFFERS;
        self.next += 1;
        let fresh;
        let group = match &self.groups {
            Some(groups) => groups[index].clone(),
            None => {
                fresh = self.group(&self.buffers[index]);
                fresh
            }
        };
        let (device, pipeline) = (&self.device, &self.pipeline);
        let encoder = self.encoder.get_or_insert_with(|| device.create_command_encoder(&Default::default()));
        let pass = self.pass.get_or_insert_with(|| {
            let mut pass = encoder.begin_compute_pass(&Default::default()).forget_lifetime();
            pass.set_pipeline(pipeline);
            pass
        });
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }

    fn flush(&mut self) {
        self.pass = None;
        if let Some(encoder) = self.encoder.take() {
            self.queue.submit([encoder.finish()]);
        }
    }

    fn wait(&mut self) {
        self.flush();
        self.poll();
    }

    fn small_cycle(&mut self, data: &[u8], out: &mut [u8]) {
        let buffer = create(&self.device, data.len() as u64, STORAGE);
        self.queue.write_buffer(&buffer, 0, data);
        let staging = self.small.clone();
        self.read(&buffer, &staging, out);
    }

    fn prepare_large(&mut self, size: usize) {
        let staging = create(&self.device, size as u64, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        self.large = Some((create(&self.device, size as u64, STORAGE), staging));
    }

    fn upload(&mut self, data: &[u8]) {
        let (buffer, _) = self.large.as_ref().expect("prepared");
        self.queue.write_buffer(buffer, 0, data);
        self.queue.submit([]);
        self.poll();
    }

    fn readback(&mut self, out: &mut [u8]) {
        let (buffer, staging) = self.large.clone().expect("prepared");
        self.read(&buffer, &staging, out);
    }

    fn first(&mut self, out: &mut [u8]) {
        self.flush();
        let (buffer, staging) = (self.buffers[0].clone(), self.small.clone());
        self.read(&buffer, &staging, out);
    }
}
