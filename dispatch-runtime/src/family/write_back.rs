//! Results that are written back into what was passed.

use super::{Dynamic, Family};
use crate::array::Array;
use crate::host::{HostView, Places};
use crate::tree::OutputTree;
use crate::{Error, Result};

/// What a result is converted for.
#[derive(Clone, Copy, Debug)]
pub struct OutInfo<'a> {
    /// The family.
    pub function: &'a str,
    /// The argument.
    pub argument: &'a str,
    /// The argument's position among the arrays, counted from 0.
    pub index: usize,
}

/// What a result can be written back into.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The object.
    pub object: *const (),
    /// Where its data is, if that is on the host.
    pub memory: Option<HostView<'a>>,
}

/// An error if the result of this number cannot be written back into what was passed for this argument. All of a call are asked
/// before any is written.
pub fn check_back<D: Dynamic + ?Sized>(
    passed: &D,
    result: (&impl OutputTree, usize),
    family: &Family,
    (argument, index): (&'static str, usize),
) -> Result<()> {
    let info = OutInfo { function: family.name(), argument, index };
    numbered(result, |result| passed.check_back(result, &info))
}

/// Writes the result of this number back into what was passed for this argument.
pub fn write_back<D: Dynamic + ?Sized>(
    passed: &D,
    result: (&impl OutputTree, usize),
    family: &Family,
    (argument, index): (&'static str, usize),
) -> Result<()> {
    let info = OutInfo { function: family.name(), argument, index };
    numbered(result, |result| passed.write_back(result, &info))
}

/// Does something with one of the results.
fn numbered(
    (results, number): (&impl OutputTree, usize),
    mut done: impl FnMut(&Array) -> Result<()>,
) -> Result<()> {
    let (mut i, mut all) = (0, Ok(()));
    results.each(&mut |result| {
        if i == number {
            all = done(result);
        }
        i += 1;
    });
    all
}

/// An error if an object that is written into is passed twice, or if its memory is that of another object too. Of each argument: its
/// name, the object, and whether it is written into.
pub fn sources_differ(sources: &[(&'static str, Option<Source<'_>>, bool)]) -> Result<()> {
    for (i, &(name, source, writes)) in sources.iter().enumerate() {
        let (true, Some(source)) = (writes, source) else { continue };
        let others = sources.iter().enumerate().filter(|&(j, _)| j != i);
        let others = others.filter_map(|(_, &(other, source, _))| Some((other, source?)));
        let mut own: Option<Places> = None;
        for (other, second) in others {
            let reason = if source.object == second.object {
                format!("a result is written back into the object, so it cannot be passed as `{other}` too")
            } else if let (Some(view), Some(theirs)) = (source.memory, second.memory)
                && own.get_or_insert_with(|| view.places()).meet(&theirs.places())
            {
                format!(
                    "a result is written back into the object, whose memory is that of the object passed as `{other}` too"
                )
            } else {
                continue;
            };
            return Err(Error::Converter { argument: name.into(), reason });
        }
    }
    Ok(())
}
