//! A directory for a store, removed when the test ends.
#![allow(dead_code)] // each test target uses a part

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub struct Dir(PathBuf);

impl Dir {
    /// A directory that is not there yet.
    pub fn new() -> Dir {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("store-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        Dir(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The files whose names end so.
    pub fn files(&self, end: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(&self.0).into_iter().flatten();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.retain(|path| path.to_string_lossy().ends_with(end));
        files.sort();
        files
    }

    pub fn entries(&self) -> Vec<PathBuf> {
        self.files(".compiled")
    }

    pub fn bytes(&self) -> u64 {
        self.entries().iter().map(|entry| entry.metadata().unwrap().len()).sum()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
        let _ = fs::remove_file(&self.0);
    }
}
