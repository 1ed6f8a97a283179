//! Skeletons by the layouts of their inputs.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::bake::Baked;
use super::compose::{Bind, Bound};
use super::{Input, Results, RunInput, Skeleton};
use crate::array::{TAG, head};
use crate::aval::brief;
use crate::cache::{Cache, Cached, EvictionPolicy, Lru, Part, Pin, Stats};
use crate::error::counted;
use crate::executable::check_place;
use crate::graph::Value;
use crate::key::Sink;
use crate::leaf::Leaf;
use crate::{Array, Aval, Client, Error, Result};

/// Skeletons that are made when inputs of new layouts come, and kept for the next ones: a bounded cache, that of families,
/// keyed by the layouts of all inputs.
///
/// ```
/// use dispatch_runtime::{prelude::*, skeleton::{DynamicSkeleton, SkeletonSlot}};
///
/// let client = Client::cpu()?;
/// let twice = DynamicSkeleton::new(&client, 8, |inputs: &[Aval]| {
///     let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape());
///     (&x * 2).into_skeleton(&client, &[&x])
/// })?;
///
/// let a = client.array(&[1f32, 2.0], [2])?;
/// let b = client.array(&[1i32, 2, 3], [3])?;
/// assert_eq!(twice.run(&[&a])?.to_vec::<f32>()?, [2.0, 4.0]);
/// assert_eq!(twice.run(&[&b])?.to_vec::<i32>()?, [2, 4, 6]);
/// assert_eq!(twice.run(&[&a])?.to_vec::<f32>()?, [2.0, 4.0]); // built before
/// assert_eq!((twice.len(), twice.stats().compiles, twice.stats().hits), (2, 2, 1));
///
/// assert!(twice.contains(&[&a]) && twice.contains(&[Aval::new(DType::I32, [3])]));
/// assert!(twice.remove(&[&a]) && !twice.contains(&[&a]));
/// # Ok::<(), Error>(())
/// ```
///
/// The build function gets the layouts of the inputs of one call, and makes a skeleton for just these; it may borrow. Of host
/// data the layout has strides and an offset, unless it is dense; [`SkeletonSlot::of`](super::SkeletonSlot::of) makes a slot
/// for it. The function runs
/// once for each list of layouts: threads that ask for the same one meanwhile wait, and get the same skeleton or the same
/// error. When it fails, panics, or makes a skeleton for other layouts, nothing is kept, and the next call tries again.
///
/// Which skeleton goes when the cache is full is up to the policy `P`; [`EvictionPolicy`] says when it is asked.
pub struct DynamicSkeleton<F, P: EvictionPolicy = Lru, O = Array> {
    client: Client,
    build: F,
    cache: Cache<Arc<Baked>>,
    of: PhantomData<fn(P) -> O>,
}

impl<F, O> DynamicSkeleton<F, Lru, O>
where
    F: Fn(&[Aval]) -> Result<Skeleton<O>>,
    O: Results,
{
    /// An empty cache for at most so many skeletons, of which the one goes that was not used for longest.
    ///
    /// # Errors
    ///
    /// The capacity is 0.
    pub fn new(client: &Client, capacity: usize, build: F) -> Result<Self> {
        DynamicSkeleton::with_policy(client, capacity, Lru, build)
    }
}

impl<F, P, O> DynamicSkeleton<F, P, O>
where
    F: Fn(&[Aval]) -> Result<Skeleton<O>>,
    P: EvictionPolicy,
    O: Results,
{
    /// An empty cache with another policy.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::{DynamicSkeleton, SkeletonSlot}};
    ///
    /// let client = Client::cpu()?;
    /// let build = |inputs: &[Aval]| {
    ///     let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape());
    ///     x.exp().into_skeleton(&client, &[&x])
    /// };
    /// let exp = DynamicSkeleton::with_policy(&client, 1, Unbounded, build)?;
    /// for n in 1..=3 {
    ///     exp.run(&[&client.array(&vec![0f32; n], [n as i64])?])?;
    /// }
    /// assert_eq!(exp.len(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The capacity is 0.
    pub fn with_policy(client: &Client, capacity: usize, policy: P, build: F) -> Result<Self> {
        let cache = Cache::new("the dynamic skeleton", capacity, Box::new(policy))?;
        Ok(DynamicSkeleton { client: *client, build, cache, of: PhantomData })
    }

    /// Runs the skeleton for inputs of these layouts, which is built first if it is not there.
    ///
    /// # Errors
    ///
    /// Before the cache is asked, by its position: an input of another client, not on the client's default device, or donated.
    /// Then that of the build function; [`Error::Panic`] if it panics; [`Error::Program`] if its skeleton is for other
    /// layouts, or another device; [`Error::Recursive`] if it asks for its own layouts. Then what the plugin says.
    #[inline]
    pub fn run<I: RunInput>(&self, inputs: &[I]) -> Result<O> {
        let device = self.client.default_device();
        if !I::arrays(inputs).is_some_and(|arrays| self.placed(arrays)) {
            self.check(inputs)?;
        }
        let entry = match self.cache.find(|sink| encode(inputs, sink)) {
            Some(entry) => entry,
            None => self.make(inputs)?,
        };
        // SAFETY: the inputs are alive and in place, as was checked, or uploaded to there; an entry's slots have the layouts
        // of its key, and equal keys mean equal layouts. `build` makes skeletons of the structure `O`.
        I::as_arrays(inputs, device, &entry.donated, |arrays| unsafe { entry.run(arrays) })
    }

    /// The results of the skeleton for inputs of these layouts, as values of a larger computation; it is built first if it is
    /// not there. As [`Skeleton::compose`].
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::{DynamicSkeleton, SkeletonSlot}};
    ///
    /// let client = Client::cpu()?;
    /// let total = DynamicSkeleton::new(&client, 8, |inputs: &[Aval]| {
    ///     let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape());
    ///     x.sum(..).into_skeleton(&client, &[&x])
    /// })?;
    /// let (x, y) = (SkeletonSlot::new(DType::F32, [2]), SkeletonSlot::new(DType::F32, [3]));
    /// let both = total.compose(&[&x])? * total.compose(&[&y])?;
    /// let both = both.into_skeleton(&client, &[&x, &y])?;
    /// let (x, y) = (client.array(&[1f32, 2.0], [2])?, client.array(&[1f32, 2.0, 3.0], [3])?);
    /// assert_eq!(both.run(&[&x, &y])?.to_vec::<f32>()?, [18.0]);
    /// assert_eq!(total.len(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](DynamicSkeleton::run), and those of [`Skeleton::compose`].
    #[track_caller]
    pub fn compose(&self, inputs: &[&dyn Bind]) -> Result<O::With<Value>> {
        self.composed(inputs, true)
    }

    /// [`compose`](DynamicSkeleton::compose) without the seal, as [`Skeleton::compose_inlined`].
    #[track_caller]
    pub fn compose_inlined(&self, inputs: &[&dyn Bind]) -> Result<O::With<Value>> {
        self.composed(inputs, false)
    }

    #[track_caller]
    fn composed(&self, inputs: &[&dyn Bind], sealed: bool) -> Result<O::With<Value>> {
        let device = self.client.default_device();
        let layout = |(i, input): (usize, &&dyn Bind)| match input.bound() {
            Bound::Array(array) => check_place(|| (i + 1).to_string(), array, device).map(|()| array.aval()),
            Bound::Value(value) => value.check().map(|value| value.aval().clone()),
        };
        let layouts = inputs.iter().enumerate().map(layout).collect::<Result<Vec<Aval>>>()?;
        let entry = match self.cache.find(|sink| encode(&layouts, sink)) {
            Some(entry) => entry,
            None => self.make(&layouts)?,
        };
        entry.compose(inputs, sealed).map(O::with_all)
    }

    /// Whether all arrays are alive and on the device of the skeletons.
    #[inline(always)]
    fn placed(&self, arrays: &[&Array]) -> bool {
        let here = head(TAG, self.client.default_device().index());
        arrays.iter().all(|array| array.head() | u64::from(TAG) == here && array.client() == self.client)
    }

    /// The error of the first array that is not.
    #[cold]
    #[inline(never)]
    fn check<I: RunInput>(&self, inputs: &[I]) -> Result<()> {
        let device = self.client.default_device();
        let mut inputs = inputs.iter().enumerate();
        inputs.try_for_each(|(i, input)| {
            let path = || (i + 1).to_string();
            let mut given = input.input();
            if let Input::Object(object) = given {
                object.convert(&path(), None)?;
                given = object.converted();
            }
            match given {
                Input::Array(array) => check_place(path, array, device),
                _ => Ok(()),
            }
        })
    }

    #[cold]
    #[inline(never)]
    fn make<L: Leaf>(&self, inputs: &[L]) -> Result<Pin<'_, Arc<Baked>>> {
        let build = || {
            let layouts: Vec<Aval> = inputs.iter().map(layout).collect();
            let Skeleton { baked, .. } = (self.build)(&layouts)?;
            self.check_built(&baked, &layouts)?;
            Ok(baked)
        };
        self.cache.get_or_build(|sink| encode(inputs, sink), || describe(inputs), build)
    }

    /// An error unless a skeleton is for these layouts, and runs where it should.
    fn check_built(&self, baked: &Baked, layouts: &[Aval]) -> Result<()> {
        let wrong =
            |expected, got| Err(Error::Program { family: "the dynamic skeleton".into(), expected, got });
        let device = self.client.default_device();
        if baked.device() != device {
            let other = if baked.client != self.client { " of another client" } else { "" };
            return wrong(format!("must run on {device}"), format!("it runs on {}{other}", baked.device()));
        }
        let slots = baked.inputs();
        if slots.len() != layouts.len() {
            return wrong(
                format!("must take {}", counted(layouts.len(), "argument")),
                format!("it takes {}", slots.len()),
            );
        }
        match slots.iter().zip(layouts).position(|(slot, layout)| slot != layout) {
            Some(i) => wrong(
                format!("must take `{}` as {}, which it was built for", baked.path(i), layouts[i]),
                format!("it takes {}", slots[i]),
            ),
            None => Ok(()),
        }
    }
}

impl<F, P: EvictionPolicy, O> DynamicSkeleton<F, P, O> {
    /// Whether there is a skeleton for inputs of these layouts: what a run takes, or [`Aval`]s. Changes neither recency nor
    /// counters.
    pub fn contains<L: Leaf>(&self, layouts: &[L]) -> bool {
        self.cache.contains(|sink| encode(layouts, sink))
    }

    /// Takes out the skeleton for inputs of these layouts, what a run takes or [`Aval`]s; false if there is none. If it
    /// runs at this moment it is dropped after that.
    pub fn remove<L: Leaf>(&self, layouts: &[L]) -> bool {
        self.cache.remove(|sink| encode(layouts, sink))
    }

    /// Takes out all skeletons.
    pub fn clear(&self) {
        self.cache.clear();
    }

    /// How many skeletons there are.
    pub fn len(&self) -> usize {
        self.cache.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.cache.is_empty()
    }

    /// The capacity that it was made with.
    pub fn capacity(&self) -> usize {
        self.cache.capacity()
    }

    /// Hits, misses, compiles, evictions, entries and bytes.
    pub fn stats(&self) -> Stats {
        self.cache.stats()
    }

    /// What there is, the last used first: the layout of each input, hits and size.
    pub fn entries(&self) -> Vec<Cached> {
        self.cache.entries()
    }
}

/// In the word of a tag: strides and an offset come behind the sizes. A tag has 32 bits.
const STRIDED: u64 = 1 << 32;

/// The layouts as words of a key: their number; then of each the tag, which has the rank, and the sizes; if it is not dense,
/// which the word of the tag says, the strides and the offset.
#[inline(always)]
fn encode<L: Leaf>(layouts: &[L], sink: &mut Sink<'_>) {
    sink.word(layouts.len() as u64);
    for leaf in layouts {
        let layout = leaf.layout();
        let strided = if layout.is_some() { STRIDED } else { 0 };
        sink.word(u64::from(leaf.tag()) | strided);
        leaf.shape().iter().for_each(|&n| sink.word(n as u64));
        if let Some((strides, offset)) = layout {
            strides.iter().for_each(|&n| sink.word(n as u64));
            sink.word(offset as u64);
        }
    }
}

/// What a build function gets to see of an input.
fn layout(leaf: &impl Leaf) -> Aval {
    Aval::with_layout(
        leaf.dtype(),
        leaf.shape(),
        leaf.layout().map(|(strides, offset)| (strides.into(), offset)),
    )
}

fn describe<L: Leaf>(layouts: &[L]) -> Vec<Part> {
    let part = |(i, layout): (usize, &L)| Part {
        name: format!("input {}", i + 1),
        value: brief(&self::layout(layout)),
    };
    layouts.iter().enumerate().map(part).collect()
}

impl<F, P: EvictionPolicy, O> fmt::Debug for DynamicSkeleton<F, P, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicSkeleton")
            .field("capacity", &self.capacity())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
