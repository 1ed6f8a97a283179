//! Skeletons that are saved and loaded, on a real plugin.

mod plugin;
mod store_dir;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{Origin, Skeleton, SkeletonSlot, capture};
use plugin::{client, values};
use store_dir::Dir;

#[derive(OutputTree)]
struct Both<T> {
    scaled: T,
    total: T,
}

/// `x * w + s` and its sum, with `w` captured and a slot without a name.
fn both() -> Skeleton<Both<Array>> {
    let client = client();
    let x = SkeletonSlot::new(DType::F32, [2, 2]).named("x \"quoted\"\n");
    let s = SkeletonSlot::new(DType::F32, []);
    let w = capture(&client.array(&[1f32, 2.0, 3.0, 4.0], [2, 2]).unwrap()).named("w");
    let mask = capture(&client.array(&[true, false], [2]).unwrap());
    let scaled = mask.reshape([1, 2]).broadcast_to([2, 2]).select(&x * w + &s, 0.0);
    let total = scaled.sum(..);
    Both { scaled, total }.into_skeleton(&client, &[&x, &s]).unwrap()
}

fn check(skeleton: &Skeleton<Both<Array>>) {
    let client = client();
    let x = client.array(&[1f32, 1.0, 2.0, 2.0], [2, 2]).unwrap();
    let got = skeleton.run(&[&x, &client.array(&[0.5f32], []).unwrap()]).unwrap();
    assert_eq!(
        (values::<f32>(&got.scaled), values::<f32>(&got.total)),
        (vec![1.5, 0.0, 6.5, 0.0], vec![8.0])
    );
}

/// A folder with a saved skeleton.
fn saved() -> (Dir, PathBuf) {
    let dir = Dir::new();
    fs::create_dir(dir.path()).unwrap();
    let path = dir.path().join("both.skeleton");
    both().save(&path).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    (dir, path)
}

fn load(path: &Path) -> Result<Skeleton<Both<Array>>> {
    Skeleton::load(&client(), path)
}

#[test]
fn what_is_loaded_is_what_was_saved() {
    let (_dir, path) = saved();
    let (was, is) = (both(), load(&path).unwrap());
    assert_eq!((was.origin(), is.origin()), (&Origin::Baked, &Origin::Loaded));
    check(&is);
    assert_eq!((was.inputs(), was.outputs()), (is.inputs(), is.outputs()));
    assert_eq!(was.names().collect::<Vec<_>>(), is.names().collect::<Vec<_>>());
    assert_eq!(was.memory_report(), is.memory_report());
    assert_eq!(was.program().to_string(), is.program().to_string());
    assert_eq!(was.captured().len(), is.captured().len());

    let client = client();
    let (x, s) = (client.array(&[1f32; 3], [3]).unwrap(), client.array(&[0.5f32], []).unwrap());
    for arrays in [&[&x, &s][..], &[&s], &[&s, &s]] {
        let errors = [&was, &is].map(|skeleton| skeleton.run(arrays).err().unwrap().to_string());
        assert_eq!(errors[0], errors[1]);
    }

    // It can be saved itself, and composed.
    let again = path.with_extension("again");
    is.save(&again).unwrap();
    assert!(fs::read(&again).unwrap() == fs::read(&path).unwrap());
    assert_eq!(load(&again).unwrap().origin(), &Origin::Loaded);
    check(&load(&again).unwrap());
    let y = SkeletonSlot::new(DType::F32, [2, 2]);
    let composed = is.compose(&[&y, &s]).unwrap();
    let larger = (composed.scaled * 2.0).into_skeleton(&client, &[&y]).unwrap();
    assert_eq!(
        values::<f32>(&larger.run(&[&client.array(&[1f32; 4], [2, 2]).unwrap()]).unwrap()),
        [3.0, 0.0, 7.0, 0.0]
    );
}

#[test]
fn another_number_of_results_is_an_error() {
    let (_dir, path) = saved();
    let error = Skeleton::<Array>::load(&client(), &path).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the program of the skeleton must give 1 result, as its type says, it gives 2"
    );
    assert_eq!(Skeleton::<Vec<Array>>::load(&client(), &path).unwrap().outputs().len(), 2);
}

/// Where the compiled program begins in a file.
fn seam(file: &[u8]) -> usize {
    file.windows(8).position(|bytes| bytes == b"\x89DISPEX\n").unwrap()
}

#[test]
fn a_changed_file_is_an_error_or_compiled_anew() {
    let (_dir, path) = saved();
    let good = fs::read(&path).unwrap();
    let seam = seam(&good);
    let step = if dispatch_tests::short() { 211 } else { 29 };
    for byte in (0..seam)
        .step_by(7)
        .chain((seam..seam + 100).step_by(3))
        .chain((seam + 100..good.len()).step_by(step))
    {
        let mut changed = good.clone();
        changed[byte] ^= 0x04;
        fs::write(&path, &changed).unwrap();
        match load(&path) {
            Err(error) => assert!(byte < seam && error.code() == "file", "byte {byte} of {seam}: {error}"),
            Ok(skeleton) => {
                let Origin::Recompiled { reason } = skeleton.origin() else {
                    panic!("byte {byte} was not seen")
                };
                assert!(
                    byte >= seam && reason.starts_with("the compiled program in the file cannot be used"),
                    "{reason}"
                );
                check(&skeleton);
            }
        }
    }
    for len in (0..seam).step_by(37).chain([seam - 1]) {
        fs::write(&path, &good[..len]).unwrap();
        assert_eq!(load(&path).unwrap_err().code(), "file", "{len}");
    }
    for len in [seam, seam + 1, seam + 30, seam + 100, good.len() - 1] {
        fs::write(&path, &good[..len]).unwrap();
        let skeleton = load(&path).unwrap();
        assert!(matches!(skeleton.origin(), Origin::Recompiled { .. }), "{len}");
        check(&skeleton);
    }
    fs::write(&path, &good[..seam]).unwrap();
    let reason = "the file has no compiled program".to_owned();
    assert_eq!(load(&path).unwrap().origin(), &Origin::Recompiled { reason });
}

#[test]
fn errors_say_what_is_wrong_with_a_file() {
    let (dir, path) = saved();
    let message = |path: &Path| {
        let text = load(path).unwrap_err().to_string();
        text.strip_prefix(&format!("`{}`: ", path.display())).unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    assert!(message(&dir.path().join("nothing")).starts_with("it cannot be read: No such file"));
    assert_eq!(message(dir.path()), "it is no file");
    let other = dir.path().join("other");
    fs::write(&other, "A text, which is no skeleton.").unwrap();
    assert_eq!(message(&other), "it is a file of another kind");
    let good = fs::read(&path).unwrap();
    let mut changed = good.clone();
    let at = good.windows(9).position(|bytes| bytes == b"func.func").unwrap();
    changed[at] = b'F';
    fs::write(&path, &changed).unwrap();
    assert_eq!(message(&path), "its section `program` has changed since it was written");

    let error = both().save(dir.path().join("no").join("folder")).unwrap_err();
    assert_eq!(error.code(), "file");
    assert!(error.to_string().contains("cannot be written: No such file"), "{error}");

    let aval = Aval::new(DType::F32, [2]);
    let program =
        Program::<Array>::host([aval.clone()], [aval], |args| Ok(vec![HostArray::from_view(args[0])]));
    let slot = SkeletonSlot::new(DType::F32, [2]);
    let host = Skeleton::from_program(&Client::host(), program.unwrap(), &[&slot]).unwrap();
    assert!(host.save(&path).unwrap_err().to_string().ends_with("a function on the host cannot be saved"));
    // What was there is there.
    assert_eq!(fs::read(&path).unwrap(), changed);
}

#[test]
fn neither_a_long_name_nor_what_a_killed_process_of_the_same_number_has_left_hinders_a_save() {
    let (dir, path) = saved();
    // In a container each process may have the same number.
    for n in 0..100 {
        let left = format!(".both.skeleton.{}.{n}.part", std::process::id());
        fs::write(dir.path().join(left), "half of a fi").unwrap();
    }
    both().save(&path).unwrap();
    check(&load(&path).unwrap());
    let long = dir.path().join("x".repeat(255));
    both().save(&long).unwrap();
    check(&load(&long).unwrap());
}

#[test]
fn a_captured_array_that_is_gone_cannot_be_saved() {
    let client = client();
    let w = client.array(&[1f32, 2.0], [2]).unwrap();
    let x = SkeletonSlot::new(DType::F32, [2]);
    let skeleton = (&x + capture(&w).named("weights")).into_skeleton(&client, &[&x]).unwrap();
    assert!(w.donate());
    let dir = Dir::new();
    let error = skeleton.save(dir.path()).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("donated", Some("weights")));
    assert!(!dir.path().exists());
}

#[test]
#[cfg(unix)]
fn machine_code_that_others_can_have_written_is_not_run() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, path) = saved();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let skeleton = load(&path).unwrap();
    let Origin::Recompiled { reason } = skeleton.origin() else { panic!() };
    assert!(reason.contains("others can write to it (mode 666)"), "{reason}");
    check(&skeleton);
    // A link is followed: who names a file may name one.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let link = path.with_extension("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(load(&link).unwrap().origin(), &Origin::Loaded);
    both().save(&link).unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    check(&load(&path).unwrap());
    // What is put in its place is for no more people than it was.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    both().save(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_program_whose_function_nobody_has_registered_fails_as_in_a_compile() {
    let client = client();
    let text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = \"stablehlo.custom_call\"(%x) {call_target_name = \"file.filled\", api_version = 4 : i32}
          : (tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>
      }";
    let register = |value: f32| {
        let fill = move |_: dispatch_runtime::ffi::RemainingArgs<'_>,
                         mut rets: dispatch_runtime::ffi::RemainingRets<'_>,
                         _: dispatch_runtime::ffi::Dictionary<'_>| {
            rets.get::<f32>(0)?.fill(value);
            Ok(())
        };
        client.register_ffi_closure("file.filled", fill).unwrap();
    };
    register(1.0);
    let x = client.array(&[0f32; 2], [2]).unwrap();
    let slot = SkeletonSlot::new(DType::F32, [2]);
    let make = || Skeleton::from_program(&client, Program::<Array>::stablehlo(text)?, &[&slot]);
    let dir = Dir::new();
    fs::create_dir(dir.path()).unwrap();
    let path = dir.path().join("filled");
    make().unwrap().save(&path).unwrap();

    client.remove_ffi_handler("file.filled");
    register(2.0);
    let loaded = Skeleton::<Array>::load(&client, &path).unwrap();
    assert_eq!(values::<f32>(&loaded.run(&[&x]).unwrap()), [2.0; 2]);
    drop(loaded);

    client.remove_ffi_handler("file.filled");
    let outcome =
        |skeleton: Result<Skeleton>| skeleton.and_then(|s| s.run(&[&x])).and_then(|y| y.to_vec::<f32>());
    let (with, without) = (outcome(Skeleton::load(&client, &path)), outcome(make()));
    assert_eq!(with.unwrap_err().to_string(), without.unwrap_err().to_string());
}

/// Not a test: what the processes below do.
#[test]
#[ignore = "run by the other tests, as another process"]
fn child() {
    let skeleton = load(Path::new(&std::env::var("DISPATCH_TEST_FILE").unwrap())).unwrap();
    check(&skeleton);
    println!("origin {:?}", skeleton.origin());
}

#[test]
#[cfg(target_os = "linux")]
fn another_process_loads_it_and_one_with_other_settings_compiles() {
    let (_dir, path) = saved();
    let origin = |flags: Option<&str>| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--ignored", "--nocapture"]).env("DISPATCH_TEST_FILE", &path);
        flags.map(|flags| command.env("XLA_FLAGS", flags));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}");
        said.lines().find_map(|line| Some(line.split_once("origin ")?.1.to_owned())).unwrap()
    };
    assert_eq!(origin(None), "Loaded");
    let other = "Recompiled { reason: \"it was compiled with another environment\" }";
    assert_eq!(origin(Some("--xla_cpu_enable_fast_math=true")), other);
}

#[test]
fn strides_and_an_offset_are_saved() {
    let client = client();
    let columns = SkeletonSlot::new(DType::F32, [2, 2]).strided([1, 2], 1).named("columns");
    let y = SkeletonSlot::new(DType::F32, [2, 2]);
    let skeleton = (&columns - &y).into_skeleton(&client, &[&columns, &y]).unwrap();
    let dir = Dir::new();
    fs::create_dir(dir.path()).unwrap();
    let path = dir.path().join("strided");
    skeleton.save(&path).unwrap();
    let loaded = Skeleton::<Array>::load(&client, &path).unwrap();
    assert_eq!((loaded.origin(), loaded.inputs()), (&Origin::Loaded, skeleton.inputs()));
    let data = [9f32, 1.0, 3.0, 2.0, 4.0];
    let view = HostView::strided(&data, &[2, 2], &[1, 2], 1).unwrap();
    let zeros = HostView::new(&[0f32; 4], &[2, 2]).unwrap();
    assert_eq!(values::<f32>(&loaded.run(&[view, zeros]).unwrap()), [1.0, 2.0, 3.0, 4.0]);
    let errors = [&skeleton, &loaded].map(|skeleton| skeleton.run(&[zeros, zeros]).unwrap_err().to_string());
    assert_eq!(errors[0], errors[1]);
}

#[test]
fn what_a_run_consumes_is_saved() {
    let client = client();
    let (state, step) =
        (SkeletonSlot::new(DType::F32, [2]).named("state").donated(), SkeletonSlot::new(DType::F32, [2]));
    let skeleton = (&state + &step).into_skeleton(&client, &[&state, &step]).unwrap();
    let dir = Dir::new();
    fs::create_dir(dir.path()).unwrap();
    let path = dir.path().join("donated");
    skeleton.save(&path).unwrap();
    let loaded = Skeleton::<Array>::load(&client, &path).unwrap();
    assert_eq!(loaded.origin(), &Origin::Loaded);
    assert_eq!(loaded.donated().collect::<Vec<_>>(), [true, false]);
    let step = client.array(&[1f32, 2.0], [2]).unwrap();
    let mut state = client.array(&[0f32, 0.0], [2]).unwrap();
    for _ in 0..3 {
        let given = state.clone();
        state = loaded.run(&[&state, &step]).unwrap();
        assert!(given.is_donated() && !step.is_donated());
    }
    assert_eq!(values::<f32>(&state), [3.0, 6.0]);
}
