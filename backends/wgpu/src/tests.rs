//! What only the inside can bring about: a batch that the driver refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "ends at the first thing that is wrong")]

use compute_hal::{Driver, HostTarget, LateCause, OpenOptions, Position, Queue, Region, Waited};

use crate::queue::WgpuQueue;
use crate::{WgpuDriver, driver};

fn queues(test: impl Fn(&crate::device::WgpuDevice, &WgpuQueue)) {
    for index in 0..WgpuDriver.probe().devices.len() {
        let device = driver::open_device(u32::try_from(index).unwrap(), &OpenOptions::default()).unwrap();
        let queue = device.open_queue().unwrap();
        test(&device, &queue);
    }
}

#[test]
fn err06_t13_every_member_of_a_refused_batch_fails_and_the_next_batch_runs() {
    queues(|device, queue| {
        use compute_hal::Device;
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        queue.write(1, block, &[7; 64]).unwrap();
        assert_eq!(queue.wait(1, None).unwrap(), Waited::Done);
        let target = HostTarget::staging(64).unwrap();
        queue.break_batch([2, 3, 5], block, &target);
        assert_eq!(queue.wait(5, None).unwrap(), Waited::Done);
        let late = queue.take_late();
        let positions: Vec<Position> = late.iter().map(|late| late.position).collect();
        assert_eq!(positions, [2, 3, 5], "{late:?}");
        assert!(
            late.iter().all(|late| matches!(&late.cause, LateCause::Driver { name, .. } if name == "VALIDATION")),
            "{late:?}"
        );
        // SAFETY: the staging memory lives as long as `target`, has 64 bytes, and the read is over.
        let read = |target: &HostTarget| unsafe { std::slice::from_raw_parts(target.pointer(), 64) }.to_vec();
        assert_eq!(read(&target), [0; 64], "a failed read moved bytes");
        queue.read(6, block, target.clone()).unwrap();
        assert_eq!(queue.wait(6, None).unwrap(), Waited::Done);
        assert_eq!(read(&target), [7; 64], "a part of the refused batch ran");
        assert!(queue.take_late().is_empty() && device.fault().is_none());
    });
}

#[test]
fn t12_a_lost_device_says_so_to_everybody_and_a_new_one_opens() {
    queues(|device, queue| {
        use compute_hal::{Device, DeviceError};
        let block = Region { memory: device.allocate(64).unwrap(), offset: 0, size: 64 };
        queue.write(1, block, &[7; 64]).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        queue.notify(1000, Box::new(move || tell.send(()).unwrap()));
        device.lose_for_test();
        assert!(matches!(queue.wait(1000, None), Err(DeviceError::Lost(_))));
        told.recv_timeout(std::time::Duration::from_secs(10)).expect("a callback did not come");
        assert!(matches!(queue.fill(2, block, &[1]), Err(DeviceError::Lost(_))));
        assert!(matches!(device.allocate(64), Err(DeviceError::Lost(cause)) if cause.reopen));
        assert_eq!(queue.completed(), Position::MAX);
        assert!(driver::open_device(0, &OpenOptions::default()).is_ok());
    });
}
