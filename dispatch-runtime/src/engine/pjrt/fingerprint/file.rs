//! Which build of a plugin a process has loaded.
//!
//! Plugins have no build id, and hashing one of 260 MB takes as long as compiling. So it is known by its file: size, times
//! and number. Nobody can set the time of the last change, so a file that was written anew is another one, even if all else
//! is equal; and of a file that was replaced meanwhile the system says so in the table of the process's memory. Some blocks
//! of it are hashed as well.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_128;

/// How many blocks are hashed, and their size.
const BLOCKS: u64 = 64;
const BLOCK: usize = 1024;

/// A plugin's file as it was when it was loaded.
#[derive(Debug)]
pub(in super::super) struct PluginFile {
    path: PathBuf,
    mark: Mark,
}

/// What tells a file from others, and from itself after a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mark {
    number: u64,
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Mark {
    fn of(file: &std::fs::Metadata) -> Mark {
        Mark {
            number: file.ino(),
            size: file.size(),
            written: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}

impl PluginFile {
    /// The file that is there now.
    pub fn at(path: &Path) -> Option<PluginFile> {
        let path = path.canonicalize().ok()?;
        let mark = Mark::of(&path.metadata().ok()?);
        Some(PluginFile { path, mark })
    }

    /// Whether the process has this file in its memory, at this address. The system marks the path of one that was replaced.
    pub fn is_mapped_at(&self, address: usize) -> bool {
        std::fs::read_to_string("/proc/self/maps")
            .is_ok_and(|maps| path_at(&maps, address) == Some(&*self.path.to_string_lossy()))
    }

    /// The file in words; none if it has changed since.
    pub fn text(&self) -> Option<String> {
        let file = File::open(&self.path).ok()?;
        let mut blocks = Vec::new();
        for i in 0..BLOCKS {
            let mut block = [0; BLOCK];
            let read = file.read_at(&mut block, self.mark.size / BLOCKS * i).ok()?;
            blocks.extend_from_slice(&block[..read]);
        }
        if Mark::of(&file.metadata().ok()?) != self.mark {
            return None;
        }
        Some(format!("{:?} blocks {:032x}", self.mark, XxHash3_128::oneshot(&blocks)))
    }
}

/// The path of the file at an address, from the table of the process's memory: lines of
/// `begin-end rights offset device number path`.
///
/// The number is not compared: where file systems lie over each other, it may be that of the one below.
fn path_at(maps: &str, address: usize) -> Option<&str> {
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (begin, end) = range.split_once('-')?;
        let address_of = |text| usize::from_str_radix(text, 16).ok();
        let is_here = (address_of(begin)?..address_of(end)?).contains(&address);
        is_here.then(|| rest.splitn(5, ' ').nth(4).unwrap_or_default().trim_start())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_an_address_in_it() {
        let maps = "7f00-7f80 r--p 00000000 fe:00 12 /a/b c.so\n7f80-8000 r-xp 00000080 fe:00 12     /a/b c.so (deleted)\n\
                    8000-9000 rw-p 00000000 00:00 0 \n";
        assert_eq!(path_at(maps, 0x7f00), Some("/a/b c.so"));
        assert_eq!(path_at(maps, 0x7fff), Some("/a/b c.so (deleted)"));
        assert_eq!(path_at(maps, 0x8000), Some(""));
        assert_eq!(path_at(maps, 0x9000), None);
    }

    #[test]
    fn a_file_written_anew_is_another_one_and_none_that_is_not_in_memory() {
        let own = PluginFile::at(&std::env::current_exe().unwrap()).unwrap();
        assert!(own.is_mapped_at(path_at as fn(&'static str, usize) -> _ as usize));
        assert_eq!(own.text(), own.text());

        let path = std::env::temp_dir().join(format!("dispatch-plugin-file-{}", std::process::id()));
        std::fs::write(&path, "one").unwrap();
        let file = PluginFile::at(&path).unwrap();
        let text = file.text().unwrap();
        assert!(!file.is_mapped_at(path_at as fn(&'static str, usize) -> _ as usize));
        let times = path.metadata().unwrap().modified().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&path, "two").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(times).unwrap();
        assert_eq!(file.text(), None);
        assert_ne!(PluginFile::at(&path).unwrap().text().unwrap(), text);
        std::fs::remove_file(&path).unwrap();
    }
}
