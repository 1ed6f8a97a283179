//! The list of targets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::super::abi::stage;
use super::super::api::{Api, StageSet, Status};
use super::reserved::is_reserved;
use super::slots::{Closure, SLOTS, State, slot, trampoline_of};
use super::{Entry, Platform, Registered, Registrar, Registration};
use crate::{Error, Result, warning};

static REGISTRAR: RwLock<Option<&'static dyn Registrar>> = RwLock::new(None);

pub(super) fn set_registrar(registrar: &'static dyn Registrar) {
    *REGISTRAR.write().unwrap_or_else(PoisonError::into_inner) = Some(registrar);
}

pub(super) fn registrar() -> Option<&'static dyn Registrar> {
    *REGISTRAR.read().unwrap_or_else(PoisonError::into_inner)
}

static TABLE: Mutex<Table> =
    Mutex::new(Table { targets: BTreeMap::new(), plugins: Vec::new(), spare: Vec::new(), used: 0 });

struct Table {
    targets: BTreeMap<(String, Platform), Target>,
    /// The plugins that have a client, with their platforms and the XLA FFI that they have, or why they have none.
    plugins: Vec<Plugin>,
    /// Slots whose function no plugin took.
    spare: Vec<usize>,
    /// How many slots were ever used.
    used: usize,
}

/// A plugin with a client, as the registry knows it.
#[derive(Clone, Copy)]
struct Plugin {
    platform: Platform,
    /// Gives the plugin's functions, at the first need.
    api: &'static (dyn Fn() -> Result<Api> + Send + Sync),
    /// Tells it from others.
    id: usize,
}

/// What a name on a platform stands for.
struct Target {
    slot: usize,
    owner: String,
    /// What messages call the handler.
    name: String,
    /// The function, to know it again; none for a closure.
    function: Option<usize>,
    gone: bool,
    /// The stages and traits that plugins know of: they cannot be changed there.
    stages: StageSet,
    traits: u32,
    /// The plugins that took it.
    known: Vec<usize>,
}

/// The stages that plugins are told of, whether the handler has them or not: so its next version may have them. On CPU
/// the others are never called; elsewhere each of them costs a call an execution.
const ALWAYS: StageSet = StageSet::EXECUTE.with(stage::INSTANTIATE);

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(registration: &Registration<'_>, reason: String) -> Error {
    Error::FfiHandler {
        target: registration.target.to_owned(),
        platform: registration.platform.word(),
        reason,
    }
}

/// How messages name a handler: its name and owner, as far as they are known.
fn named(name: &str, owner: &str) -> String {
    match (name, owner) {
        ("", "") => "a handler without a name".into(),
        ("", owner) => format!("a handler of {owner}"),
        (name, "") => format!("`{name}`"),
        (name, owner) => format!("`{name}` of {owner}"),
    }
}

/// Registers a handler. With `only`, what another plugin than that says is but a warning.
pub(super) fn register(registration: &Registration<'_>, only: Option<usize>) -> Result<()> {
    // Dropping a state may run code of others, which may come back here: that is for when the lock is gone.
    let mut ended = Vec::new();
    let result = register_locked(registration, only, &mut ended);
    drop(ended);
    let warnings = result?;
    warnings.iter().for_each(|error| warning::warn(&error.to_string()));
    Ok(())
}

/// The errors of other plugins; states that have ended go to `ended`.
fn register_locked(
    registration: &Registration<'_>,
    only: Option<usize>,
    ended: &mut Vec<State>,
) -> Result<Vec<Error>> {
    // From here on dropping it releases the data of a closure.
    let (function, state) = match registration.entry {
        Entry::Function(function) => {
            (Some(function as usize), State::Function(function, registration.stages))
        }
        Entry::Closure(raw) => {
            let traits = registration.traits;
            let closure = Closure { call: raw.call, data: raw.data, release: raw.release, traits };
            (None, State::Closure(Arc::new(closure), registration.stages))
        }
    };
    if let Err(error) = check(registration) {
        ended.push(state);
        return Err(error);
    }
    let key = (registration.target.to_owned(), registration.platform);
    let mut table = table();
    let table = &mut *table;
    match table.targets.get_mut(&key) {
        Some(target) => target.change(registration, function, state, ended)?,
        None => {
            let number = table.spare.pop().or_else(|| (table.used < SLOTS).then_some(table.used));
            let Some(number) = number else {
                ended.push(state);
                let gone = table.targets.values().filter(|target| target.gone).count();
                let reason = format!(
                    "this process has had handlers under {SLOTS} names, and that is the limit; {gone} of them are \
                     removed, but XLA forgets no name: register under one of those instead"
                );
                return Err(refused(registration, reason));
            };
            table.used = table.used.max(number + 1);
            ended.push(slot(number).set(state));
            let target = Target {
                slot: number,
                owner: registration.owner.to_owned(),
                name: registration.name.to_owned(),
                function,
                gone: false,
                stages: union(registration.stages, ALWAYS),
                traits: registration.traits,
                known: Vec::new(),
            };
            table.targets.insert(key.clone(), target);
        }
    }
    let target = table.targets.get_mut(&key).expect("it was there or has been inserted");
    let (mut failed, mut warnings) = (None, Vec::new());
    for plugin in table.plugins.iter().filter(|plugin| plugin.platform == registration.platform) {
        match target.tell(registration.target, *plugin) {
            Err(error) if only.is_some_and(|only| only != plugin.id) => warnings.push(error),
            Err(error) => failed = Some(error),
            Ok(()) => {}
        }
    }
    let Some(error) = failed else { return Ok(warnings) };
    // Nobody knows it, so it is as if it had never been.
    if target.known.is_empty() {
        let number = target.slot;
        ended.push(slot(number).set(State::Free));
        table.spare.push(number);
        table.targets.remove(&key);
    }
    Err(error)
}

/// What is wrong with a registration by itself.
fn check(registration: &Registration<'_>) -> Result<()> {
    let reason = if registration.target.is_empty() {
        "the name of a target must not be empty"
    } else if registration.target.contains('\0') {
        "the name of a target must not contain NUL"
    } else if is_reserved(registration.target) {
        "XLA's compiler knows a target of this name itself and never calls a handler for it; take another name"
    } else if !registration.stages.has(stage::EXECUTE) {
        "the handler has no execute stage, and every handler needs one"
    } else {
        return Ok(());
    };
    Err(refused(registration, reason.into()))
}

fn union(a: StageSet, b: StageSet) -> StageSet {
    let stages = stage::INSTANTIATE..=stage::RECORD;
    stages.filter(|&stage| b.has(stage)).fold(a, StageSet::with)
}

impl Target {
    /// Has the name stand for another handler, or for the same one again.
    fn change(
        &mut self,
        new: &Registration<'_>,
        function: Option<usize>,
        state: State,
        ended: &mut Vec<State>,
    ) -> Result<()> {
        let same = function.is_some() && function == self.function;
        if same && !self.gone {
            return Ok(());
        }
        if let Err(error) = self.may_become(new) {
            ended.push(state);
            return Err(error);
        }
        ended.push(slot(self.slot).set(state));
        self.owner = new.owner.to_owned();
        self.name = new.name.to_owned();
        self.function = function;
        self.gone = false;
        self.stages = union(self.stages, new.stages);
        self.traits = new.traits;
        Ok(())
    }

    /// Whether the name may stand for another handler than it does.
    fn may_become(&self, new: &Registration<'_>) -> Result<()> {
        if !self.gone && (self.owner != new.owner || new.owner.is_empty()) {
            let (there, new_one) = (named(&self.name, &self.owner), named(new.name, new.owner));
            return Err(refused(
                new,
                format!(
                    "the name is taken: {there} is registered under it, and {new_one} is another handler"
                ),
            ));
        }
        // No plugin takes a change of these.
        let what = match self.known.is_empty() {
            false if !self.stages.contain(new.stages) => "fewer stages",
            false if self.traits != new.traits => "other traits",
            _ => return Ok(()),
        };
        Err(refused(
            new,
            format!(
                "an earlier handler of that name had {what}, and XLA keeps those as long as the process lives; take \
                 another name, or start the process anew"
            ),
        ))
    }

    /// Registers the slot's function with a plugin that does not know it.
    fn tell(&mut self, target: &str, plugin: Plugin) -> Result<()> {
        if self.known.contains(&plugin.id) {
            return Ok(());
        }
        // A plugin that calls no handlers needs none; whoever registers one for its client is told so.
        let Ok(api) = (plugin.api)() else { return Ok(()) };
        let function = trampoline_of(self.slot);
        let platform = plugin.platform.name();
        // SAFETY: the slots' functions live as long as the process, as nothing of this library is ever unloaded.
        unsafe { api.register_handler(target, platform, function, self.stages, self.traits) }.map_err(
            |Status { message, .. }| Error::FfiHandler {
                target: target.to_owned(),
                platform: plugin.platform.word(),
                reason: format!("the plugin refuses {}: {message}", named(&self.name, &self.owner)),
            },
        )?;
        self.known.push(plugin.id);
        Ok(())
    }
}

/// Has a plugin that got a client know the handlers of its platform, now and later.
pub(crate) fn attach(platform: &str, id: usize, api: impl Fn() -> Result<Api> + Send + Sync + 'static) {
    let Ok(platform) = Platform::named(platform) else { return };
    let mut table = table();
    if table.plugins.iter().any(|plugin| plugin.id == id && plugin.platform == platform) {
        return;
    }
    let plugin = Plugin { platform, id, api: Box::leak(Box::new(api)) };
    table.plugins.push(plugin);
    let mut failures = Vec::new();
    for ((name, on), target) in &mut table.targets {
        if *on == platform && !target.gone {
            failures.extend(target.tell(name, plugin).err());
        }
    }
    drop(table);
    for error in failures {
        warning::warn(&error.to_string());
    }
}

/// Removes those targets that `whose` says yes to, by name, platform and owner; how many there were.
pub(super) fn remove(whose: impl Fn(&str, Platform, &str) -> bool) -> usize {
    // Dropped when the lock is gone: see `register`.
    let mut ended = Vec::new();
    let mut table = table();
    for ((name, platform), target) in &mut table.targets {
        if target.gone || !whose(name, *platform, &target.owner) {
            continue;
        }
        let owner = match target.owner.as_str() {
            "" => "it was removed".into(),
            owner => format!("{owner}, which registered it, was unloaded or removed it"),
        };
        let gone = State::Gone(format!("the FFI handler `{name}` is gone: {owner}").into());
        ended.push(slot(target.slot).set(gone));
        target.gone = true;
        target.function = None;
    }
    drop(table);
    ended.len()
}

pub(super) fn registered() -> Vec<Registered> {
    let table = table();
    let there = table.targets.iter().filter(|(_, target)| !target.gone);
    there
        .map(|((target, platform), about)| Registered {
            target: target.clone(),
            platform: *platform,
            owner: about.owner.clone(),
        })
        .collect()
}

/// The targets that a plugin knows, in the order of their names.
pub(crate) fn known_to(platform: Platform, id: usize) -> Vec<String> {
    if let Some(other) = registrar() {
        let there = other.registered().into_iter().filter(|target| target.platform == platform);
        return there.map(|target| target.target).collect();
    }
    let table = table();
    let known = table
        .targets
        .iter()
        .filter(|((_, on), target)| *on == platform && !target.gone && target.known.contains(&id));
    known.map(|((target, _), _)| target.clone()).collect()
}
