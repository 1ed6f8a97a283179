//! Programs that are serialized and loaded again, as a store does.

use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;

/// Runs what is loaded of a program, and compares the bits with those of a run of what was compiled. The program consumes
/// none of its arguments.
#[track_caller]
pub fn same_when_loaded(
    source: impl AsRef<Source>,
    executable: &Executable,
    args: &[Array],
    results: &[Array],
) {
    let (engine, compiled) = (executable.client().engine(), executable.compiled());
    let Some(bytes) = compiled.serialize().unwrap() else {
        // The CPU plugins cannot serialize a sort by an order that they know, and nothing else.
        let text = source.as_ref().to_string();
        assert!(text.contains("sort"), "cannot be serialized: {text}");
        return;
    };
    let args: Vec<_> = args.iter().map(Array::raw).collect();
    let mut outs = vec![None; results.len()];
    let device = executable.device().index() as usize;
    // SAFETY: the bytes are those of this program, from this engine; the arguments are alive and what it takes, the results
    // ours.
    unsafe {
        let loaded = engine.deserialize(&bytes, source.as_ref(), device, None).unwrap();
        assert!(loaded.is_loaded() && loaded.serialize().unwrap() == Some(bytes));
        assert_eq!(loaded.aliased(), compiled.aliased());
        loaded.execute(&args, &mut outs).unwrap();
        for (i, (out, result)) in outs.into_iter().zip(results).enumerate() {
            let (out, mut expected) = (out.unwrap(), vec![0; result.aval().size_bytes()]);
            let mut got = expected.clone();
            engine.read(out, (result.dtype(), result.shape()), &mut got).unwrap();
            engine.destroy(out);
            result.read_bytes(&mut expected).unwrap();
            assert!(got == expected, "result {i}, {}, of a loaded program differs", result.aval());
        }
    }
}
