//! What a driver makes of one kernel, as bytes that it is given again by a later process: the data of a pipeline cache that is the kernel's alone. What is kept of one is
//! then no more than it needs, and nothing has to be written again when another is compiled.
//!
//! wgpu refuses data of another GPU, driver or version of its own. What suits by that and not by the driver's own look at it leaves a cache empty without an error: so Vulkan
//! has it. There a cache is told from an empty one by its length: each has the same header, and an empty one nothing behind it.

/// What a pipeline is to have to do with what the driver makes of it.
#[derive(Clone, Copy)]
pub(crate) enum Artifact<'a> {
    Unwanted,
    /// It will be asked for.
    Wanted,
    /// Is there from an earlier time.
    Given(&'a [u8]),
}

/// The cache of one kernel.
pub(crate) struct Cache {
    pub(crate) native: wgpu::PipelineCache,
    /// Bytes of one with nothing in it.
    empty: usize,
}

impl Cache {
    /// To be called in a scope: data that wgpu does not take are an error there.
    pub(crate) fn open(device: &wgpu::Device, artifact: Artifact<'_>) -> Option<Self> {
        let data = match artifact {
            Artifact::Unwanted => return None,
            Artifact::Wanted => None,
            Artifact::Given(data) => Some(data),
        };
        let make = |data| {
            let descriptor = wgpu::PipelineCacheDescriptor { label: None, data, fallback: false };
            // SAFETY: the data are what `get_data` gave, as whoever kept them has checked.
            unsafe { device.create_pipeline_cache(&descriptor) }
        };
        let native = make(data);
        let empty = if data.is_some() { make(None).get_data() } else { native.get_data() };
        Some(Self { native, empty: empty.map_or(0, |empty| empty.len()) })
    }

    /// What is in it, if anything.
    pub(crate) fn data(&self) -> Option<Vec<u8>> {
        self.native.get_data().filter(|data| data.len() > self.empty)
    }
}
