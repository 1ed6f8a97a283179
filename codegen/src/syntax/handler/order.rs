//! What must come before what among arguments and results.

use super::super::errors::Errors;
use super::messages;
use super::model::Side;
use super::params::Order;

/// Nothing plain stands after an optional one, and nothing after the remaining ones; arguments and results apart.
///
/// `#[arg] a: Option<AnyBuffer>, #[arg] b: AnyBuffer` is wrong: a call with one buffer leaves out the last.
pub(super) fn check(errors: &mut Errors, places: &[Order<'_>], side: Side) {
    let (mut optional, mut remaining) = (None, None);
    for place in places.iter().filter(|place| place.side == side) {
        if let Some(before) = remaining {
            errors.on(place.name, messages::after_remaining(place.name, before));
        } else if let (Some(before), false, false) = (optional, place.optional, place.remaining) {
            errors.on(place.name, messages::after_optional(place.name, before));
        }
        if place.remaining {
            remaining = Some(place.name);
        } else if place.optional {
            optional = Some(place.name);
        }
    }
}
