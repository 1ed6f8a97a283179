//! Compiled programs that outlive the process: a directory where clients keep what they have compiled.
//!
//! ```
//! use dispatch_runtime::{prelude::*, store::Store};
//!
//! # let dir = std::env::temp_dir().join(format!("dispatch-store-doc-{}", std::process::id()));
//! let store = Store::open(&dir)?; // a directory of the user's, made if it is not there
//! let client = Client::cpu()?;
//! client.set_store(Some(&store));
//!
//! let program = Program::<Array>::stablehlo(
//!     "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
//!        %0 = stablehlo.negate %a : tensor<2xf32>
//!        return %0 : tensor<2xf32>
//!      }",
//! )?;
//! client.compile(&program)?; // compiled, and written
//! let executable = client.compile(&program)?; // read, as in every process after this one
//! assert_eq!((store.stats().writes, store.stats().hits), (1, 1));
//! assert_eq!(executable.execute(&[&client.array(&[1f32, 2.0], [2])?])?[0].to_vec::<f32>()?, [-1.0, -2.0]);
//! # client.set_store(None);
//! # std::fs::remove_dir_all(&dir).unwrap();
//! # Ok::<(), Error>(())
//! ```
//!
//! A client with a store asks it before it compiles, whoever the program is for: families, skeletons,
//! [`Client::compile`]. Loading takes about a tenth of compiling.
//!
//! # What is served
//!
//! An entry has its whole key with it, and is only used if that is equal: the text of the program, the options it is
//! compiled with, the build of the plugin, the processor with its features, the variables of the environment that XLA reads
//! (`XLA_FLAGS` and its like), the device. So a plugin that was updated, another processor, or a flag more mean that the
//! program is compiled anew. What is not known for sure is not kept at all: programs of a plugin that was replaced while the
//! process runs, of flags that stand in a file or ask for dumps, of variables that were changed after the plugin was loaded,
//! of other platforms than CPUs, of other systems than Linux. Nor are programs that the plugin cannot give away: the CPU
//! plugins cannot when there is a sort by plain order in it.
//!
//! Functions that a program calls ([`ffi`](crate::ffi)) are no part of it: it finds them by their names when it is loaded,
//! and a name that nobody has registered is the same error as in a compile.
//!
//! # What can go wrong
//!
//! Nothing that a call would notice. A file that was changed, truncated, or does not belong there is refused by its checksums
//! and its key, counted, and written anew. If the directory cannot be read or written, because the disk is full or it is
//! gone, programs are compiled as without a store; that is counted, and [warned](crate::set_warning_handler) of once.
//!
//! Any number of processes may use one directory at once, and each may be killed at any moment.
//!
//! Plugins of C API 0.106 print a long error about features of the machine (`prefer-no-gather`) whenever they load a program,
//! and take it nevertheless: the features are hints that they add themselves. `TF_CPP_MIN_LOG_LEVEL=3` silences them.
//!
//! # Whose files are run
//!
//! The files are machine code. Who can write to the directory can have every process that uses it run anything. So it must
//! belong to the user (or to the administrator), and nobody else may write to it; a directory that the store makes is for its
//! user alone (mode 700), and files that are another user's, writable by others, or links, are refused. The checksums are
//! against damage, not against malice.

pub(crate) mod container;
pub(crate) mod folder;
mod key;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::client::Device;
use crate::program::Source;
use crate::warning::warn;
use crate::{Client, CompileOptions, Error, Result, engine};
use container::{Damage, Name, Reader};
use folder::Folder;
use key::Key;

/// The kind of the files, and their sections.
const KIND: &Name = b"\x89DISPST\n";
const KEY: &Name = b"key     ";
const CODE: &Name = b"code    ";

/// A directory of compiled programs, for any number of clients and processes. See the [module](self).
///
/// A clone is the same store, with the same counters. It holds no files open.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    folder: Folder,
    max_bytes: u64,
    read_only: bool,
    counters: Counters,
    /// Whether somebody was told that the directory cannot be used.
    warned: AtomicBool,
    /// What this process has written since it looked at the whole directory, and what was there then.
    written: AtomicU64,
    seen: AtomicU64,
}

#[derive(Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    writes: AtomicU64,
    refused: AtomicU64,
    evicted: AtomicU64,
    failed: AtomicU64,
}

/// What a [`Store`] has done since it was opened, and what its directory holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct StoreStats {
    /// Programs that were loaded instead of compiled.
    pub hits: u64,
    /// Programs that were not there, and were compiled.
    pub misses: u64,
    /// Programs that were written.
    pub writes: u64,
    /// Files that were there for a program and not used: changed, truncated, of another program, of another user, or not
    /// taken by the plugin. Such a look-up is a miss as well.
    pub refused: u64,
    /// Entries that this process has removed for the bound on bytes.
    pub evicted: u64,
    /// Times that the directory could not be read or written.
    pub failed: u64,
    /// Entries in the directory now, by whomever.
    pub entries: u64,
    /// The sum of their sizes.
    pub bytes: u64,
}

impl fmt::Display for StoreStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StoreStats { hits, misses, writes, refused, evicted, failed, entries, bytes } = self;
        write!(
            f,
            "{hits} hits, {misses} misses, {writes} writes, {refused} refused, {evicted} evicted, {failed} failed; \
             {entries} entries of {bytes} bytes"
        )
    }
}

/// How a store is opened; from [`Store::builder`].
#[derive(Clone, Debug)]
pub struct StoreBuilder {
    path: PathBuf,
    max_bytes: u64,
    read_only: bool,
}

impl StoreBuilder {
    /// The most bytes that the entries take together, from when the store is opened; 1 GiB unless it is set. The entries go
    /// first that were not used for longest, by any process. Each process may be over the bound by a thirtieth before it looks.
    ///
    /// A program that is larger by itself is not kept.
    pub fn max_bytes(mut self, max_bytes: u64) -> StoreBuilder {
        self.max_bytes = max_bytes;
        self
    }

    /// Whether nothing is to be written: a directory that somebody else fills, such as the administrator's.
    pub fn read_only(mut self, read_only: bool) -> StoreBuilder {
        self.read_only = read_only;
        self
    }

    /// Opens the store; its directory and those above it are made if they are not there, unless it is read-only.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if there is no directory and none can be made, or if its files cannot be trusted: it is another
    /// user's, or others can write to it or replace it.
    pub fn open(self) -> Result<Store> {
        let StoreBuilder { path, max_bytes, read_only } = self;
        let folder = Folder::open(&path, !read_only).map_err(|error| Error::File {
            path: path.display().to_string(),
            reason: format!("cannot keep compiled programs here: {error}"),
        })?;
        let store = Store(Arc::new(Inner {
            folder,
            max_bytes,
            read_only,
            counters: Counters::default(),
            warned: AtomicBool::new(false),
            written: AtomicU64::new(0),
            seen: AtomicU64::new(u64::MAX),
        }));
        if !read_only {
            // What killed writers have left is of no use to anybody, and the bound may be a lower one than before. Where
            // that cannot be, what is there still serves.
            let _ = store.trim();
        }
        Ok(store)
    }
}

impl Store {
    /// Opens the store in a directory, with at most 1 GiB; as [`StoreBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Store> {
        Store::builder(path).open()
    }

    /// A store in a directory, to be set up.
    ///
    /// ```
    /// use dispatch_runtime::store::Store;
    ///
    /// # let dir = std::env::temp_dir().join(format!("dispatch-store-small-{}", std::process::id()));
    /// let store = Store::builder(&dir).max_bytes(64 << 20).open()?;
    /// assert_eq!((store.max_bytes(), store.stats().entries), (64 << 20, 0));
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    pub fn builder(path: impl AsRef<Path>) -> StoreBuilder {
        StoreBuilder { path: path.as_ref().to_owned(), max_bytes: 1 << 30, read_only: false }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.0.folder.path()
    }

    /// The bound on bytes.
    pub fn max_bytes(&self) -> u64 {
        self.0.max_bytes
    }

    /// Whether nothing is written.
    pub fn is_read_only(&self) -> bool {
        self.0.read_only
    }

    /// What was done since the store was opened, and what its directory holds now.
    pub fn stats(&self) -> StoreStats {
        let Counters { hits, misses, writes, refused, evicted, failed } = &self.0.counters;
        let contents = self.0.folder.contents();
        StoreStats {
            hits: hits.load(Relaxed),
            misses: misses.load(Relaxed),
            writes: writes.load(Relaxed),
            refused: refused.load(Relaxed),
            evicted: evicted.load(Relaxed),
            failed: failed.load(Relaxed),
            entries: contents.entries,
            bytes: contents.bytes,
        }
    }

    /// Removes all entries, whoever wrote them; how many. What is loaded stays.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if one cannot be removed, or the store is only read.
    pub fn clear(&self) -> Result<u64> {
        let wrong = |reason: String| Error::File { path: self.path().display().to_string(), reason };
        if self.0.read_only {
            return Err(wrong("the store is only read".into()));
        }
        self.0.folder.clear().map_err(|error| wrong(format!("cannot be cleared: {error}")))
    }

    /// Compiles a program, or loads it if it is here.
    pub(crate) fn compile(
        &self,
        device: Device,
        source: &Source,
        options: Option<&CompileOptions>,
        compile: impl FnOnce() -> Result<Box<dyn engine::Executable>>,
    ) -> Result<Box<dyn engine::Executable>> {
        let Some(key) = Key::of(device, source, options) else { return compile() };
        let counters = &self.0.counters;
        let found = match self.read(&key) {
            Found::Nothing => Ok(None),
            Found::Refused => Err(()),
            Found::Code(code) => {
                let engine = device.client().engine();
                // SAFETY: the bytes are unchanged, by their checksum, and of an entry whose key is this one: the same
                // fingerprint, source and options. Only this user, or the administrator, can have written them.
                let loaded = unsafe { engine.deserialize(&code, source, device.index() as usize, options) };
                loaded.map(Some).map_err(drop)
            }
        };
        if let Ok(Some(executable)) = found {
            counters.hits.fetch_add(1, Relaxed);
            return Ok(executable);
        }
        // Why a file was not taken may be the program's own mistake, such as a call of what is not registered. Then this is
        // the error, as without a store, and the file may be all right.
        let executable = compile()?;
        counters.misses.fetch_add(1, Relaxed);
        counters.refused.fetch_add(found.is_err().into(), Relaxed);
        if !self.0.read_only {
            self.write(&key, &*executable);
        }
        Ok(executable)
    }

    fn read(&self, key: &Key) -> Found {
        let (file, size) = match self.0.folder.read(&key.file_name()) {
            Ok(Some(file)) => file,
            Ok(None) => return Found::Nothing,
            // A file that is not to be trusted says nothing of the directory.
            Err(error) if is_of_file(&error) => return Found::Refused,
            Err(error) => {
                self.failed("read", &error);
                return Found::Nothing;
            }
        };
        let code = Reader::new(&file, KIND, 0, size).and_then(Reader::whole).and_then(|mut reader| {
            let is_same = reader.section(KEY)? == key.bytes();
            is_same.then(|| reader.section(CODE)).transpose()
        });
        match code {
            Ok(Some(code)) => {
                if !self.0.read_only {
                    self.0.folder.touch(&file);
                }
                Found::Code(code)
            }
            Ok(None) => Found::Refused,
            Err(Damage::Io(error)) => {
                self.failed("read", &error);
                Found::Nothing
            }
            Err(_) => Found::Refused,
        }
    }

    fn write(&self, key: &Key, executable: &dyn engine::Executable) {
        let code = match executable.serialize() {
            Ok(Some(code)) => code,
            Ok(None) => return,
            Err(error) => return self.failed("written", &error),
        };
        let sections: [(Name, &[u8]); 2] = [(*KEY, key.bytes()), (*CODE, &code)];
        let size = container::size(&sections);
        if size > self.0.max_bytes {
            return;
        }
        if let Err(error) = self.0.folder.write(&key.file_name(), KIND, &sections) {
            return self.failed("written", &error);
        }
        self.0.counters.writes.fetch_add(1, Relaxed);
        let written = self.0.written.fetch_add(size, Relaxed) + size;
        let likely = self.0.seen.load(Relaxed).saturating_add(written);
        if likely > self.0.max_bytes || written > self.0.max_bytes / 32 {
            if let Err(error) = self.trim() {
                self.failed("written", &error);
            }
        }
    }

    /// Looks at the whole directory, and removes what is too much.
    fn trim(&self) -> io::Result<()> {
        let (contents, removed) = self.0.folder.trim(self.0.max_bytes)?;
        self.0.counters.evicted.fetch_add(removed, Relaxed);
        self.0.written.store(0, Relaxed);
        self.0.seen.store(contents.bytes, Relaxed);
        Ok(())
    }

    #[cold]
    fn failed(&self, what: &str, error: &dyn fmt::Display) {
        self.0.counters.failed.fetch_add(1, Relaxed);
        if !self.0.warned.swap(true, Relaxed) {
            let path = self.path().display();
            warn(&format!(
                "the store of compiled programs in `{path}` cannot be {what} ({error}); programs are compiled as without it"
            ));
        }
    }
}

/// What was found for a key.
enum Found {
    Nothing,
    Refused,
    Code(Vec<u8>),
}

/// Whether an error is of one file, not of the directory.
fn is_of_file(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    // One without a code of the system is of `trust`.
    code.is_none() || (cfg!(unix) && code == Some(LINK))
}

/// What opening a link gives that is not to be followed.
#[cfg(unix)]
const LINK: i32 = rustix::io::Errno::LOOP.raw_os_error();
#[cfg(not(unix))]
const LINK: i32 = 0;

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({:?})", self.path())
    }
}

impl Client {
    /// Has the client keep what it compiles from now on in a store, and load what is there; none ends that. What is compiled
    /// already stays as it is.
    ///
    /// A client is the same everywhere in a process, and so is its store.
    pub fn set_store(self, store: Option<&Store>) {
        *self.store_slot().write().unwrap_or_else(|poisoned| poisoned.into_inner()) = store.cloned();
    }

    /// The store that the client uses.
    pub fn store(self) -> Option<Store> {
        self.store_slot().read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }
}
