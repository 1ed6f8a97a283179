//! Files in memory.
//!
//! To read a page that a file no longer has ends the process (`SIGBUS`). So the file stays open, and before its data is read
//! its length is looked at: one that was truncated is an error. What cannot be seen is that somebody truncates it while it is
//! being read, which takes as long as a copy does; or, if the data is declared immutable and a device shares it, as long as
//! the device has it. A file that was removed or replaced by another one is no problem: the mapping is of the old one.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Weak};

use crate::Arg;
use crate::fault::{Fault, Result};
use crate::main_thread::MainThread;

/// The mappings that are in use, and some that were.
static KNOWN: MainThread<RefCell<Vec<Weak<Mapping>>>> = MainThread::new(RefCell::new(Vec::new()));

/// A part of a file.
pub(super) struct Mapping {
    file: File,
    path: String,
    /// Device and number of the file, the part of it, and whether it is written to.
    identity: (u64, u64, u64, usize, bool),
    writable: bool,
    /// The first page, and how many bytes are mapped.
    pages: (*mut u8, usize),
    /// Where the part begins in them, and its length.
    part: (usize, usize),
    /// Where the part ends in the file.
    end: u64,
}

// SAFETY: plain memory of the process, which R's thread alone writes to.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` bytes from `start` on. To map and to unmap takes a tenth of the time of a copy, so what is mapped already,
    /// and still in use, is not mapped again.
    pub fn new(path: Arg<'_>, start: u64, bytes: usize, writable: bool) -> Result<Arc<Mapping>> {
        let (argument, path) = (path.name(), path.string()?);
        let failed = |error: std::io::Error| {
            Fault::argument(
                "file",
                argument,
                if writable { "a file that can be read and written" } else { "a file that can be read" },
                format!("\"{path}\": {error}"),
            )
        };
        let file = OpenOptions::new().read(true).write(writable).open(Path::new(&path)).map_err(failed)?;
        let end = start.saturating_add(bytes as u64);
        let about = file.metadata().map_err(failed)?;
        let has = about.len();
        if has < end {
            let expected = format!("a file of at least {end} bytes");
            return Err(Fault::argument("file", argument, expected, format!("\"{path}\" of {has} bytes")));
        }
        let identity = (about.dev(), about.ino(), start, bytes, writable);
        let mut known = KNOWN.get().borrow_mut();
        known.retain(|mapping| mapping.strong_count() > 0);
        if let Some(same) = known.iter().filter_map(Weak::upgrade).find(|known| known.identity == identity) {
            return Ok(same);
        }
        // SAFETY: asks for the size of a page.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
        let before = (start % page) as usize;
        let length = before + bytes;
        let mut pages = std::ptr::NonNull::<u8>::dangling().as_ptr();
        if bytes > 0 {
            let access = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
            // SAFETY: a new mapping, wherever there is room.
            let at = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    length,
                    access,
                    libc::MAP_SHARED,
                    file.as_raw_fd(),
                    (start - before as u64) as libc::off_t,
                )
            };
            if at == libc::MAP_FAILED {
                return Err(failed(std::io::Error::last_os_error()));
            }
            pages = at.cast();
        }
        let mapping = Arc::new(Mapping {
            file,
            path,
            identity,
            writable,
            pages: (pages, length),
            part: (before, bytes),
            end,
        });
        known.push(Arc::downgrade(&mapping));
        Ok(mapping)
    }

    pub fn data(&self) -> *mut u8 {
        self.pages.0.wrapping_add(if self.part.1 == 0 { 0 } else { self.part.0 })
    }

    pub fn len(&self) -> usize {
        self.part.1
    }

    /// Tells the system that all of the part is about to be read: pages that are in memory are mapped at once, which takes
    /// less time than one after the other. A system that cannot do so does nothing.
    pub fn will_be_read(&self) {
        #[cfg(target_os = "linux")]
        if self.part.1 > 0 {
            // SAFETY: the pages are those of the mapping, whose content this does not change.
            unsafe { libc::madvise(self.pages.0.cast(), self.pages.1, libc::MADV_POPULATE_READ) };
        }
    }

    /// Device and number of the file, and where in it the part begins.
    pub fn place(&self) -> (u64, u64, u64) {
        let (device, number, start, ..) = self.identity;
        (device, number, start)
    }

    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// An error if the file has become too short to be read.
    pub fn check(&self, argument: &str) -> Result<()> {
        let has = self.file.metadata().map_or(0, |file| file.len());
        if has >= self.end {
            return Ok(());
        }
        let expected = format!("the {} bytes that the file had when it was mapped", self.end);
        Err(Fault::argument("file", argument, expected, format!("\"{}\", which now has {has}", self.path)))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.part.1 > 0 {
            // SAFETY: the mapping is ours, and nobody has a view of it any more.
            unsafe { libc::munmap(self.pages.0.cast(), self.pages.1) };
        }
    }
}
