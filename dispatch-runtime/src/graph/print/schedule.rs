//! The order of a program's operations, each once.
//!
//! An operation stands in the block whose closure made it, so that what was made outside a loop is computed once.
//! Equal pure operations of a block, or of a block around it, are one.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::HashTable;
use smallvec::SmallVec;

use super::super::function::Definition;
use super::super::region::Block;
use super::super::scope::ScopeId;
use super::super::value::{Kind, Mark, Node, Op, Value};
use super::super::walk;
use super::names::{Taken, symbol};
use crate::Error;
use crate::aval::short;
use crate::engine::pjrt::ModuleText;
use crate::error::Result;

/// A program in order.
pub(super) struct Module<'a> {
    pub functions: Vec<Function<'a>>,
    pub main: Body<'a>,
    pub names: Names,
}

/// A function besides `@main`.
pub(super) struct Function<'a> {
    pub name: String,
    pub body: FunctionBody<'a>,
}

pub(super) enum FunctionBody<'a> {
    /// What a closure made.
    Built(Body<'a>),
    /// The functions of another program, with the names that they and the abbreviations in its text get here.
    Text { text: &'a ModuleText, symbols: Vec<String>, aliases: Vec<String> },
}

/// The operations of a function or a block.
pub(super) struct Body<'a> {
    pub arguments: Vec<(u32, &'a crate::Aval)>,
    pub steps: Vec<Step<'a>>,
    pub results: Vec<(u32, &'a crate::Aval)>,
}

/// One operation: its results have the numbers from `id` on.
pub(super) struct Step<'a> {
    pub node: &'a Node,
    pub op: &'a Op,
    pub id: u32,
    pub operands: SmallVec<[u32; 4]>,
    pub blocks: Vec<Body<'a>>,
    /// The called function.
    pub function: Option<usize>,
}

/// The names of values by number; those without one are numbered.
#[derive(Default)]
pub(super) struct Names(Vec<Option<Box<str>>>);

impl Names {
    /// How many values there are.
    pub fn len(&self) -> u32 {
        self.0.len() as u32
    }

    pub fn get(&self, id: u32) -> Option<&str> {
        self.0[id as usize].as_deref()
    }

    /// Numbers for the results of a node.
    fn add(&mut self, node: &Node) -> u32 {
        let id = self.0.len() as u32;
        self.0.resize(self.0.len() + node.results.len(), None);
        self.adopt(id, node);
        id
    }

    /// Takes the names of a node's results, where there are none yet.
    fn adopt(&mut self, id: u32, node: &Node) {
        for (result, name) in node.names.borrow().iter() {
            self.0[(id + result) as usize].get_or_insert_with(|| name.clone());
        }
    }
}

struct Scheduler<'a> {
    scope: ScopeId,
    walk: u64,
    names: Names,
    /// The called functions in the order of their first calls, which is that of their numbers.
    functions: Vec<(String, &'a Definition)>,
    called: HashMap<*const (), usize>,
    symbols: Taken,
    /// The names of abbreviations in the texts of other programs.
    aliases: Taken,
    /// The pure operations that stand in this block or around it, by what they compute.
    known: HashTable<Known<'a>>,
    /// Their hashes and numbers, in the order in which they were computed.
    computed: Vec<(u64, u32)>,
    hasher: foldhash::fast::FixedState,
    /// The nodes that got numbers, in order, with what they remembered before.
    numbered: Vec<(&'a Node, Mark)>,
}

/// A pure operation that is computed already.
struct Known<'a> {
    hash: u64,
    node: &'a Node,
    op: &'a Op,
    operands: SmallVec<[u32; 4]>,
    id: u32,
}

/// Puts a program in order. Each of `captured` are the values of one array, which is one argument behind the inputs.
pub(super) fn schedule<'a>(
    scope: ScopeId,
    inputs: &'a [Value],
    captured: &[&'a [Value]],
    results: &'a [Value],
) -> Result<Module<'a>> {
    let mut scheduler = Scheduler {
        scope,
        walk: walk::next(),
        names: Names::default(),
        functions: Vec::new(),
        called: HashMap::new(),
        symbols: Taken::default(),
        aliases: Taken::default(),
        known: HashTable::new(),
        computed: Vec::new(),
        hasher: foldhash::fast::FixedState::default(),
        numbered: Vec::new(),
    };
    let mut arguments: Vec<_> =
        inputs.iter().map(|input| (scheduler.number(&input.node), input.aval())).collect();
    for values in captured {
        let id = scheduler.number(&values[0].node);
        arguments.push((id, values[0].aval()));
        for value in &values[1..] {
            scheduler.names.adopt(id, &value.node);
            scheduler.remember(&value.node, id);
        }
    }
    let mut main = Body { arguments, steps: Vec::new(), results: Vec::new() };
    scheduler.symbols.unused("main".into());
    scheduler.fill(&mut main, results)?;
    Ok(Module { functions: scheduler.bodies()?, main, names: scheduler.names })
}

impl<'a> Scheduler<'a> {
    /// New numbers for the results of a node.
    fn number(&mut self, node: &'a Node) -> u32 {
        let id = self.names.add(node);
        self.remember(node, id);
        id
    }

    /// Remembers the number of a node's first result, until the block is left.
    fn remember(&mut self, node: &'a Node, id: u32) {
        self.numbered.push((node, node.mark.replace(Mark { walk: self.walk, id })));
    }

    /// The number of a value that is computed already.
    fn id(&self, value: &Value) -> u32 {
        debug_assert_eq!(value.node.mark.get().walk, self.walk);
        value.node.mark.get().id + value.result
    }

    /// Puts what the results need into a body, and the results.
    fn fill(&mut self, body: &mut Body<'a>, results: &'a [Value]) -> Result<()> {
        // Each node is met twice: its operands go on top of it first, then it is computed.
        let mut stack: Vec<(&'a Node, bool)> =
            results.iter().rev().map(|value| (&*value.node, false)).collect();
        while let Some((node, ready)) = stack.pop() {
            if node.mark.get().walk == self.walk {
                continue;
            }
            if ready {
                self.step(body, node)?;
                continue;
            }
            let op = match &node.kind {
                Kind::Op(_) => node,
                Kind::Input | Kind::Captured(_) | Kind::Arguments => {
                    // The operation on top of which it was put is the one that uses it.
                    let user = stack.iter().rev().find(|(_, ready)| *ready).map_or(node, |(node, _)| node);
                    return Err(match node.kind {
                        Kind::Input => self.other_graph(node, user),
                        Kind::Captured(_) => uncapturable(node, user),
                        _ => escaped(user),
                    });
                }
                Kind::Poison(poison) => return Err(Error::clone(&poison.error)),
            };
            stack.push((op, true));
            let open = node.blocks.iter().filter(|block| !block.closed);
            let captures = open.flat_map(|block| &block.captures);
            let first = stack.len();
            stack.extend(node.operands.iter().chain(captures).map(|value| (&*value.node, false)));
            stack[first..].reverse();
        }
        body.results = results.iter().map(|value| (self.id(value), value.aval())).collect();
        Ok(())
    }

    /// Appends an operation whose operands are computed, unless it is known already.
    fn step(&mut self, body: &mut Body<'a>, node: &'a Node) -> Result<()> {
        let Kind::Op(op) = &node.kind else { unreachable!("only operations are steps") };
        let operands: SmallVec<[u32; 4]> = node.operands.iter().map(|value| self.id(value)).collect();
        if op.pure {
            let hash = self.hash(node, op, &operands);
            let same = |known: &Known<'a>| {
                known.hash == hash
                    && known.op.text == op.text
                    && known.operands == operands
                    && known.node.results == node.results
                    && known.op.types == op.types
                    && same_function(known.op, op)
            };
            if let Some(known) = self.known.find(hash, same) {
                self.names.adopt(known.id, node);
                let id = known.id;
                self.remember(node, id);
                return Ok(());
            }
            let function = self.function(op);
            let id = self.number(node);
            let known = Known { hash, node, op, operands: operands.clone(), id };
            self.known.insert_unique(hash, known, |known| known.hash);
            self.computed.push((hash, id));
            body.steps.push(Step { node, op, id, operands, blocks: Vec::new(), function });
            return Ok(());
        }
        let blocks = node.blocks.iter().map(|block| self.block(block)).collect::<Result<_>>()?;
        let function = self.function(op);
        let id = self.number(node);
        body.steps.push(Step { node, op, id, operands, blocks, function });
        Ok(())
    }

    fn hash(&self, node: &Node, op: &Op, operands: &[u32]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(op.text.as_bytes());
        operands.hash(&mut hasher);
        if let Some(result) = node.results.first() {
            hasher.write_u8(result.dtype() as u8);
            result.shape().hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Schedules a block. What is computed in it is unknown outside; what is computed outside is known in it, unless it
    /// is closed.
    fn block(&mut self, block: &'a Block) -> Result<Body<'a>> {
        if block.closed { self.isolated(block) } else { self.inner(block) }
    }

    /// Schedules a function, or a block that uses nothing from outside. A node that stands outside too is computed again.
    fn isolated(&mut self, block: &'a Block) -> Result<Body<'a>> {
        let outer = (self.walk, std::mem::take(&mut self.known), std::mem::take(&mut self.computed));
        self.walk = walk::next();
        let body = self.inner(block);
        (self.walk, self.known, self.computed) = outer;
        body
    }

    fn inner(&mut self, block: &'a Block) -> Result<Body<'a>> {
        let (computed, numbered) = (self.computed.len(), self.numbered.len());
        let first = self.number(&block.arguments);
        let arguments = (first..).zip(&block.arguments.results).collect();
        let mut body = Body { arguments, steps: Vec::new(), results: Vec::new() };
        self.fill(&mut body, &block.results)?;
        for (hash, id) in self.computed.drain(computed..) {
            let known = self.known.find_entry(hash, |known| known.id == id);
            known.ok().map(|known| known.remove());
        }
        for (node, before) in self.numbered.drain(numbered..).rev() {
            node.mark.set(before);
        }
        Ok(body)
    }

    /// The number of the called function.
    fn function(&mut self, op: &'a Op) -> Option<usize> {
        let definition = op.function.as_ref()?;
        let next = self.functions.len();
        let number = *self.called.entry(definition.address()).or_insert(next);
        if number == next {
            let name = self.symbols.unused(symbol(definition.name()));
            self.functions.push((name, definition));
        }
        Some(number)
    }

    /// The functions, scheduled one after the other, since one may call another that calls a third.
    fn bodies(&mut self) -> Result<Vec<Function<'a>>> {
        let mut bodies = Vec::new();
        while let Some((name, definition)) = self.functions.get(bodies.len()).cloned() {
            let body = match definition {
                Definition::Built(body) => FunctionBody::Built(self.isolated(&body.block)?),
                Definition::Text(text) => self.text(text, &name),
            };
            bodies.push(Function { name, body });
        }
        Ok(bodies)
    }

    /// The functions of another program, whose `@main` is called `main` here.
    fn text(&mut self, text: &'a ModuleText, main: &str) -> FunctionBody<'a> {
        let symbols = text.symbols().iter().map(|name| match &name[..] {
            "main" => main.to_owned(),
            name => self.symbols.unused(symbol(name)),
        });
        let symbols = symbols.collect();
        let aliases = text.aliases().iter().map(|name| self.aliases.unused(name.clone())).collect();
        FunctionBody::Text { text, symbols, aliases }
    }

    #[cold]
    fn other_graph(&self, node: &Node, user: &Node) -> Error {
        let name = node.names.borrow().first().map(|(_, name)| name.to_string()).unwrap_or_default();
        let reason = match node.scope {
            Some(ScopeId::SLOTS) => "it is a slot, which only a skeleton gives data to",
            Some(scope) if !scope.is_live() => {
                "its graph has ended; a value cannot be kept for another program"
            }
            Some(scope) if scope != self.scope => "it is an input of another graph",
            _ => "it is no input of this program",
        };
        Error::Graph { operation: format!("input({name})"), reason: reason.into(), at: user.at.to_string() }
    }
}

fn same_function(a: &Op, b: &Op) -> bool {
    match (&a.function, &b.function) {
        (Some(a), Some(b)) => a.same(b),
        (None, None) => true,
        _ => false,
    }
}

#[cold]
fn uncapturable(node: &Node, user: &Node) -> Error {
    let name = node.names.borrow().first().map(|(_, name)| format!(", {name}")).unwrap_or_default();
    let aval = &node.results[0];
    let operation = format!("capture({}{name})", short(aval.dtype(), aval.shape()));
    let reason = "an array is captured by a skeleton only; for a family or a graph it has to be an argument";
    Error::Graph { operation, reason: reason.into(), at: user.at.to_string() }
}

#[cold]
fn escaped(user: &Node) -> Error {
    let operation = match &user.kind {
        Kind::Op(op) => op.text.split([' ', '(']).next().unwrap_or_default().trim_matches('"').to_owned(),
        _ => "a result".to_owned(),
    };
    let reason = "an argument of a loop, a branch or a function is used outside of it".into();
    Error::Graph { operation, reason, at: user.at.to_string() }
}
