//! Files that are to have a certain text.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Generated files by path, in a fixed order.
#[derive(Debug, Default)]
pub struct Files(BTreeMap<PathBuf, Option<String>>);

/// A file on disk that has not the text that it should have.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// The file.
    pub path: PathBuf,
    /// The first line that differs, counted from 1; none if there is no file, or should be none.
    pub line: Option<usize>,
}

impl Files {
    /// Adds a file; a second text for one path replaces the first.
    pub fn insert(&mut self, path: impl Into<PathBuf>, text: impl Into<String>) {
        self.0.insert(path.into(), Some(text.into()));
    }

    /// Adds a file that is to be there no more.
    pub fn remove(&mut self, path: impl Into<PathBuf>) {
        self.0.insert(path.into(), None);
    }

    /// Adds all of the others.
    pub fn extend(&mut self, others: Files) {
        self.0.extend(others.0);
    }

    /// The text of a file.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<&str> {
        self.0.get(path.as_ref())?.as_deref()
    }

    /// The files that are to be there, with their texts.
    pub fn texts(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.0.iter().filter_map(|(path, text)| Some((path.as_path(), text.as_deref()?)))
    }

    /// Writes the files whose text has changed, removes those that are to go, and gives their paths.
    ///
    /// # Errors
    ///
    /// A file that cannot be written or removed, which is named.
    pub fn write(&self) -> io::Result<Vec<&Path>> {
        let mut written = Vec::new();
        for (path, text) in &self.0 {
            let done = write(path, text.as_deref());
            let named =
                |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            if done.map_err(named)? {
                written.push(path.as_path());
            }
        }
        Ok(written)
    }

    /// The files that [`Files::write`] would write.
    pub fn differences(&self) -> io::Result<Vec<Difference>> {
        let mut differences = Vec::new();
        for (path, text) in &self.0 {
            let Some(text) = text else {
                if path.exists() {
                    differences.push(Difference { path: path.clone(), line: None });
                }
                continue;
            };
            let line = match fs::read_to_string(path) {
                Ok(old) if old == *text => continue,
                Ok(old) => Some(1 + old.lines().zip(text.lines()).take_while(|(a, b)| a == b).count()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            differences.push(Difference { path: path.clone(), line });
        }
        Ok(differences)
    }
}

/// Gives a file this text, or removes it; whether anything changed.
fn write(path: &Path, text: Option<&str>) -> io::Result<bool> {
    let Some(text) = text else {
        return match fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        };
    };
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let folder = std::env::temp_dir().join(format!("dispatch-files-in-the-way-{}", std::process::id()));
        fs::create_dir_all(folder.join("R/families.R")).unwrap();
        let mut files = Files::default();
        files.insert(folder.join("R/families.R"), "x");
        let error = files.write().unwrap_err().to_string();
        assert!(error.contains("R/families.R: "), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_what_changed_is_written() {
        let folder = std::env::temp_dir().join(format!("dispatch-files-{}", std::process::id()));
        let (a, b) = (folder.join("a"), folder.join("deep/b"));
        let mut files = Files::default();
        files.insert(&b, "one\ntwo\n");
        files.insert(&a, "x\n");
        let missing = |path: &PathBuf| Difference { path: path.clone(), line: None };
        assert_eq!(files.differences().unwrap(), [missing(&a), missing(&b)]);
        assert_eq!(files.write().unwrap(), [&a, &b]);
        assert_eq!(files.write().unwrap(), [] as [&Path; 0]);
        files.insert(&b, "one\nthree\n");
        assert_eq!(files.differences().unwrap(), [Difference { path: b.clone(), line: Some(2) }]);
        assert_eq!(files.write().unwrap(), [&b]);
        assert_eq!(files.text(&b), Some("one\nthree\n"));
        files.remove(&b);
        assert_eq!(files.differences().unwrap(), [missing(&b)]);
        assert_eq!(files.write().unwrap(), [&b]);
        assert!(!b.exists() && files.differences().unwrap().is_empty());
        assert_eq!(files.write().unwrap(), [] as [&Path; 0]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
