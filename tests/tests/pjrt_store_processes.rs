//! One store and several processes: those after another, at once, killed, with other settings, and without room.
#![cfg(target_os = "linux")]

mod plugin;
mod store_dir;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use dispatch_runtime::engine::pjrt::ClientOptions;
use dispatch_runtime::graph::Graph;
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use dispatch_runtime::skeleton::SkeletonSlot;
use dispatch_runtime::store::Store;
use store_dir::Dir;

/// Programs that a process compiles.
const PROGRAMS: usize = 12;

#[dispatch_family]
fn polynomial(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64], shape = [n])] x: Value,
    #[dynamic(dtype = dtype(x), shape = [n], donate)] y: Value,
    #[static_arg] degree: usize,
) -> Result<Program> {
    let sum = (0..degree).fold(x.clone(), |sum, i| sum * &x + (i as f64 / 3.0).exp());
    cx.program(sum.tanh() + y)
}

/// A program of about 200 operations for each number.
fn chain(n: usize) -> Source {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [4]));
    let steps = (0..30).fold(x, |x, i| (x * (1.0 + (n * 100 + i) as f32 / 100.0)).tanh());
    graph.program::<Value>(steps).unwrap().source().clone()
}

/// Not a test: what the processes below do.
#[test]
#[ignore = "run by the other tests, as another process"]
fn child() {
    dispatch_runtime::set_warning_handler(|text| println!("warning: {text}"));
    let client = Client::cpu().unwrap();
    let dir = std::env::var("DISPATCH_TEST_STORE").unwrap();
    let store = Store::open(&dir).unwrap();
    client.set_store(Some(&store));
    let role = std::env::var("DISPATCH_TEST_ROLE").unwrap();
    let mut bits = Vec::new();
    let mut note = |array: &Array| match array.dtype() {
        DType::F32 => bits.extend(array.to_vec::<f32>().unwrap().iter().map(|x| u64::from(x.to_bits()))),
        _ => bits.extend(array.to_vec::<f64>().unwrap().iter().map(|x| x.to_bits())),
    };
    match &*role {
        // What the library has for programs: families, a skeleton, one without a cache.
        "everything" => {
            let family = Polynomial::new(&client);
            let (x, y) =
                (client.array(&[0.1f32, 0.2], [2]).unwrap(), client.array(&[1f32, 2.0], [2]).unwrap());
            note(&family.call(&x, &y, 5).unwrap());
            let (x, y) = (client.array(&[0.1, 0.2], [2]).unwrap(), client.array(&[1.0, 2.0], [2]).unwrap());
            note(&family.call(&x, &y, 7).unwrap());
            let slot = SkeletonSlot::new(DType::F64, [2]).named("x");
            let skeleton = (slot.exp() + 0.5).into_skeleton(&client, &[&slot]).unwrap();
            note(&skeleton.run(&[&x]).unwrap());
            println!("family {} of {}", family.stats().loads, family.stats().compiles);
        }
        "chains" => (0..PROGRAMS).for_each(|n| {
            let x = client.array(&[0.1f32, 0.2, 0.3, 0.4], [4]).unwrap();
            note(&client.compile(chain(n)).unwrap().execute(&[&x]).unwrap()[0]);
            println!("done {n}");
        }),
        "set flags" => {
            // SAFETY: no other thread of this process reads the environment at this moment.
            unsafe { std::env::set_var("XLA_FLAGS", "--xla_cpu_enable_fast_math=true") };
            client.compile(chain(0)).unwrap();
        }
        "replaced plugin" => {
            let plugin = std::env::var("PJRT_PLUGIN_PATH_CPU").unwrap();
            fs::rename(format!("{plugin}.new"), &plugin).unwrap();
            client.compile(chain(0)).unwrap();
        }
        "no room" => {
            // A file may have so many bytes; the signal that would end the process is ignored, as on a full disk.
            let limit = libc::rlimit { rlim_cur: 3000, rlim_max: 3000 };
            // SAFETY: plain calls with valid arguments.
            unsafe {
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
            }
            (0..3).for_each(|n| drop(client.compile(chain(n)).unwrap()));
        }
        "directory gone" => {
            fs::remove_dir_all(&dir).unwrap();
            client.compile(chain(0)).unwrap();
            assert_eq!(store.stats().writes, 1);
            fs::remove_dir_all(&dir).unwrap();
            fs::write(&dir, "not a directory").unwrap();
            (1..4).for_each(|n| drop(client.compile(chain(n)).unwrap()));
        }
        _ => panic!("{role}"),
    }
    let stats = store.stats();
    println!("bits {bits:x?}");
    println!("stats {} {} {} {} {}", stats.hits, stats.misses, stats.writes, stats.refused, stats.failed);
}

fn command(dir: &Dir, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
        .env("DISPATCH_TEST_STORE", dir.path())
        .env("DISPATCH_TEST_ROLE", role)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What a process has said.
struct Said(String);

impl Said {
    fn of(child: Child) -> Said {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        Said(said)
    }

    fn line(&self, begin: &str) -> &str {
        let mut lines = self.0.lines().filter_map(|line| line.split_once(begin));
        lines.next().unwrap_or_else(|| panic!("{begin} in\n{}", self.0)).1.trim()
    }

    /// Hits, misses, writes, refused, failed.
    fn stats(&self) -> [u64; 5] {
        let numbers: Vec<u64> = self.line("stats ").split(' ').map(|n| n.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    }

    fn warnings(&self) -> usize {
        self.0.matches("warning: ").count()
    }
}

fn run(dir: &Dir, role: &str) -> Said {
    Said::of(command(dir, role).spawn().unwrap())
}

#[test]
fn a_second_process_compiles_nothing_and_gives_the_same_bits() {
    let dir = Dir::new();
    let (cold, warm) = (run(&dir, "everything"), run(&dir, "everything"));
    assert_eq!(cold.stats(), [0, 3, 3, 0, 0]);
    assert_eq!(warm.stats(), [3, 0, 0, 0, 0]);
    assert_eq!((cold.line("family "), warm.line("family ")), ("0 of 2", "2 of 2"));
    assert_eq!(cold.line("bits "), warm.line("bits "));
    assert_eq!(cold.warnings() + warm.warnings(), 0);
    // For the user alone.
    assert_eq!(dir.path().metadata().unwrap().mode() & 0o777, 0o700);
    assert!(dir.entries().iter().all(|entry| entry.metadata().unwrap().mode() & 0o777 == 0o600));
}

#[test]
fn four_processes_write_at_once_and_one_is_killed() {
    let alone = Dir::new();
    let expected = run(&alone, "chains");
    let dir = Dir::new();
    let mut children: Vec<Child> = (0..4).map(|_| command(&dir, "chains").spawn().unwrap()).collect();
    // In the middle: something is there, and much is to come.
    while dir.entries().is_empty() {
        assert!(children[3].try_wait().unwrap().is_none(), "over before anything was written");
        std::thread::sleep(Duration::from_millis(1));
    }
    children[3].kill().unwrap();
    let mut killed = children.pop().unwrap();
    killed.wait().unwrap();
    for child in children {
        let said = Said::of(child);
        assert_eq!(said.line("bits "), expected.line("bits "));
        let [hits, misses, writes, refused, failed] = said.stats();
        assert_eq!((hits + misses, writes, refused, failed), (PROGRAMS as u64, misses, 0, 0));
    }
    // Whatever the killed one has left is gone, and all of the rest is whole.
    let healed = run(&dir, "chains");
    assert_eq!(healed.stats(), [PROGRAMS as u64, 0, 0, 0, 0]);
    assert_eq!(healed.line("bits "), expected.line("bits "));
    assert!(dir.files(".part").is_empty());
    assert_eq!(dir.entries().len(), PROGRAMS);
}

#[test]
fn what_a_killed_writer_has_left_is_swept_and_a_living_ones_file_is_not() {
    let dir = Dir::new();
    run(&dir, "everything");
    let (dead, alive) = (dir.path().join(".x.1.0.1.part"), dir.path().join(".x.1.0.2.part"));
    fs::write(&dead, "half of a fi").unwrap();
    let file = fs::File::create(&alive).unwrap();
    for path in [&dead, &alive] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    // SAFETY: a plain call on a file that is open.
    assert_eq!(unsafe { libc::flock(std::os::fd::AsRawFd::as_raw_fd(&file), libc::LOCK_EX) }, 0);
    Store::open(dir.path()).unwrap();
    assert!(!dead.exists() && alive.exists());
    drop(file);
    Store::open(dir.path()).unwrap();
    assert!(!alive.exists());
    assert_eq!(dir.entries().len(), 3);
}

#[test]
fn what_xla_reads_from_the_environment_is_part_of_the_key() {
    let dir = Dir::new();
    let with = |role: &str, name: &str, value: &str| {
        Said::of(command(&dir, role).env(name, value).spawn().unwrap()).stats()
    };
    assert_eq!(run(&dir, "everything").stats(), [0, 3, 3, 0, 0]);
    let fast = "--xla_cpu_enable_fast_math=true";
    assert_eq!(with("everything", "XLA_FLAGS", fast), [0, 3, 3, 0, 0]);
    assert_eq!(with("everything", "XLA_FLAGS", fast), [3, 0, 0, 0, 0]);
    assert_eq!(with("everything", "TF_CPP_MIN_LOG_LEVEL", "3"), [3, 0, 0, 0, 0]);
    assert_eq!(with("everything", "NPROC", "1"), [0, 3, 3, 0, 0]);
    // What is not known: flags in a file, flags that ask for dumps, flags that were set when XLA may have read them.
    let flags = dir.path().join("flags");
    fs::write(&flags, fast).unwrap();
    assert_eq!(with("everything", "XLA_FLAGS", flags.to_str().unwrap()), [0; 5]);
    let dumps = format!("--xla_dump_to={}", dir.path().join("dumps").display());
    assert_eq!(with("everything", "XLA_FLAGS", &dumps), [0; 5]);
    assert_eq!(run(&dir, "set flags").stats(), [0; 5]);
    assert_eq!(run(&dir, "everything").stats(), [3, 0, 0, 0, 0]);
}

#[test]
fn another_build_of_the_plugin_under_the_same_path_finds_nothing() {
    let dir = Dir::new();
    fs::create_dir_all(dir.path()).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let original = plugin::engine(plugin::client()).plugin_path().canonicalize().unwrap();
    let copy = dir.path().join("plugin.so");
    let renewed = dir.path().join("plugin.so.new");
    fs::copy(&original, &copy).unwrap();
    let with = |role: &str| {
        Said::of(command(&dir, role).env("PJRT_PLUGIN_PATH_CPU", &copy).spawn().unwrap()).stats()
    };
    assert_eq!(with("everything"), [0, 3, 3, 0, 0]);
    assert_eq!(with("everything"), [3, 0, 0, 0, 0]);

    // Replaced while it runs: what comes of a compile is of a build that is there no more.
    fs::copy(&original, &renewed).unwrap();
    assert_eq!(with("replaced plugin"), [0; 5]);
    assert_eq!(with("everything"), [0, 3, 3, 0, 0]);

    // Written anew in place, with all times as they were that can be set.
    let times = copy.metadata().unwrap().modified().unwrap();
    let bytes = fs::read(&copy).unwrap();
    fs::write(&copy, bytes).unwrap();
    fs::File::options().write(true).open(&copy).unwrap().set_modified(times).unwrap();
    assert_eq!(with("everything"), [0, 3, 3, 0, 0]);
}

#[test]
fn a_store_that_cannot_be_written_costs_no_call_and_one_warning() {
    let dir = Dir::new();
    let full = run(&dir, "no room");
    assert_eq!((full.stats(), full.warnings()), ([0, 3, 0, 0, 3], 1), "{}", full.0);
    assert!(full.0.contains("programs are compiled as without it"), "{}", full.0);
    assert!(dir.files(".part").is_empty() && dir.entries().is_empty());

    let gone = run(&dir, "directory gone");
    let [hits, misses, writes, _, failed] = gone.stats();
    assert_eq!((hits, misses, writes, gone.warnings()), (0, 4, 1, 1), "{}", gone.0);
    assert!(failed >= 3, "{}", gone.0);
}

/// A file or directory with these permissions.
fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn machine_code_that_others_can_have_written_is_not_run() {
    let dir = Dir::new();
    let client = Client::for_platform("cpu", &ClientOptions::new()).unwrap();
    let store = Store::open(dir.path()).unwrap();
    client.set_store(Some(&store));
    let loaded = || client.compile(chain(0)).unwrap().compiled().is_loaded();
    assert!(!loaded() && loaded());
    let entry = dir.entries().pop().unwrap();
    let mut refused = 0;
    let mut refuse = |what: &str| {
        assert!(!loaded(), "{what}");
        refused += 1;
        assert_eq!(store.stats().refused, refused, "{what}");
        // It was written anew.
        assert!(loaded(), "{what}");
    };
    chmod(&entry, 0o666);
    refuse("a file that everybody can write");
    chmod(&entry, 0o620);
    refuse("a file that a group can write");
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(&entry, &elsewhere).unwrap();
    symlink(&elsewhere, &entry).unwrap();
    refuse("a link");
    // SAFETY: plain calls.
    let is_root = unsafe { libc::geteuid() } == 0;
    if is_root {
        std::os::unix::fs::chown(&entry, Some(12345), None).unwrap();
        refuse("a file of another user");
    }
    fs::remove_file(&entry).unwrap();
    let pipe = std::ffi::CString::new(entry.to_str().unwrap()).unwrap();
    // SAFETY: the path ends with NUL.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    refuse("a pipe");

    for mode in [0o777, 0o770, 0o702] {
        chmod(dir.path(), mode);
        let error = Store::open(dir.path()).unwrap_err();
        assert_eq!(error.code(), "file");
        assert!(error.to_string().contains(&format!("others can write to it (mode {mode:o})")), "{error}");
    }
    chmod(dir.path(), 0o755);
    Store::open(dir.path()).unwrap();
    // Who can rename the directory can put another one in its place.
    let inner = dir.path().join("open").join("store");
    Store::open(&inner).unwrap();
    chmod(inner.parent().unwrap(), 0o777);
    assert!(Store::open(&inner).unwrap_err().to_string().contains("everybody can write to"));
    chmod(inner.parent().unwrap(), 0o1777);
    Store::open(&inner).unwrap();
    if is_root {
        std::os::unix::fs::chown(&inner, Some(12345), None).unwrap();
        assert!(Store::open(&inner).unwrap_err().to_string().contains("it belongs to the user 12345"));
    }
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(Store::open(&file).unwrap_err().code(), "file");
}

#[test]
fn an_entry_in_use_is_younger_than_one_that_is_not() {
    let dir = Dir::new();
    run(&dir, "everything");
    let old = SystemTime::now() - Duration::from_secs(1000);
    for entry in dir.entries() {
        fs::File::options().write(true).open(entry).unwrap().set_modified(old).unwrap();
    }
    run(&dir, "everything");
    let young = |entry: &std::path::PathBuf| {
        entry.metadata().unwrap().modified().unwrap() > old + Duration::from_secs(500)
    };
    assert_eq!(dir.entries().iter().filter(|entry| young(entry)).count(), 3);
}
