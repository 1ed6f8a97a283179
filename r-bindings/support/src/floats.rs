//! The arithmetic that R and LAPACK expect, in functions that programs call.

use std::marker::PhantomData;

use register::{IEEE, Register, read, write};

/// XLA runs programs, and what they call, with subnormal numbers taken for zero. LAPACK's scaling is written for IEEE
/// arithmetic, and all of R is; so it is switched on while this lives, and what was there before comes back. It is a state
/// of the thread.
#[derive(Debug)]
pub struct Ieee {
    before: Register,
    stays_on_its_thread: PhantomData<*const ()>,
}

impl Ieee {
    /// Switches it on.
    pub fn on() -> Ieee {
        let before = read();
        write(IEEE);
        Ieee { before, stays_on_its_thread: PhantomData }
    }
}

impl Drop for Ieee {
    fn drop(&mut self) {
        write(self.before);
    }
}

#[cfg(target_arch = "x86_64")]
mod register {
    use std::arch::asm;

    pub type Register = u32;

    /// Nothing is flushed, rounding to nearest, no traps: what a thread starts with, and what Rust itself expects.
    pub const IEEE: Register = 0x1f80;

    pub fn read() -> Register {
        let mut value: Register = 0;
        // SAFETY: the instruction writes these four bytes.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        value
    }

    pub fn write(value: Register) {
        // SAFETY: the instruction reads these four bytes; the values are the one above or one that was there.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod register {
    use std::arch::asm;

    pub type Register = u64;

    /// Nothing is flushed, rounding to nearest, no traps: what a thread starts with, and what Rust itself expects.
    pub const IEEE: Register = 0;

    pub fn read() -> Register {
        let value: Register;
        // SAFETY: the register can be read by any program.
        unsafe { asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    pub fn write(value: Register) {
        // SAFETY: the register can be written by any program; the values are the one above or one that was there.
        unsafe { asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod register {
    pub type Register = ();
    pub const IEEE: Register = ();
    pub fn read() {}
    pub fn write((): Register) {}
}
