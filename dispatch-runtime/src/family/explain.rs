//! "Why did this compile again?"

use std::collections::HashMap;
use std::fmt;

use crate::cache::Part;

/// Whether a call would hit, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Explanation {
    /// The program is compiled.
    Hit,
    /// Nothing is compiled yet.
    Empty,
    /// The program is not compiled; these parts of the key differ from the entry that is most like it (of equally
    /// near ones the last used).
    Miss {
        /// What differs, in the order of the arguments.
        differences: Vec<Difference>,
    },
}

/// One part of a key that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The part, by argument: ``size 2 of `b` (n)``.
    pub part: String,
    /// Its value in this call; none if this call does not have the part.
    pub now: Option<String>,
    /// Its value in the nearest entry; none if that does not have the part.
    pub cached: Option<String>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Explanation::Hit => f.write_str("hit"),
            Explanation::Empty => f.write_str("miss: nothing is compiled yet"),
            Explanation::Miss { differences } => {
                f.write_str("miss: ")?;
                for (i, difference) in differences.iter().take(SHOWN).enumerate() {
                    write!(f, "{}{difference}", if i > 0 { "; " } else { "" })?;
                }
                match differences.len().saturating_sub(SHOWN) {
                    0 => Ok(()),
                    more => write!(f, "; and {more} more"),
                }
            }
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.now, &self.cached) {
            (Some(now), Some(cached)) => write!(f, "{} is {now}, the nearest entry has {cached}", self.part),
            (Some(now), None) => write!(f, "{} is {now}, the nearest entry has none", self.part),
            (None, cached) => {
                write!(
                    f,
                    "{} is missing, the nearest entry has {}",
                    self.part,
                    cached.as_deref().unwrap_or("none")
                )
            }
        }
    }
}

impl Explanation {
    /// Compares a key that is not there with those of a cache's entries, the last used first.
    pub fn nearest(now: &[Part], entries: &[Vec<Part>]) -> Explanation {
        nearest(now, entries)
    }
}

fn nearest(now: &[Part], entries: &[Vec<Part>]) -> Explanation {
    match entries.iter().map(|entry| differences(now, entry)).min_by_key(Vec::len) {
        None => Explanation::Empty,
        Some(differences) => Explanation::Miss { differences },
    }
}

/// How many differences a message tells.
const SHOWN: usize = 20;

fn differences(now: &[Part], entry: &[Part]) -> Vec<Difference> {
    let by_name = |parts: &[Part]| -> HashMap<String, String> {
        parts.iter().rev().map(|p| (p.name.clone(), p.value.clone())).collect()
    };
    let (entry_values, now_values) = (by_name(entry), by_name(now));
    let mut all: Vec<Difference> = now
        .iter()
        .map(|p| Difference {
            part: p.name.clone(),
            now: Some(p.value.clone()),
            cached: entry_values.get(&p.name).cloned(),
        })
        .filter(|d| d.now != d.cached)
        .collect();
    all.extend(entry.iter().filter(|p| !now_values.contains_key(&p.name)).map(|p| Difference {
        part: p.name.clone(),
        now: None,
        cached: Some(p.value.clone()),
    }));
    all
}
