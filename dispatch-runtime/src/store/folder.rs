//! The directory of a store: who may write to it, how files come and go.
//!
//! Any number of processes use one at once. A file is written under a name of its own and then renamed, so that a reader
//! sees a whole one or none; a writer holds a lock on its file, so that one without is a killed writer's.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::container::{self, Name};

/// How the names of entries end, and those of files that are being written.
pub(super) const ENTRY: &str = ".compiled";
const PART: &str = ".part";
/// Whoever removes entries holds a lock on it.
const LOCK: &str = ".lock";

/// A directory that is there and that nobody else may write to, when it is opened.
pub(super) struct Folder {
    path: PathBuf,
}

/// An entry as the directory knows it.
struct Listed {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// What is in a directory.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Contents {
    pub entries: u64,
    pub bytes: u64,
}

impl Folder {
    /// Makes the directory, for its owner only, unless it is there; an error says why it is not to be trusted.
    pub fn open(path: &Path, create: bool) -> io::Result<Folder> {
        if create {
            self::create(path)?;
        }
        // What the path leads to is what is trusted, whatever its links lead to later.
        let path = path.canonicalize()?;
        trust::directory(&path)?;
        Ok(Folder { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of an entry with its size; none if there is none.
    pub fn read(&self, name: &str) -> io::Result<Option<(File, u64)>> {
        let file = match trust::open(&self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let size = file.metadata()?.len();
        Ok(Some((file, size)))
    }

    /// Notes that an entry is in use. A store that is only read keeps no order.
    pub fn touch(&self, file: &File) {
        let _ = file.set_modified(SystemTime::now());
    }

    /// Writes an entry, in place of one that is there.
    pub fn write(&self, name: &str, kind: &Name, sections: &[(Name, &[u8])]) -> io::Result<()> {
        match self.try_write(name, kind, sections) {
            // The directory is gone, or somebody has taken the file for a killed writer's before it was locked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create(&self.path)?;
                trust::directory(&self.path)?;
                self.try_write(name, kind, sections)
            }
            result => result,
        }
    }

    fn try_write(&self, name: &str, kind: &Name, sections: &[(Name, &[u8])]) -> io::Result<()> {
        let part = Part(Some(self.path.join(format!(".{name}.{}", unique_part()))));
        let file = trust::create(part.path())?;
        // A file system without locks has nobody who sweeps, either.
        let _locked = lock(&file);
        let mut writer = BufWriter::new(&file);
        container::write(kind, sections, &mut writer)?;
        writer.flush()?;
        drop(writer);
        // Not synced: after a power failure a file may be incomplete, which its checksums tell.
        self.touch(&file);
        part.rename(&self.path.join(name))
    }

    /// Entries and their bytes.
    pub fn contents(&self) -> Contents {
        sum(&self.list().unwrap_or_default())
    }

    /// Removes what killed writers have left behind, and entries until the rest has at most so many bytes, those first that
    /// were not used for longest; what is there then, and how many were removed. Somebody else who is at it is left alone.
    pub fn trim(&self, most: u64) -> io::Result<(Contents, u64)> {
        let lock_file = trust::create_or_open(&self.path.join(LOCK))?;
        if !lock(&lock_file) {
            return Ok((self.contents(), 0));
        }
        self.sweep();
        let mut listed = self.list()?;
        let mut contents = sum(&listed);
        listed.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        let mut removed = 0;
        while contents.bytes > most {
            let Some(oldest) = listed.pop() else { break };
            // Whoever reads it at this moment has opened it.
            if fs::remove_file(&oldest.path).is_ok() {
                removed += 1;
            }
            contents.bytes -= oldest.bytes;
            contents.entries -= 1;
        }
        Ok((contents, removed))
    }

    /// Removes all entries; how many.
    pub fn clear(&self) -> io::Result<u64> {
        self.sweep();
        let mut removed = 0;
        for entry in self.list()? {
            match fs::remove_file(&entry.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                result => removed += u64::from(result.is_ok()),
            }
        }
        Ok(removed)
    }

    /// Removes what killed writers have left behind.
    pub fn sweep(&self) {
        let Ok(files) = fs::read_dir(&self.path) else { return };
        for file in files.flatten() {
            let is_part = file.file_name().to_string_lossy().ends_with(PART);
            if is_part && trust::open(&file.path()).is_ok_and(|file| lock(&file)) {
                let _ = fs::remove_file(file.path());
            }
        }
    }

    fn list(&self) -> io::Result<Vec<Listed>> {
        let mut listed = Vec::new();
        for file in fs::read_dir(&self.path)? {
            let file = file?;
            let is_entry = file.file_name().to_string_lossy().ends_with(ENTRY);
            // One that has gone meanwhile, or is no file, is none.
            let Some(about) = file.metadata().ok().filter(|about| is_entry && about.is_file()) else {
                continue;
            };
            let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            listed.push(Listed { path: file.path(), bytes: about.len(), used });
        }
        Ok(listed)
    }
}

fn sum(listed: &[Listed]) -> Contents {
    Contents { entries: listed.len() as u64, bytes: listed.iter().map(|entry| entry.bytes).sum() }
}

/// The end of a name that no other file has while it is written: of no other process, also of those that had the same number
/// before, or have it in another container.
pub(crate) fn unique_part() -> String {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let moment = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |passed| passed.as_nanos());
    format!("{}.{number}.{moment}{PART}", std::process::id())
}

/// A file that is being written; removed unless it gets its name.
struct Part(Option<PathBuf>);

impl Part {
    fn path(&self) -> &Path {
        self.0.as_deref().expect("not renamed yet")
    }

    fn rename(mut self, to: &Path) -> io::Result<()> {
        fs::rename(self.path(), to)?;
        self.0 = None;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// Makes a directory and those above it, for the user alone.
fn create(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Whether a file could be locked, until it is closed; without waiting.
fn lock(file: &File) -> bool {
    #[cfg(unix)]
    return rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok();
    #[cfg(not(unix))]
    return {
        let _ = file;
        false
    };
}

/// Whose files are believed: machine code of another user is not run.
pub(crate) mod trust {
    use super::*;

    /// An error unless only the user, or the administrator, can have written the files of this directory.
    pub fn directory(path: &Path) -> io::Result<()> {
        let about = path.metadata()?;
        if !about.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no directory"));
        }
        owned(&about)?;
        // Who can rename a directory above can put another one in its place.
        #[cfg(unix)]
        for above in path.ancestors().skip(1) {
            use std::os::unix::fs::MetadataExt;
            let mode = above.metadata()?.mode();
            if mode & 0o002 != 0 && mode & 0o1000 == 0 {
                let reason =
                    format!("everybody can write to `{}` (mode {:o})", above.display(), mode & 0o7777);
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
            }
        }
        Ok(())
    }

    /// Opens a file that only the user, or the administrator, can have written: no link, nothing that is no file.
    pub fn open(path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true);
        no_links(&mut options);
        let file = options.open(path)?;
        check(&file)?;
        Ok(file)
    }

    /// An error unless only the user, or the administrator, can have written this file.
    pub fn check(file: &File) -> io::Result<()> {
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
        }
        owned(&about)
    }

    /// A new file that only the user can read and write.
    pub fn create(path: &Path) -> io::Result<File> {
        for_user(OpenOptions::new().create_new(true)).open(path)
    }

    pub fn create_or_open(path: &Path) -> io::Result<File> {
        for_user(OpenOptions::new().create(true)).open(path)
    }

    /// A new file that only the user can write.
    pub fn create_readable(path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let options = for_user(options.create_new(true));
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o644);
        options.open(path)
    }

    fn for_user(options: &mut OpenOptions) -> &mut OpenOptions {
        options.read(true).write(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
        no_links(options);
        options
    }

    /// Not through a link, and without waiting for the other end of a pipe.
    fn no_links(options: &mut OpenOptions) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
            options.custom_flags(flags.bits() as i32);
        }
        #[cfg(not(unix))]
        let _ = options;
    }

    fn owned(about: &Metadata) -> io::Result<()> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let (owner, user, mode) =
                (about.uid(), rustix::process::geteuid().as_raw(), about.mode() & 0o7777);
            let reason = if owner != user && owner != 0 {
                format!("it belongs to the user {owner}, not to {user}, who runs this")
            } else if mode & 0o022 != 0 {
                format!("others can write to it (mode {mode:o}); `chmod go-w` ends that")
            } else {
                return Ok(());
            };
            Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
        }
        #[cfg(not(unix))]
        {
            let _ = about;
            Ok(())
        }
    }
}
