//! The text of a program.

use std::fmt::Write;

use super::super::value::Types;
use super::names::{Taken, identifier, symbol};
use super::schedule::{Body, FunctionBody, Module, Step};
use crate::Aval;

pub(super) fn write(name: Option<&str>, module: &Module<'_>) -> String {
    let steps = module.functions.iter().map(|function| match &function.body {
        FunctionBody::Built(body) => body.steps.len(),
        FunctionBody::Text { .. } => 0,
    });
    let operations = module.main.steps.len() + steps.sum::<usize>();
    let out = String::with_capacity(160 + 96 * operations);
    let names = (0..module.names.len()).map(|_| Text::Number(0)).collect();
    let mut writer = Writer { out, module, names, taken: Taken::default(), next: 0 };
    writer.module(name);
    writer.out
}

struct Writer<'a> {
    out: String,
    module: &'a Module<'a>,
    /// The text of each value, without `%`.
    names: Vec<Text>,
    /// The names and the number of unnamed values in this function so far.
    taken: Taken,
    next: u32,
}

/// A value without a name is a number.
enum Text {
    Name(String),
    Number(u32),
}

impl Writer<'_> {
    /// Chooses the names of a function's values in the order of its text.
    fn choose_names(&mut self, body: &Body<'_>) {
        body.arguments.iter().for_each(|(id, _)| self.choose_name(*id));
        for step in &body.steps {
            (step.id..).take(step.node.results.len()).for_each(|id| self.choose_name(id));
            step.blocks.iter().for_each(|block| self.choose_names(block));
        }
    }

    fn choose_name(&mut self, id: u32) {
        let Some(name) = self.module.names.get(id) else {
            self.names[id as usize] = Text::Number(self.next);
            self.next += 1;
            return;
        };
        self.names[id as usize] = Text::Name(self.taken.unused(identifier(name)));
    }

    fn module(&mut self, name: Option<&str>) {
        for function in &self.module.functions {
            if let FunctionBody::Text { text, symbols, aliases } = &function.body {
                text.write_aliases(&mut self.out, symbols, aliases);
            }
        }
        match name {
            Some(name) => {
                self.out.push_str("module @");
                self.out.push_str(&symbol(name));
                self.out.push_str(" {\n");
            }
            None => self.out.push_str("module {\n"),
        }
        for function in &self.module.functions {
            match &function.body {
                FunctionBody::Built(body) => self.function("private", &function.name, body),
                FunctionBody::Text { text, symbols, aliases } => {
                    text.write_functions(&mut self.out, symbols, aliases);
                }
            }
        }
        self.function("public", "main", &self.module.main);
        self.out.push_str("}\n");
    }

    fn function(&mut self, visibility: &str, name: &str, body: &Body<'_>) {
        self.taken = Taken::default();
        self.next = 0;
        self.choose_names(body);
        let _ = write!(self.out, "  func.func {visibility} @{name}(");
        self.arguments(body);
        self.out.push_str(") -> (");
        self.types(body.results.iter().map(|(_, aval)| *aval));
        self.out.push_str(") {\n");
        self.body(body, "return", 4);
        self.out.push_str("  }\n");
    }

    fn arguments(&mut self, body: &Body<'_>) {
        for (i, (id, aval)) in body.arguments.iter().enumerate() {
            self.out.push_str(if i > 0 { ", " } else { "" });
            self.value(*id);
            self.out.push_str(": ");
            self.ty(aval);
        }
    }

    fn body(&mut self, body: &Body<'_>, end: &str, indent: usize) {
        for step in &body.steps {
            self.step(step, indent);
        }
        self.indent(indent);
        self.out.push_str(end);
        for (i, (id, _)) in body.results.iter().enumerate() {
            self.out.push_str(if i > 0 { ", " } else { " " });
            self.value(*id);
        }
        if !body.results.is_empty() {
            self.out.push_str(" : ");
            self.types(body.results.iter().map(|(_, aval)| *aval));
        }
        self.out.push('\n');
    }

    fn step(&mut self, step: &Step<'_>, indent: usize) {
        self.indent(indent);
        let count = step.node.results.len() as u32;
        for i in 0..count {
            self.out.push_str(if i > 0 { ", " } else { "" });
            self.value(step.id + i);
        }
        if count > 0 {
            self.out.push_str(" = ");
        }
        self.operation(step, indent);
        self.out.push_str(" : ");
        if let (Types::Same, [only]) = (step.op.types, &step.node.results[..]) {
            self.ty(only);
        } else {
            self.out.push('(');
            self.types(step.node.operands.iter().map(|value| value.aval()));
            self.out.push_str(") -> ");
            match &step.node.results[..] {
                [only] => self.ty(only),
                many => {
                    self.out.push('(');
                    self.types(many);
                    self.out.push(')');
                }
            }
        }
        self.out.push('\n');
    }

    /// Writes an operation's text with its operands, blocks and function in their places.
    fn operation(&mut self, step: &Step<'_>, indent: usize) {
        let mut parts = step.op.text.split('$');
        self.out.push_str(parts.next().unwrap_or_default());
        let mut dollar = false;
        for part in parts {
            // `$$` leaves an empty part behind.
            if part.is_empty() && !dollar {
                self.out.push('$');
                dollar = true;
                continue;
            }
            if std::mem::take(&mut dollar) {
                self.out.push_str(part);
                continue;
            }
            let (kind, rest) = match part.as_bytes()[0] {
                letter @ (b'r' | b'f') => (letter, &part[1..]),
                _ => (b'v', part),
            };
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let index = rest[..digits].bytes().fold(0, |n, digit| 10 * n + usize::from(digit - b'0'));
            match kind {
                b'r' => self.block(&step.blocks[index], indent),
                b'f' => {
                    let function = step.function.expect("a call has a function");
                    self.out.push_str(&self.module.functions[function].name);
                }
                _ => self.value(step.operands[index]),
            }
            self.out.push_str(&rest[digits..]);
        }
    }

    fn block(&mut self, body: &Body<'_>, indent: usize) {
        self.out.push_str("{\n");
        if !body.arguments.is_empty() {
            self.indent(indent);
            self.out.push_str("^bb0(");
            self.arguments(body);
            self.out.push_str("):\n");
        }
        self.body(body, "stablehlo.return", indent + 2);
        self.indent(indent);
        self.out.push('}');
    }

    fn value(&mut self, id: u32) {
        self.out.push('%');
        match &self.names[id as usize] {
            Text::Name(name) => self.out.push_str(name),
            Text::Number(number) => decimal(u64::from(*number), &mut self.out),
        }
    }

    fn types<'a>(&mut self, types: impl IntoIterator<Item = &'a Aval>) {
        for (i, aval) in types.into_iter().enumerate() {
            self.out.push_str(if i > 0 { ", " } else { "" });
            self.ty(aval);
        }
    }

    fn ty(&mut self, aval: &Aval) {
        self.out.push_str("tensor<");
        for &n in aval.shape() {
            decimal(n as u64, &mut self.out);
            self.out.push('x');
        }
        self.out.push_str(aval.dtype().mlir());
        self.out.push('>');
    }

    fn indent(&mut self, n: usize) {
        const SPACES: &str = "                                ";
        let mut left = n;
        while left > 0 {
            let some = left.min(SPACES.len());
            self.out.push_str(&SPACES[..some]);
            left -= some;
        }
    }
}

/// Writes a number: most of a program's text are numbers, and the general formatter takes its time.
fn decimal(mut n: u64, out: &mut String) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.push_str(std::str::from_utf8(&digits[at..]).expect("digits are ASCII"));
}
