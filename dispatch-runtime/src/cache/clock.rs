//! A clock for recency: the same for all threads, read without a shared write.
//!
//! A thread's stamp is `max(now, its last stamp + 1)`, so stamps rise strictly within a thread, and across threads they
//! are in order as far as the clock is: up to the calls that run at the same moment. The unit does not matter as
//! long as a hit takes at least one, since then no thread's stamps run ahead of the clock.
//!
//! Sources, by cost of a reading: the time stamp counter of x86-64 where the processor says that it runs at a constant
//! rate (8 ns; on Linux it is then the same on all processors), the virtual counter of AArch64, else `Instant`
//! (20 ns). A counter that differs between two sockets would only blur the order of recency.

#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
mod source {
    use std::arch::x86_64::{__cpuid, _rdtsc};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    static CONSTANT_RATE: AtomicBool = AtomicBool::new(false);

    pub fn init() {
        #[allow(unused_unsafe)] // safe from Rust 1.92 on
        // SAFETY: every x86-64 processor has CPUID and its first two extended leaves.
        let constant = unsafe {
            let last = __cpuid(0x8000_0000).eax;
            last >= 0x8000_0007 && __cpuid(0x8000_0007).edx & 1 << 8 != 0
        };
        CONSTANT_RATE.store(constant, Relaxed);
    }

    #[inline(always)]
    pub fn now() -> u64 {
        if CONSTANT_RATE.load(Relaxed) {
            // SAFETY: every x86-64 processor has RDTSC.
            unsafe { _rdtsc() }
        } else {
            super::instant()
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(any(loom, miri))))]
mod source {
    pub fn init() {}

    /// The counter runs at 1 MHz to 1 GHz; 64 units for each of its steps keep a unit below the time of a hit.
    #[inline(always)]
    pub fn now() -> u64 {
        let count: u64;
        // SAFETY: reads a counter that user code may read; touches neither memory nor the stack nor flags.
        unsafe {
            std::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags))
        };
        count << 6
    }
}

#[cfg(all(not(any(target_arch = "x86_64", target_arch = "aarch64")), not(loom)))]
mod source {
    pub fn init() {}

    pub fn now() -> u64 {
        super::instant()
    }
}

#[cfg(all(miri, not(loom), any(target_arch = "x86_64", target_arch = "aarch64")))]
mod source {
    pub fn init() {}

    pub fn now() -> u64 {
        super::instant()
    }
}

/// The model checker must see the same times in every run.
#[cfg(loom)]
mod source {
    pub fn init() {}

    pub fn now() -> u64 {
        0
    }
}

pub(super) use source::{init, now};

/// Nanoseconds since the first call.
#[cfg(not(loom))]
#[cold]
#[allow(dead_code)] // not used on AArch64
fn instant() -> u64 {
    use std::{sync::OnceLock, time::Instant};
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
