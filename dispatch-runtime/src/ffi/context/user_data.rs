//! What whoever runs a program gives to its handlers.

use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{Cx, FromCall};
use crate::ffi::types;
use crate::ffi::{Call, Error, Result};

/// Data for the handlers of one execution, each of a type of its own.
///
/// Given to [`Executable::execute_with`](crate::Executable::execute_with) in
/// [`RunOptions::user_data`](crate::engine::RunOptions::user_data); handlers get it as [`UserData`]. It is kept until the
/// execution has ended.
///
/// ```
/// use std::sync::atomic::AtomicU64;
///
/// use dispatch_runtime::ffi::ExecutionData;
///
/// let data = ExecutionData::new().with(AtomicU64::new(0)).with("a name");
/// assert_eq!(data.get::<&str>(), Some(&"a name"));
/// assert_eq!(data.get::<u8>(), None);
/// ```
#[derive(Clone, Default)]
pub struct ExecutionData {
    values: Vec<Value>,
}

/// A value and its type, as messages name it.
#[derive(Clone)]
struct Value {
    id: TypeId,
    name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl ExecutionData {
    /// No data.
    pub const fn new() -> ExecutionData {
        ExecutionData { values: Vec::new() }
    }

    /// These data and a value more, in the place of one of the same type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(self, value: T) -> ExecutionData {
        self.with_shared(Arc::new(value))
    }

    /// [`ExecutionData::with`] for a value that the caller keeps a share of.
    #[must_use]
    pub fn with_shared<T: Any + Send + Sync>(mut self, value: Arc<T>) -> ExecutionData {
        self.values.retain(|other| other.id != TypeId::of::<T>());
        self.values.push(Value { id: TypeId::of::<T>(), name: type_name::<T>(), value });
        self
    }

    /// The value of this type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        let id = TypeId::of::<T>();
        self.values.iter().find(|value| value.id == id)?.value.downcast_ref()
    }
}

impl fmt::Debug for ExecutionData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.iter().map(|value| value.name)).finish()
    }
}

/// The value of this type among the data that the execution was given.
///
/// A parameter `#[ctx] log: ffi::UserData<Log>`, which derefs to the value; `Option<ffi::UserData<Log>>` if it may be
/// absent. Executions that run at the same time may share it.
pub struct UserData<'a, T>(&'a T);

impl<'a, T> UserData<'a, T> {
    /// The value, for as long as the call.
    pub fn get(&self) -> &'a T {
        self.0
    }
}

impl<T> Clone for UserData<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for UserData<'_, T> {}

impl<T> Deref for UserData<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for UserData<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The data of the execution; none if whoever runs it is another copy of this crate.
fn data<'a>(call: &Call<'a>) -> Result<Option<&'a ExecutionData>> {
    let cx = Cx::of(call)?;
    let id = types::of(cx.api)?.user_data;
    // SAFETY: the call lasts. The runtime runs every program that has custom calls with an execute context.
    let data = unsafe { cx.api.user_data(cx.ctx, id) };
    // SAFETY: data of this type are such a pointer; they are kept until the execution has ended.
    Ok(data.ok().and_then(|data| unsafe { data.cast::<ExecutionData>().as_ref() }))
}

impl<'a, T: Any + Send + Sync> FromCall<'a> for UserData<'a, T> {
    fn from_call(call: &Call<'a>) -> Result<UserData<'a, T>> {
        let data = data(call)?;
        data.and_then(|data| data.get()).map(UserData).ok_or_else(|| {
            let none = ExecutionData::new();
            let there = data.unwrap_or(&none);
            Error::failed_precondition(format!(
                "expected user data of type `{}`, got an execution with {there:?}",
                type_name::<T>()
            ))
        })
    }
}

impl<'a, T: Any + Send + Sync> FromCall<'a> for Option<UserData<'a, T>> {
    fn from_call(call: &Call<'a>) -> Result<Option<UserData<'a, T>>> {
        Ok(data(call)?.and_then(|data| data.get()).map(UserData))
    }
}
