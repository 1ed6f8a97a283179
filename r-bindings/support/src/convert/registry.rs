//! The converters for objects of R.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;

use dispatch_runtime::convert::{self, CopyPolicy, Match, Registry, Which};

use super::functions::Function;
use super::reach::{self, Reach};
use crate::arg::Arg;
use crate::dispatcher::Kept;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::make;
use crate::root::Root;

/// A converter: a list of R that whoever uses it keeps alive, and which lives in it as long as it is registered.
pub(crate) struct Converter {
    /// See [`Function`] for what is in it.
    pub list: SEXP,
    _kept: Kept,
}

/// A converter in a registry.
pub(super) type Entry = convert::Entry<Converter>;

/// The converters of one scope.
pub(crate) type Scope = Registry<Converter>;

/// The converters that are there for every call, those for the code of a package, and those of [`begin_scope`], the last one
/// last.
struct Scopes {
    global: OnceCell<Scope>,
    /// By the names of the packages. They stay when the package goes: it may come back, and what is in them need not be its own.
    packages: RefCell<Vec<(String, Scope)>>,
    calls: RefCell<Vec<Scope>>,
    copy: Cell<Option<CopyPolicy>>,
}

static SCOPES: MainThread<Scopes> = MainThread::new(Scopes {
    global: OnceCell::new(),
    packages: RefCell::new(Vec::new()),
    calls: RefCell::new(Vec::new()),
    copy: Cell::new(None),
});

fn global() -> &'static Scope {
    SCOPES.get().global.get_or_init(Scope::new)
}

/// The scopes that count for a call.
pub(super) enum Levels {
    /// No converter is active in any.
    Idle,
    /// Only the converters for every call.
    Global(&'static Scope),
    /// Several, the nearest first.
    Several(Vec<Scope>),
}

/// The scopes that count for a call of a dispatcher with these converters of its own.
pub(super) fn levels(own: Option<&Scope>) -> Result<Levels> {
    let package = of_calling_package(|scope| !scope.is_idle())?;
    let (calls, global) = (SCOPES.get().calls.borrow(), global());
    let all = || calls.iter().rev().chain(own).chain(&package).chain(std::iter::once(global));
    Ok(match calls.is_empty() && own.is_none() && package.is_none() {
        _ if all().all(Scope::is_idle) => Levels::Idle,
        true => Levels::Global(global),
        false => Levels::Several(all().cloned().collect()),
    })
}

/// [`levels`], also where no converter is active.
pub(super) fn all_levels(own: Option<&Scope>) -> Result<Vec<Scope>> {
    let package = of_calling_package(|scope| !scope.is_empty())?;
    let calls = SCOPES.get().calls.borrow();
    Ok(calls.iter().rev().chain(own).chain(&package).chain(std::iter::once(global())).cloned().collect())
}

/// The converters for the package whose code calls, if there are any that count. Only where some package has such is it asked
/// which one calls, by R code, so that nothing is borrowed meanwhile.
fn of_calling_package(counts: impl Fn(&Scope) -> bool) -> Result<Option<Scope>> {
    let any = SCOPES.get().packages.borrow().iter().any(|(_, scope)| counts(scope));
    if !any {
        return Ok(None);
    }
    let Some(package) = reach::calling_package()? else { return Ok(None) };
    Ok(of_package(&package).filter(counts))
}

fn of_package(package: &str) -> Option<Scope> {
    let packages = SCOPES.get().packages.borrow();
    packages.iter().find(|(name, _)| name == package).map(|(_, scope)| scope.clone())
}

/// The converters of a reach.
fn scope_of(reach: &Reach<'_>) -> Scope {
    match reach {
        Reach::All => global().clone(),
        Reach::Dispatcher(dispatcher) => dispatcher.own_scope().clone(),
        Reach::Package(package) => of_package(package).unwrap_or_default(),
    }
}

/// [`scope_of`], to register in.
fn scope_for(reach: &Reach<'_>) -> Scope {
    let scope = scope_of(reach);
    if let Reach::Package(package) = reach {
        let mut packages = SCOPES.get().packages.borrow_mut();
        if packages.iter().all(|(name, _)| name != package) {
            packages.push((package.clone(), scope.clone()));
        }
    }
    scope
}

/// The converters for every call and for those of packages, each with the package.
fn of_process() -> Vec<(Option<String>, Scope)> {
    let packages = SCOPES.get().packages.borrow();
    let packages = packages.iter().map(|(name, scope)| (Some(name.clone()), scope.clone()));
    std::iter::once((None, global().clone())).chain(packages).collect()
}

/// What [`set_copy`] has set.
pub(super) fn copy() -> Option<CopyPolicy> {
    SCOPES.get().copy.get()
}

/// Sets the copy policy of the calls from here on, in place of those of the converters; what it was before.
pub fn set_copy(policy: Option<CopyPolicy>) -> Option<CopyPolicy> {
    SCOPES.get().copy.replace(policy)
}

/// The arguments of the R function `register_converter()`, checked there.
#[allow(missing_docs)]
pub struct Registration<'a> {
    pub class: Arg<'a>,
    pub convert_in: Arg<'a>,
    pub convert_out: Arg<'a>,
    pub description: Arg<'a>,
    pub predicate: Arg<'a>,
    pub copy: Arg<'a>,
    pub package: Arg<'a>,
}

impl Registration<'_> {
    /// Registers it in a scope, which has this reach; its number.
    fn register_in(&self, scope: &Scope, reach: &Reach<'_>) -> Result<u64> {
        let rule = match self.class.optional() {
            Some(class) => Match::class(class.string()?),
            None => Match::Predicate,
        };
        let description = self.description.string()?;
        let functions = [self.convert_in, self.convert_out, self.predicate].map(Arg::get);
        let list = Function::list(functions, &description)?;
        let kept = match reach {
            // A root would keep the dispatcher for ever if the functions refer to it.
            Reach::Dispatcher(dispatcher) => dispatcher.keep(list.get())?,
            _ => Kept::Root { _root: Root::new(list.get())? },
        };
        let converter = Converter { list: list.get(), _kept: kept };
        let mut what =
            convert::Registration::new(rule, description, converter).copy(super::policy(self.copy)?);
        if let Some(package) = self.package.optional() {
            what = what.package(package.string()?);
        }
        add(scope, what)
    }
}

/// Registers a converter; its number.
fn add(scope: &Scope, what: convert::Registration<Converter>) -> Result<u64> {
    let registered = scope.register(what)?;
    let entry = registered.entry();
    Function::set_id(entry.converter().list, entry.id())?;
    Ok(registered.keep())
}

/// Registers a converter that is a function of a package in Rust; its number.
pub(super) fn add_native(
    rule: Match,
    description: &str,
    package: Option<&str>,
    copy: CopyPolicy,
    reach: &Reach<'_>,
    list: &Root,
) -> Result<u64> {
    let kept = Kept::Root { _root: Root::new(list.get())? };
    let converter = Converter { list: list.get(), _kept: kept };
    let what = convert::Registration::new(rule, description, converter).copy(copy);
    add(
        &scope_for(reach),
        match package {
            Some(package) => what.package(package),
            None => what,
        },
    )
}

/// Removes the converter of a number, unless it is one of a dispatcher; whether it was there.
pub(super) fn remove_number(id: u64) -> bool {
    of_process().iter().any(|(_, scope)| scope.remove(Which::Id(id)).is_ok())
}

/// Registers a converter; its number.
pub fn register(what: &Registration<'_>, reach: &Reach<'_>) -> Result<u64> {
    what.register_in(&scope_for(reach), reach)
}

/// Registers a converter before all others until [`end_scope`]; how many such scopes there are around it.
pub fn begin_scope(what: &Registration<'_>) -> Result<usize> {
    let scope = Scope::new();
    what.register_in(&scope, &Reach::All)?;
    let mut calls = SCOPES.get().calls.borrow_mut();
    calls.push(scope);
    Ok(calls.len() - 1)
}

/// Ends the scope with so many around it, and those inside of it. Calls that use its converter go on with that.
pub fn end_scope(around: usize) {
    let ended = {
        let mut calls = SCOPES.get().calls.borrow_mut();
        let keep = around.min(calls.len());
        calls.split_off(keep)
    };
    drop(ended);
}

/// Which converter is meant: by its position counted from 1, or its description; by its number if `is_id`.
fn which<'a>(id: Arg<'_>, is_id: bool, room: &'a mut String) -> Result<Which<'a>> {
    let is_one = Rf_xlength(id.get()) == 1;
    let refused =
        || id.expected("the index or the description of a converter, or what `register_converter()` gave");
    let number = match id.kind() {
        "character" => {
            *room = id.string().map_err(|_| refused())?;
            return Ok(Which::Description(room));
        }
        "integer" | "double" if is_one => id.integer()?,
        _ => return Err(refused()),
    };
    match (u64::try_from(number), is_id) {
        (Ok(number), true) => Ok(Which::Id(number)),
        // One that there is not, for its message.
        (number, _) => Ok(Which::Index(number.unwrap_or(0).wrapping_sub(1) as usize)),
    }
}

fn find(scope: &Scope, id: Arg<'_>, is_id: bool) -> Result<Arc<Entry>> {
    let mut room = String::new();
    let found = scope.get(which(id, is_id, &mut room)?);
    match found {
        // Its number says nothing to who has the object.
        Err(_) if is_id => {
            let expected = "a converter that is registered for these calls";
            Err(Fault::argument("value", id.name(), expected, "one that is not, or not any more"))
        }
        found => found.map_err(|error| unknown(scope, id, error.into())),
    }
}

/// The error of a converter that is not there, in R's words.
#[cold]
fn unknown(scope: &Scope, id: Arg<'_>, fault: Fault) -> Fault {
    let all = scope.entries();
    let got = match id.string() {
        Ok(text) => format!("\"{text}\""),
        Err(_) => id.integer().map_or_else(|_| "something else".into(), |number| number.to_string()),
    };
    let is_twice = id.string().is_ok_and(|text| all.iter().filter(|e| e.description() == text).count() > 1);
    if is_twice {
        let expected = "a description that only one converter has, or an index";
        return Fault::argument("value", id.name(), expected, format!("{got}, which several have"));
    }
    let names: Vec<String> =
        all.iter().enumerate().map(|(i, entry)| format!("{} \"{}\"", i + 1, entry.description())).collect();
    let expected = "the index or the description of a registered converter";
    match (fault, names.is_empty()) {
        (Fault::Condition(_), true) => {
            Fault::argument("value", id.name(), expected, format!("{got}, and none is registered"))
        }
        (Fault::Condition(_), false) => {
            Fault::argument("value", id.name(), format!("{expected} ({})", names.join(", ")), got)
        }
        (jump, _) => jump,
    }
}

/// Removes a converter. Calls that use it go on.
pub fn remove(id: Arg<'_>, is_id: bool, reach: &Reach<'_>) -> Result<()> {
    let scope = scope_of(reach);
    let entry = find(&scope, id, is_id)?;
    scope.remove(Which::Id(entry.id()))?;
    Ok(())
}

/// Removes the converters that belong to a package, but for those of dispatchers; how many there were.
pub fn remove_all_of(package: &str) -> usize {
    let of_scope = |(_, scope): (_, Scope)| {
        let entries = scope.entries();
        let own = entries.iter().filter(|entry| entry.package() == Some(package));
        own.filter(|entry| scope.remove(Which::Id(entry.id())).is_ok()).count()
    };
    of_process().into_iter().map(of_scope).sum()
}

/// Makes a converter active or not; whether it was.
pub fn set_active(id: Arg<'_>, is_id: bool, active: bool, reach: &Reach<'_>) -> Result<bool> {
    let scope = scope_of(reach);
    let entry = find(&scope, id, is_id)?;
    Ok(scope.set_active(Which::Id(entry.id()), active)?)
}

/// The columns of `converters()`, in the order of registration.
pub fn about(reach: &Reach<'_>) -> Result<Root> {
    columns(&scope_of(reach).entries(), None)
}

/// [`about`] the converters for every call and those for packages, with the column `scope`.
pub fn about_all() -> Result<Root> {
    let mut all: Vec<(Option<String>, Arc<Entry>)> = Vec::new();
    for (package, scope) in of_process() {
        all.extend(scope.entries().iter().map(|entry| (package.clone(), entry.clone())));
    }
    all.sort_by_key(|(_, entry)| entry.id());
    let (scopes, entries): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    columns(&entries, Some(&scopes))
}

fn columns(entries: &[Arc<Entry>], scopes: Option<&[Option<String>]>) -> Result<Root> {
    let texts = |get: &dyn Fn(&Entry) -> Option<String>| -> Result<Root> {
        let texts: Vec<Option<String>> = entries.iter().map(|entry| get(entry)).collect();
        make::optional_strings(&texts.iter().map(Option::as_deref).collect::<Vec<_>>())
    };
    let flags =
        |get: &dyn Fn(&Entry) -> bool| make::flags(&entries.iter().map(|e| get(e)).collect::<Vec<_>>());
    let numbers = |get: &dyn Fn(&Entry) -> u64| {
        make::doubles(&entries.iter().map(|entry| get(entry) as f64).collect::<Vec<_>>())
    };
    let class = |entry: &Entry| match entry.rule() {
        Match::Class(class) => Some(class.clone()),
        _ => None,
    };
    let mut columns = vec![
        ("class", texts(&class)?),
        ("description", texts(&|entry| Some(entry.description().to_owned()))?),
        ("package", texts(&|entry| entry.package().map(str::to_owned))?),
        ("active", flags(&Entry::is_active)?),
        ("native", flags(&|entry| Function::is_native(entry.converter().list))?),
        ("calls", numbers(&Entry::calls)?),
        ("bytes_copied", numbers(&Entry::bytes_copied)?),
    ];
    if let Some(scopes) = scopes {
        let scopes: Vec<Option<&str>> = scopes.iter().map(Option::as_deref).collect();
        columns.push(("scope", make::optional_strings(&scopes)?));
    }
    let columns: Vec<(&str, SEXP)> = columns.iter().map(|(name, column)| (*name, column.get())).collect();
    make::named_list(&columns)
}
