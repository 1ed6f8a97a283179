//! Skeletons in files.
//!
//! A file is two containers: the program with all that belongs to it, which every machine can compile, and behind it the
//! executable with the fingerprint of its compiler. So whatever happens to the second, the first is whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use prost::Message;

use super::bake::{self, Baked, Captured, Origin};
use super::{Results, Skeleton, SkeletonSlot};
use crate::compiled::{Compiler, by_engine};
use crate::program::Source;
use crate::store::container::{self, Damage, Name, Reader};
use crate::store::folder::{trust, unique_part};
use crate::{Aval, Client, DType, Device, Error, HostArray, Program, Result, engine};

const PROGRAM_KIND: &Name = b"\x89DISPSK\n";
const ABOUT: &Name = b"about   ";
const PROGRAM: &Name = b"program ";
const ARRAYS: &Name = b"arrays  ";

const EXECUTABLE_KIND: &Name = b"\x89DISPEX\n";
const FINGERPRINT: &Name = b"compiler";
const CODE: &Name = b"code    ";

/// What a file says of its program.
#[derive(Clone, PartialEq, Message)]
struct About {
    /// The form of the program: StableHLO as text, as bytecode, or HLO.
    #[prost(uint32, tag = "1")]
    form: u32,
    #[prost(message, repeated, tag = "2")]
    slots: Vec<Layout>,
    /// The arrays in the section behind, one after the other.
    #[prost(message, repeated, tag = "3")]
    captured: Vec<Layout>,
}

#[derive(Clone, PartialEq, Message)]
struct Layout {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, tag = "2")]
    dtype: String,
    #[prost(int64, repeated, tag = "3")]
    shape: Vec<i64>,
    /// Of an input that is not dense.
    #[prost(int64, repeated, tag = "4")]
    strides: Vec<i64>,
    #[prost(uint64, optional, tag = "5")]
    offset: Option<u64>,
    /// Whether a run consumes it.
    #[prost(bool, tag = "6")]
    donated: bool,
}

impl Layout {
    fn of(name: Option<&str>, aval: &Aval) -> Layout {
        Layout {
            name: name.map(str::to_owned),
            dtype: aval.dtype().name().to_owned(),
            shape: aval.shape().to_vec(),
            strides: aval.strides().unwrap_or_default().to_vec(),
            offset: (!aval.is_dense()).then_some(aval.offset() as u64),
            donated: false,
        }
    }

    fn aval(&self) -> Option<Aval> {
        let dtype = self.dtype.parse::<DType>().ok()?;
        match self.offset {
            None => Aval::try_new(dtype, &self.shape),
            Some(offset) => {
                Aval::strided(dtype, &self.shape, &self.strides, usize::try_from(offset).ok()?).ok()
            }
        }
    }
}

impl<O: Results> Skeleton<O> {
    /// Loads a skeleton that was [saved](Skeleton::save), for the client's default device.
    ///
    /// The compiled program in the file is used if it was compiled by the same build of the plugin, on a processor with the
    /// same features, with the same settings, as [`store`](crate::store) says, if the file is the user's own, and if it was
    /// not damaged. Else the program in the file is compiled; [`origin`](Skeleton::origin) says why.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if the file cannot be read, is of another kind, or its program was damaged; [`Error::Program`] if the
    /// skeleton has another number of results than `O`; what the compiler says, if it is asked.
    pub fn load(client: &Client, path: impl AsRef<Path>) -> Result<Skeleton<O>> {
        load(client.default_device(), path.as_ref(), O::COUNT, by_engine).map(Skeleton::of)
    }

    /// [`Skeleton::load`] for any device, whose program another compiler may compile if that has to be.
    ///
    /// # Safety
    ///
    /// The compiler lets the device's engine compile the program that it is asked for.
    #[doc(hidden)]
    pub unsafe fn load_by(device: Device, path: impl AsRef<Path>, compiler: Compiler) -> Result<Skeleton<O>> {
        load(device, path.as_ref(), O::COUNT, compiler).map(Skeleton::of)
    }
}

impl<O> Skeleton<O> {
    /// Saves the skeleton to a file, in place of one that is there: its program, the names and layouts of its slots, the
    /// arrays that it captured, and the compiled program where the plugin can give it away.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::{Origin, Skeleton, SkeletonSlot}};
    ///
    /// let client = Client::cpu()?;
    /// let x = SkeletonSlot::new(DType::F32, [4]).named("x");
    /// let skeleton = (&x * 2.0 + 1.0).into_skeleton(&client, &[&x])?;
    /// # let path = std::env::temp_dir().join(format!("dispatch-skeleton-{}", std::process::id()));
    /// skeleton.save(&path)?;
    ///
    /// let loaded = Skeleton::<Array>::load(&client, &path)?; // in this process or another one
    /// # std::fs::remove_file(&path).unwrap();
    /// assert_eq!(loaded.origin(), &Origin::Loaded);
    /// let y = loaded.run(&[&client.array(&[0f32, 1.0, 2.0, 3.0], [4])?])?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 3.0, 5.0, 7.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// The file appears whole or not at all. Who can write to it decides what runs where it is loaded: it is machine code.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if it cannot be written, or the program is a function on the host; [`Error::Donated`] if a captured
    /// array is gone.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        save(&self.baked, path.as_ref())
    }
}

fn save(baked: &Baked, path: &Path) -> Result<()> {
    let wrong = |reason: String| Error::File { path: path.display().to_string(), reason };
    let (form, program): (u32, &[u8]) = match &baked.source {
        Source::StableHlo(text) => (0, text.as_bytes()),
        Source::Bytecode(bytes) => (1, bytes),
        Source::Hlo(bytes) => (2, bytes),
        Source::Host { .. } => return Err(wrong("a function on the host cannot be saved".into())),
    };
    let mut arrays = Vec::new();
    for (i, captured) in baked.captured.iter().enumerate() {
        let read = captured.array.with_bytes(|bytes| arrays.extend_from_slice(bytes));
        read.map_err(|error| error.with_argument(captured.path(i)))?;
    }
    let slots = baked.inputs().iter().zip(&baked.names).enumerate().map(|(i, (aval, name))| Layout {
        donated: baked.donated.contains(&i),
        ..Layout::of(name.as_deref(), aval)
    });
    let about = About {
        form,
        slots: slots.collect(),
        captured: baked.captured.iter().map(|c| Layout::of(c.name.as_deref(), &c.array.aval())).collect(),
    };

    let device = baked.device();
    let fingerprint = device.client().engine().fingerprint(device.index() as usize);
    let code = match fingerprint {
        Some(_) => baked.compiled.executable().serialize()?,
        None => None,
    };
    write(path, |to| {
        let about = about.encode_to_vec();
        container::write(PROGRAM_KIND, &[(*ABOUT, &about), (*PROGRAM, program), (*ARRAYS, &arrays)], to)?;
        match (&fingerprint, &code) {
            (Some(print), Some(code)) => {
                container::write(EXECUTABLE_KIND, &[(*FINGERPRINT, print.as_bytes()), (*CODE, code)], to)
            }
            _ => Ok(()),
        }
    })
    .map_err(|error| wrong(format!("cannot be written: {error}")))
}

/// Writes a file under another name, and gives it its own when it is whole and on the disk.
fn write(path: &Path, content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
    // Through a link, as other programs write.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has no name"));
    }
    // Without the name, which may be as long as names can be.
    let part = Part(path.with_file_name(format!(".skeleton.{}", unique_part())));
    let file = trust::create_readable(&part.0)?;
    keep_private(&path, &file)?;
    let mut writer = BufWriter::new(&file);
    content(&mut writer)?;
    writer.flush()?;
    file.sync_all()?;
    fs::rename(&part.0, &path)
}

/// Who could not read the file that is there cannot read what takes its place.
fn keep_private(path: &Path, file: &File) -> io::Result<()> {
    #[cfg(unix)]
    if let Ok(about) = fs::metadata(path) {
        use std::os::unix::fs::PermissionsExt;
        let both = about.permissions().mode() & file.metadata()?.permissions().mode();
        file.set_permissions(fs::Permissions::from_mode(both | 0o600))?;
    }
    #[cfg(not(unix))]
    let _ = (path, file);
    Ok(())
}

/// Removed when it was not renamed.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn load(device: Device, path: &Path, results: Option<usize>, compiler: Compiler) -> Result<Baked> {
    let wrong = |reason: String| Error::File { path: path.display().to_string(), reason };
    let damaged = |damage: Damage| wrong(damage.to_string());
    let file = File::open(path).map_err(|error| damaged(error.into()))?;
    let about = file.metadata().map_err(|error| damaged(error.into()))?;
    if !about.is_file() {
        return Err(wrong("it is no file".into()));
    }
    let size = about.len();
    let mut reader = Reader::new(&file, PROGRAM_KIND, 0, size).map_err(damaged)?;
    let about = reader.section(ABOUT).map_err(damaged)?;
    let program = reader.section(PROGRAM).map_err(damaged)?;
    let arrays = reader.section(ARRAYS).map_err(damaged)?;

    let saved = Saved::read(&about, program, &arrays).ok_or_else(|| {
        wrong("what it says of its program was written by another version of this library".into())
    })?;
    let slots: Vec<&SkeletonSlot> = saved.slots.iter().collect();
    let captured = saved.upload(device)?;

    let mut origin = Origin::Loaded;
    let compile = |device: Device, source: &Source| {
        let loaded = executable(&file, reader.end(), size, device, source);
        loaded.or_else(|reason| {
            let executable = compiler(device, source)?;
            origin = Origin::Recompiled { reason };
            Ok(executable)
        })
    };
    let program = Program::<()>::new(saved.source);
    let mut baked = bake::compile(&slots, captured, program, results, device, compile)?;
    baked.origin = origin;
    Ok(baked)
}

/// The compiled program in a file, if it may be used here; else the reason.
fn executable(
    file: &File,
    begin: u64,
    size: u64,
    device: Device,
    source: &Source,
) -> Result<Box<dyn engine::Executable>, String> {
    if begin == size {
        return Err("the file has no compiled program".into());
    }
    trust::check(file)
        .map_err(|error| format!("the file is not to be trusted with machine code: {error}"))?;
    let damaged = |damage: Damage| format!("the compiled program in the file cannot be used: {damage}");
    let mut reader =
        Reader::new(file, EXECUTABLE_KIND, begin, size).and_then(Reader::whole).map_err(damaged)?;
    let was = reader.section(FINGERPRINT).map_err(damaged)?;
    let (engine, index) = (device.client().engine(), device.index() as usize);
    let is = engine.fingerprint(index).ok_or("it is not known what this client compiles with")?;
    if was != is.as_bytes() {
        return Err(format!(
            "it was compiled with another {}",
            differences(&String::from_utf8_lossy(&was), &is)
        ));
    }
    let code = reader.section(CODE).map_err(damaged)?;
    // SAFETY: the bytes are unchanged, by their checksum, and were written with this fingerprint and this program, which came
    // from the same file. Only this user, or the administrator, can have written it.
    let loaded = unsafe { engine.deserialize(&code, source, index, None) };
    loaded.map_err(|error| format!("the plugin does not take it: {error}"))
}

/// The names of the lines that differ: `machine and library`.
fn differences(was: &str, is: &str) -> String {
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let lines = was.lines().zip(is.lines());
    let names: Vec<String> = lines.filter(|(was, is)| was != is).map(|(_, is)| name(is)).collect();
    if names.is_empty() { "compiler".into() } else { names.join(" and ") }
}

/// The program of a file, with what belongs to it.
struct Saved {
    source: Source,
    slots: Vec<SkeletonSlot>,
    captured: Vec<(Option<String>, HostArray)>,
}

impl Saved {
    fn read(about: &[u8], program: Vec<u8>, mut arrays: &[u8]) -> Option<Saved> {
        let about = About::decode(about).ok()?;
        let source = match about.form {
            0 => Source::StableHlo(String::from_utf8(program).ok()?),
            1 => Source::Bytecode(program),
            2 => Source::Hlo(program),
            _ => return None,
        };
        let slot = |layout: &Layout| {
            let slot = SkeletonSlot::of(&layout.aval()?);
            let slot = if layout.donated { slot.donated() } else { slot };
            Some(match &layout.name {
                Some(name) => slot.named(name),
                None => slot,
            })
        };
        let mut captured = Vec::with_capacity(about.captured.len());
        for layout in &about.captured {
            let aval = layout.aval().filter(Aval::is_dense)?;
            let (bytes, rest) = arrays.split_at_checked(aval.size_bytes())?;
            captured
                .push((layout.name.clone(), HostArray::from_bytes(aval.dtype(), aval.shape(), bytes).ok()?));
            arrays = rest;
        }
        let slots = about.slots.iter().map(slot).collect::<Option<_>>()?;
        arrays.is_empty().then_some(Saved { source, slots, captured })
    }

    fn upload(&self, device: Device) -> Result<Box<[Captured]>> {
        let upload = |(name, array): &(Option<String>, HostArray)| {
            let array = device.client().upload(array.view(), device)?;
            Ok(Captured { array, name: name.clone() })
        };
        self.captured.iter().map(upload).collect()
    }
}
