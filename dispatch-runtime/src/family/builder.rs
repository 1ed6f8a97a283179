//! Making a family with other options than its declaration's.

use std::marker::PhantomData;

use super::{Compiler, Family};
use crate::cache::{Cache, EvictionPolicy, Lru};
use crate::client::{Client, Device};
use crate::compiled::by_engine;
use crate::signature::Scope;
use crate::{Error, Result};

/// Which device a call runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DevicePolicy {
    /// On the device of the first array; an array elsewhere is an error.
    FirstInput,
    /// On the device of the family; arrays elsewhere are copied there, and the key holds no device.
    Fixed,
}

/// What a declaration says about its family.
pub struct Settings {
    /// The function's name.
    pub name: &'static str,
    /// The number of compiled programs kept.
    pub capacity: usize,
    /// Which one goes when the cache is full.
    pub policy: Box<dyn EvictionPolicy>,
    /// Which device a call runs on.
    pub device: DevicePolicy,
    /// Asked for the device of a call without arrays.
    pub default_device: Option<fn(&Client) -> Device>,
}

impl Settings {
    /// The defaults: 64 programs, least recently used first out, device of the first input.
    pub fn new(name: &'static str) -> Settings {
        Settings {
            name,
            capacity: 64,
            policy: Box::new(Lru),
            device: DevicePolicy::FirstInput,
            default_device: None,
        }
    }

    /// Another policy.
    pub fn eviction(mut self, policy: impl EvictionPolicy) -> Settings {
        self.policy = Box::new(policy);
        self
    }
}

/// A type that `#[dispatch_family]` made.
pub trait DeclaredFamily: Sized {
    /// What the declaration says.
    #[doc(hidden)]
    fn settings() -> Settings;

    /// Wraps the part that does not depend on the signature.
    #[doc(hidden)]
    fn from_family(family: Family) -> Self;

    /// The part that does not depend on the signature.
    #[doc(hidden)]
    fn family(&self) -> &Family;

    /// The signature of the dynamic arguments.
    #[doc(hidden)]
    fn scope() -> &'static Scope;

    /// Shows what each array and each list of arrays has to be: its path, and its scope with its index there.
    #[doc(hidden)]
    fn declare(visit: &mut dyn FnMut(String, &'static Scope, usize));

    /// Shows what each static argument takes from another language: its name, and words.
    #[doc(hidden)]
    fn declare_statics(visit: &mut dyn FnMut(&'static str, String));
}

/// Makes a family with another capacity, eviction policy or device than its declaration says.
///
/// ```
/// use dispatch_runtime::prelude::*;
///
/// #[dispatch_family(capacity = 64)]
/// fn negate(#[dynamic(dtype = f32, shape = [n])] x: Aval) -> Result<Program> {
///     Program::host([x.clone()], [x], |args| {
///         let negated: Vec<f32> = args[0].as_slice::<f32>().unwrap().iter().map(|x| -x).collect();
///         Ok(vec![HostArray::new(negated, args[0].shape())?])
///     })
/// }
///
/// let client = Client::host();
/// let family = Negate::builder(&client).capacity(2).eviction(Lru).build()?;
/// assert_eq!(family.call(&[1f32, -2.0])?.to_vec::<f32>()?, [-1.0, 2.0]);
/// assert_eq!(Negate::builder(&client).capacity(0).build().err().unwrap().code(), "option");
/// # Ok::<(), Error>(())
/// ```
pub struct FamilyBuilder<F> {
    client: Client,
    settings: Settings,
    device: Option<Device>,
    colliding: bool,
    compiler: Compiler,
    foreign: bool,
    family: PhantomData<fn() -> F>,
}

impl<F: DeclaredFamily> FamilyBuilder<F> {
    /// Starts from the declaration.
    pub fn new(client: &Client) -> FamilyBuilder<F> {
        FamilyBuilder {
            client: *client,
            settings: F::settings(),
            device: None,
            colliding: false,
            compiler: by_engine,
            foreign: false,
            family: PhantomData,
        }
    }

    /// The number of compiled programs kept; 0 is an error of [`FamilyBuilder::build`].
    pub fn capacity(mut self, capacity: usize) -> Self {
        self.settings.capacity = capacity;
        self
    }

    /// Which program goes when the cache is full.
    pub fn eviction(mut self, policy: impl EvictionPolicy) -> Self {
        self.settings = self.settings.eviction(policy);
        self
    }

    /// The device of calls without arrays, and of every call under [`DevicePolicy::Fixed`]. Replaces the
    /// `default_device` of the declaration.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self.settings.default_device = None;
        self
    }

    /// Which device a call runs on.
    pub fn device_policy(mut self, policy: DevicePolicy) -> Self {
        self.settings.device = policy;
        self
    }

    /// Makes all hashes of keys equal, which changes no answer. For tests.
    #[doc(hidden)]
    pub fn colliding_hashes(mut self) -> Self {
        self.colliding = true;
        self
    }

    /// Lets another function than the engine's compile.
    ///
    /// # Safety
    ///
    /// What it gives is an executable of the device's engine, for the device and the program that it is asked for.
    #[doc(hidden)]
    pub unsafe fn compiler(mut self, compiler: Compiler) -> Self {
        self.compiler = compiler;
        self
    }

    /// Tells static values in the spelling of the other language that gives them.
    #[doc(hidden)]
    pub fn foreign(mut self) -> Self {
        self.foreign = true;
        self
    }

    /// Makes the family.
    ///
    /// An error if the capacity is 0 or the device belongs to another client.
    pub fn build(self) -> Result<F> {
        let Settings { name, capacity, policy, device, default_device } = self.settings;
        // A resolver is asked on each call, and once if the device is fixed.
        let resolved = default_device.filter(|_| device == DevicePolicy::Fixed).map(|ask| ask(&self.client));
        let target = self.device.or(resolved).unwrap_or_else(|| self.client.default_device());
        if target.client() != self.client {
            return Err(Error::Option {
                option: "device",
                expected: format!("a device of {}", self.client),
                got: format!("one of {}", target.client()),
            });
        }
        let mut cache = Cache::new(&format!("family `{name}`"), capacity, policy)?;
        if self.colliding {
            cache = cache.with_colliding_hashes();
        }
        Ok(F::from_family(Family {
            name,
            client: self.client,
            cache,
            moves: device == DevicePolicy::Fixed,
            device: target,
            resolver: default_device,
            compiler: self.compiler,
            foreign: self.foreign,
        }))
    }
}
