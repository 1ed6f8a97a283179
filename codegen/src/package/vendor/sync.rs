//! Files that are written only if they change.

use std::io;
use std::path::{Path, PathBuf};

use super::Files;

/// What was written or removed.
#[derive(Default)]
pub(super) struct Changes(Vec<PathBuf>);

impl Changes {
    pub(super) fn paths(self) -> Vec<PathBuf> {
        self.0
    }

    pub(super) fn file(&mut self, path: &Path, content: &[u8]) -> io::Result<()> {
        if std::fs::read(path).is_ok_and(|old| old == content) {
            return Ok(());
        }
        write(path, content)?;
        self.0.push(path.to_owned());
        Ok(())
    }

    /// Makes a folder have these files and no other.
    pub(super) fn folder(&mut self, folder: &Path, files: &Files) -> io::Result<()> {
        self.remove_others(folder, folder, files)?;
        files.iter().try_for_each(|(path, content)| self.file(&folder.join(path), content))
    }

    fn remove_others(&mut self, root: &Path, folder: &Path, files: &Files) -> io::Result<()> {
        let entries = match std::fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            let inside = path.strip_prefix(root).map_err(io::Error::other)?;
            let is_folder = std::fs::symlink_metadata(&path)?.is_dir();
            if is_folder && files.keys().any(|file| file.starts_with(inside)) {
                self.remove_others(root, &path, files)?;
            } else if is_folder {
                std::fs::remove_dir_all(&path)?;
                self.0.push(path);
            } else if !files.contains_key(inside) {
                std::fs::remove_file(&path)?;
                self.0.push(path);
            }
        }
        Ok(())
    }
}

/// Writes a file and the folders that it is in.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, content)
}

/// A folder that goes when this does.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> io::Result<Scratch> {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("dispatch-vendor-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder)?;
        // Cargo prints paths without links.
        Ok(Scratch(folder.canonicalize()?))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_what_it_should_and_no_more() {
        let scratch = Scratch::new().unwrap();
        let folder = scratch.path().join("a");
        for path in ["old/x", "b/old", "b/same"] {
            write(&folder.join(path), b"1").unwrap();
        }
        let files = Files::from([("b/same".into(), b"1".to_vec()), ("c/new".into(), b"2".to_vec())]);
        let run = || {
            let mut changes = Changes::default();
            changes.folder(&folder, &files).unwrap();
            let mut paths = changes.paths();
            paths.sort();
            paths
        };
        assert_eq!(run(), [folder.join("b/old"), folder.join("c/new"), folder.join("old")]);
        assert_eq!(run(), [] as [PathBuf; 0]);
        assert!(!folder.join("old").exists() && folder.join("b/same").exists());
    }
}
