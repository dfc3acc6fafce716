//! Dry runs (M5): what a stream's work would take, measured on pools whose pages have no memory behind them.
//!
//! While one runs, buffers of the stream are deferred allocations that these pools count, launches are checked and compiled, and nothing is
//! enqueued. The pools are the same code with the same layout, so what they ask for is what the stream's own would ask for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use compute_memory::{Answer, Layout, Mode, Placement, PoolReport, Pools, Progress, Refusal, Settings};
use parking_lot::Mutex;

use super::super::code;
use super::super::error::{Failed, Result, error, fail};
use super::super::stream::Stream;
use super::{DRY, no_host_memory, refused};

/// Pools that only count.
pub(crate) struct DryRun {
    pools: Mutex<Pools<()>>,
    pages: AtomicU64,
}

/// What a dry run counts for one buffer. Counted out when dropped.
pub(crate) struct Measured {
    run: Arc<DryRun>,
    /// `None` only while it is being dropped.
    placement: Option<Placement>,
}

/// Nothing is ever in flight.
struct Idle;

impl Progress<()> for Idle {
    fn is_over(&self, (): &()) -> bool {
        true
    }

    fn is_past(&self, _: u64) -> bool {
        true
    }
}

impl DryRun {
    fn new(layout: Layout, settings: Settings) -> Result<Arc<Self>> {
        let pools = Pools::new(layout, settings).map_err(|invalid| Failed::of(error(code::INTERNAL, invalid.to_string())))?;
        Ok(Arc::new(Self { pools: Mutex::new(pools), pages: AtomicU64::new(1) }))
    }

    /// Counts an allocation.
    pub(super) fn allocate(self: &Arc<Self>, size: u64, mode: Mode) -> Result<Measured> {
        let refused = |refusal: Refusal| refused(&refusal);
        let mut pools = self.pools.lock();
        let placement = match pools.allocate(size, 1, mode, &Idle).map_err(refused)? {
            Answer::Placed(placement) => placement,
            Answer::NeedPage(request) => {
                // As a stream's own pools do it, which are to take the same pages.
                while pools.take_released(&Idle).is_some() {}
                let page = self.pages.fetch_add(1, Ordering::Relaxed);
                pools.add_page(&request, page, request.size).map_err(|_| no_host_memory(size))?
            }
        };
        while pools.take_released(&Idle).is_some() {}
        Ok(Measured { run: Arc::clone(self), placement: Some(placement) })
    }

    fn report(&self) -> Vec<PoolReport> {
        self.pools.lock().report()
    }

    fn plan(&self) -> Layout {
        let pools = self.pools.lock();
        pools.layout().capped(&pools.report())
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        let mut pools = self.run.pools.lock();
        if let Some(placement) = self.placement.take() {
            pools.release(placement, 0, None, &Idle);
        }
        while pools.take_released(&Idle).is_some() {}
    }
}

/// The dry run of a stream, and the last one that has ended.
#[derive(Default)]
pub(crate) struct DryRuns {
    running: Option<Arc<DryRun>>,
    last: Option<Arc<DryRun>>,
}

impl DryRuns {
    /// Whether one goes on.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }
}

impl Stream {
    /// Whether what is asked of it is only measured.
    pub(crate) fn is_dry(&self) -> bool {
        self.is_dry.load(Ordering::Acquire)
    }

    pub(crate) fn running_dry(&self) -> Option<Arc<DryRun>> {
        if self.is_dry() { self.dry_runs.lock().running.clone() } else { None }
    }

    /// Starts to measure (M5): until [`Stream::end_dry_run`] buffers made from this stream are deferred, its launches are compiled only, and writes,
    /// fills and copies do nothing.
    pub fn begin_dry_run(&self) -> Result<()> {
        self.device.check()?;
        let store = &self.device.memory;
        let layout = match self.pools.get() {
            Some(set) => set.pools.lock().layout().clone(),
            None => store.layout.lock().clone(),
        };
        let mut runs = self.dry_runs.lock();
        // A capture is prepared under the same lock.
        if self.window.is_open() {
            drop(runs);
            self.refused_recording("a dry run")?;
            return fail(code::BUSY, format!("a capture of stream `{}` is prepared; end it first", self.label));
        }
        if runs.is_running() {
            return fail(code::BUSY, format!("stream `{}` is in a dry run already; end that one first", self.label));
        }
        runs.running = Some(DryRun::new(layout, store.settings)?);
        self.is_dry.store(true, Ordering::Release);
        // Before anybody can end it.
        self.keeper.shut(DRY);
        drop(runs);
        self.keeper.let_go();
        Ok(())
    }

    /// Ends it. What was made in it stays deferred until it is used.
    pub fn end_dry_run(&self) -> Result<()> {
        let mut runs = self.dry_runs.lock();
        let Some(ended) = runs.running.take() else {
            return fail(code::BUSY, format!("stream `{}` is in no dry run; begin one first", self.label));
        };
        self.is_dry.store(false, Ordering::Release);
        self.keeper.open(DRY);
        let before = runs.last.replace(ended);
        drop(runs);
        drop(before);
        Ok(())
    }

    /// The pools of the dry run that goes on, if one does.
    pub(super) fn dry_report(&self) -> Option<Vec<PoolReport>> {
        self.running_dry().map(|run| run.report())
    }

    /// The layout of the dry run that goes on, or else of the last one, with every pool capped at its peak.
    pub fn plan(&self) -> Result<Layout> {
        let runs = self.dry_runs.lock();
        match runs.running.as_ref().or(runs.last.as_ref()) {
            Some(run) => Ok(run.plan()),
            None => fail(code::BUSY, format!("stream `{}` has had no dry run, so there is no plan; begin one first", self.label)),
        }
    }
}
