//! wgpu's device and queue, and the host that may share them: whose lock is taken around every use of the queue, and who is told when both are gone.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

use compute_hal::VulkanHost;

use crate::errors::survive;
use crate::turns;

pub(crate) struct Gpu {
    device: ManuallyDrop<wgpu::Device>,
    queue: ManuallyDrop<wgpu::Queue>,
    host: Option<Arc<dyn VulkanHost>>,
}

impl Gpu {
    pub(crate) fn new((device, queue): (wgpu::Device, wgpu::Queue), host: Option<Arc<dyn VulkanHost>>) -> Self {
        Self { device: ManuallyDrop::new(device), queue: ManuallyDrop::new(queue), host }
    }

    pub(crate) fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// The queue, as long as what this gives is held.
    pub(crate) fn queue(&self) -> Locked<'_> {
        Locked { queue: &self.queue, _turn: Turn::take(self.host.as_deref()) }
    }

    /// Calls `then` when all that was submitted is over, and not from inside. wgpu may submit what it still holds back.
    pub(crate) fn when_done(&self, then: impl FnOnce() + Send + 'static) {
        self.queue().on_submitted_work_done(then);
    }

    /// Nanoseconds of a tick of the device's clock.
    pub(crate) fn tick(&self) -> f32 {
        self.queue.get_timestamp_period()
    }

    /// To be held by whoever may drop the last handle of this while it has a lock: the host is told with the last clone.
    pub(crate) fn host(&self) -> Option<Arc<dyn VulkanHost>> {
        self.host.clone()
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let turn = Turn::take(self.host.as_deref());
        // A panic of one must not keep the other, which has what tells the host that all is over.
        // SAFETY: the queue is not used after this. wgpu waits for it when it goes.
        let _ = survive(|| unsafe { ManuallyDrop::drop(&mut self.queue) });
        // What is the host's is destroyed by him.
        let alone = self.host.is_none().then(turns::alone);
        // SAFETY: nor is the device.
        let _ = survive(|| unsafe { ManuallyDrop::drop(&mut self.device) });
        drop(alone);
        drop(turn);
    }
}

/// The host's lock.
struct Turn<'a>(Option<&'a dyn VulkanHost>);

impl<'a> Turn<'a> {
    fn take(host: Option<&'a dyn VulkanHost>) -> Self {
        if let Some(host) = host {
            host.lock_queue();
        }
        Self(host)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(host) = self.0 {
            host.unlock_queue();
        }
    }
}

/// The queue in its turn.
pub(crate) struct Locked<'a> {
    queue: &'a wgpu::Queue,
    _turn: Turn<'a>,
}

impl Deref for Locked<'_> {
    type Target = wgpu::Queue;
    fn deref(&self) -> &wgpu::Queue {
        self.queue
    }
}
