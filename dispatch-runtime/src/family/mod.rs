//! Families: what the stub of `#[dispatch_family]` stands on.
//!
//! A stub is generated code with the signature built in: it checks the arguments, encodes the key and lists the
//! buffers. Everything that does not depend on the signature is here: the cache, compiling on a miss, placing
//! arguments, running, and the answers to `explain` and `stats`.

mod args;
mod builder;
mod compile;
mod cx;
mod explain;
mod place;
mod run;
mod write_back;

pub use crate::compiled::{Compiled, Compiler, Visitor, by_engine, nothing_donated};
pub use args::{Arg, Dynamic};
pub use builder::{DeclaredFamily, DevicePolicy, FamilyBuilder, Settings};
pub use compile::{BodyError, Failure, Request, TextFailure};
pub use cx::{BodyLeaf, BodyLeaves, CompileCx};
pub use explain::{Difference, Explanation};
pub use place::{
    Copies, Either, GroupDType, NO_BUFFER, Ready, Temporary, buffer, dim, dim_back, distinct, first_shape,
    fits, fits_lead, lead, ready, same_array, same_sizes,
};
pub use run::Buffers;
pub use write_back::{OutInfo, Source, check_back, sources_differ, write_back};

use crate::cache::{Cache, Part, Pin, Stats};
use crate::client::{Client, Device, other_client};
use crate::key::Sink;
use crate::signature::{self, Field, Scope};
use crate::tree::Place;
use crate::{Error, Result};

/// A compiled program, kept alive while it is used.
pub type Entry<'a> = Pin<'a, Compiled>;

/// The part of a family that does not depend on its signature.
pub struct Family {
    name: &'static str,
    client: Client,
    cache: Cache<Compiled>,
    /// Whether inputs are moved to the entry's device (`device = fixed`).
    moves: bool,
    /// The device of calls without arrays, and of every call if inputs are moved.
    device: Device,
    /// Asked for the device of a call without arrays, if there is one.
    resolver: Option<fn(&Client) -> Device>,
    /// Who asks the engine to compile.
    compiler: Compiler,
    /// Whether it is called from another language.
    foreign: bool,
}

impl Family {
    /// The client of the family.
    #[inline(always)]
    pub fn client(&self) -> Client {
        self.client
    }

    /// Whether inputs are moved to the entry's device.
    #[inline(always)]
    pub fn moves(&self) -> bool {
        #[cold]
        fn rarely() {}
        if self.moves {
            rarely();
        }
        self.moves
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it is called from another language, in whose spelling static values are told.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// What the arguments of a call have said about where it runs: nothing yet.
    #[inline(always)]
    pub fn place(&self) -> Place {
        Place::new(self.client, self.moves)
    }

    /// The device of a call whose arguments were all accepted.
    #[inline(always)]
    pub fn device_of(&self, place: &Place) -> Result<u32> {
        if self.moves {
            return Ok(self.device.index());
        }
        match (place.device, self.resolver) {
            (None, None) => Ok(self.device.index()),
            (None, Some(resolver)) => self.resolve(resolver),
            (Some(device), _) => Ok(device),
        }
    }

    #[cold]
    fn resolve(&self, resolver: fn(&Client) -> Device) -> Result<u32> {
        let device = resolver(&self.client);
        if device.client() != self.client {
            return Err(other_client("default_device".into(), "a device", self.client, device.client()));
        }
        Ok(device.index())
    }

    /// The entry of a key, if it is compiled. The hit path: no allocation, no lock, no shared write.
    #[inline(always)]
    pub fn find(&self, key: impl Fn(&mut Sink<'_>)) -> Option<Pin<'_, Compiled>> {
        self.cache.find(key)
    }

    /// Why the specialised check refused a call.
    #[cold]
    #[inline(never)]
    pub fn reject(&self, scope: &Scope, fields: &[Field<'_>]) -> Error {
        match signature::check(scope, fields, self.client, self.moves) {
            Err(error) => error,
            // The property tests compare the two checks; should they differ all the same, refusing is the safe side.
            Ok(()) => Error::Program {
                family: self.name.into(),
                expected: "refuses these arguments".into(),
                got: "though the signature allows them: this is a fault of the toolkit, please report it"
                    .into(),
            },
        }
    }

    /// Hits, misses, compiles, evictions, entries and bytes.
    pub fn stats(&self) -> Stats {
        self.cache.stats()
    }

    /// The parts of each entry's key, for people: the last used entry first.
    pub fn keys(&self) -> Vec<Vec<Part>> {
        self.cache.entries().into_iter().map(|entry| entry.key).collect()
    }

    /// Forgets every compiled program. Those in use are dropped when their calls end.
    pub fn clear(&self) {
        self.cache.clear();
    }

    /// Appends the device to the parts of a key, unless all keys have the same one.
    pub fn describe_device(&self, device: u32, parts: &mut Vec<Part>) {
        if !self.moves {
            parts.push(Part { name: "device".into(), value: self.client.device_at(device).to_string() });
        }
    }

    /// Whether a call with this key would hit, else which part of the key is new.
    #[cold]
    pub fn explain(&self, key: impl Fn(&mut Sink<'_>), parts: Vec<Part>) -> Explanation {
        if self.cache.contains(key) {
            return Explanation::Hit;
        }
        Explanation::nearest(&parts, &self.keys())
    }
}
