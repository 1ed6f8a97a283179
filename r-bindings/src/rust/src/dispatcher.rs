//! Dispatchers.

use dispatch_r::compiles;
use dispatch_r::dispatcher::{self, Dispatcher, Options};
use dispatch_r::runtime::{Difference, Explanation};
use dispatch_r::{arg, entry, make, statics, Arg, Result, Root, SEXP};
use savvy::savvy;

#[savvy]
#[allow(clippy::too_many_arguments)]
fn rs_dispatcher(
    capacity: savvy::Sexp,
    compile: savvy::Sexp,
    statics: savvy::Sexp,
    backend: savvy::Sexp,
    move_inputs: savvy::Sexp,
    default_device: savvy::Sexp,
    extractor: savvy::Sexp,
    context: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        Dispatcher::create(&Options {
            capacity: arg(&capacity, "capacity"),
            compile: arg(&compile, "compile"),
            statics: arg(&statics, "static"),
            backend: arg(&backend, "backend"),
            move_inputs: arg(&move_inputs, "move_inputs"),
            default_device: arg(&default_device, "default_device"),
            extractor: arg(&extractor, "extractor"),
            context: arg(&context, "context"),
        })
    })
}

/// The function behind `dispatch()`, which R calls without a wrapper.
#[savvy]
fn rs_dispatch_symbol() -> savvy::Result<savvy::Sexp> {
    entry(dispatcher::native_symbol)
}

fn read<'a>(dispatcher: Arg<'a>) -> Result<&'a Dispatcher> {
    dispatcher.handle()
}

#[savvy]
fn rs_dispatcher_stats(dispatcher: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let dispatcher = read(arg(&dispatcher, "dispatcher"))?;
        Ok(make::stats([dispatcher.stats()])?.release())
    })
}

/// Backend and capacity, for printing.
#[savvy]
fn rs_dispatcher_about(dispatcher: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let dispatcher = read(arg(&dispatcher, "x"))?;
        Ok(make::strings(&[dispatcher.backend(), dispatcher.capacity().to_string()])?.release())
    })
}

#[savvy]
fn rs_dispatcher_clear(dispatcher: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        read(arg(&dispatcher, "dispatcher"))?.clear();
        Ok(dispatcher.0)
    })
}

/// Whether it is a hit, the text, and what differs: the parts, their values now and in the nearest entry.
#[savvy]
fn rs_dispatch_explain(dispatcher: savvy::Sexp, args: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let explanation = read(arg(&dispatcher, "dispatcher"))?.explain(args.0)?;
        let differences = match &explanation {
            Explanation::Miss { differences } => differences.as_slice(),
            _ => &[],
        };
        let column = |get: fn(&Difference) -> Option<&str>| -> Result<Root> {
            make::optional_strings(&differences.iter().map(get).collect::<Vec<_>>())
        };
        let values = [
            ("hit", make::flag(explanation == Explanation::Hit)?),
            ("message", make::string(&explanation.to_string())?),
            ("part", column(|d| Some(&d.part))?),
            ("now", column(|d| d.now.as_deref())?),
            ("cached", column(|d| d.cached.as_deref())?),
        ];
        let values: Vec<(&str, SEXP)> = values.iter().map(|(name, value)| (*name, value.get())).collect();
        Ok(make::named_list(&values)?.release())
    })
}

/// Begins to note compiles; a token for the end.
#[savvy]
fn rs_compiles_watch() -> savvy::Result<savvy::Sexp> {
    entry(|| {
        compiles::watch();
        Ok(dispatch_r::ffi::nil())
    })
}

/// Ends to note compiles; what was noted since the watch began.
#[savvy]
fn rs_compiles_noted() -> savvy::Result<savvy::Sexp> {
    entry(|| Ok(make::strings(&compiles::unwatch())?.release()))
}

/// The words of a static value, for the tests.
#[savvy]
fn rs_static_words(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let mut words = Vec::new();
        statics::encode(x.0, &mut words)?;
        let texts: Vec<String> = words.iter().map(|word| format!("{word:016x}")).collect();
        Ok(make::strings(&texts)?.release())
    })
}
