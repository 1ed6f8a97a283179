//! Reading an attribute that MLIR writes, as far as a handler can be given it.
//!
//! Of what else MLIR has, the compiler refuses most without a word on which attribute it was, and crashes of `index`. So
//! whatever is not read here does not reach it.

use super::attribute::{Attribute, Dictionary, Kind, Number, NumberType};

/// What a handler can read.
const WANTED: &str = "a handler reads bool, i8 to i64, ui8 to ui64, f32, f64, strings, arrays of those numbers, and dictionaries";

/// The attribute that a text is, or why no handler gets it.
pub(super) fn read(text: &str) -> Result<Kind, String> {
    let mut reader = Reader { rest: text, depth: 0 };
    let kind = reader.attribute()?;
    reader.space();
    match reader.rest {
        "" => Ok(kind),
        rest => Err(format!("`{rest}` behind the attribute")),
    }
}

struct Reader<'a> {
    rest: &'a str,
    /// How many dictionaries are open.
    depth: usize,
}

/// How deep dictionaries may be nested: what reads them needs stack for each.
pub(super) const DEEPEST: usize = 100;

/// What is said of dictionaries that are nested deeper.
pub(super) fn too_deep() -> String {
    format!("more than {DEEPEST} dictionaries inside of each other")
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes a sign, if it comes next.
    fn take(&mut self, sign: &str) -> bool {
        self.space();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.take(sign) { Ok(()) } else { Err(format!("expected `{sign}` before `{}`", self.rest)) }
    }

    /// The signs up to the first of another kind; may be none.
    fn word(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        self.space();
        let end = self.rest.find(|c| !of(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn attribute(&mut self) -> Result<Kind, String> {
        self.space();
        match self.rest.chars().next() {
            Some('"') => {
                let text = self.string()?;
                if self.take(":") {
                    return Err("a string has no type".into());
                }
                Ok(Kind::Text(text))
            }
            Some('{') => self.dictionary(),
            Some('0'..='9' | '-') => self.number(),
            Some('[') => Err(format!("a list is none of what a handler can be given: {WANTED}")),
            Some('@') => Err(format!("a symbol is none of what a handler can be given: {WANTED}")),
            _ => self.named(),
        }
    }

    fn named(&mut self) -> Result<Kind, String> {
        let all = self.rest;
        match self.word(|c| c.is_ascii_alphanumeric() || c == '_') {
            "true" => Ok(Kind::Bool(true)),
            "false" => Ok(Kind::Bool(false)),
            "array" => self.array(),
            "unit" => Err(format!("a unit is none of what a handler can be given: {WANTED}")),
            "dense" => self.dense(),
            _ => Err(format!("`{all}` is none of what a handler can be given: {WANTED}")),
        }
    }

    fn ty(&mut self, array: bool) -> Result<NumberType, String> {
        let word = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        if let Some(ty) = NumberType::ALL.iter().find(|ty| ty.mlir() == word) {
            return Ok(*ty);
        }
        Err(match word {
            "index" => "the compiler crashes of an attribute of the type `index`; make it `i64`".into(),
            "i1" if array => format!("an array of `i1` reaches no handler: {WANTED}"),
            "f16" | "bf16" => format!("`{word}` reaches no handler; make it `f32`"),
            "complex" => "complex numbers reach no handler; give two numbers".into(),
            _ => {
                format!("`{word}{}` is no type that reaches a handler: {WANTED}", self.rest.trim_end())
            }
        })
    }

    fn array(&mut self) -> Result<Kind, String> {
        self.expect("<")?;
        let ty = self.ty(true)?;
        let mut numbers = Vec::new();
        if self.take(":") {
            loop {
                numbers.push(number(self.literal(), ty)?);
                if !self.take(",") {
                    break;
                }
            }
        }
        self.expect(">")?;
        Ok(Kind::Numbers(ty, numbers))
    }

    /// A tensor with one dimension whose numbers are listed, which is the same to a handler as an array.
    fn dense(&mut self) -> Result<Kind, String> {
        let wrong = || "a handler gets no such `dense`; write `array<i64: 1, 2>`".to_owned();
        self.expect("<")?;
        let mut literals = Vec::new();
        if self.take("[") {
            loop {
                literals.push(self.literal());
                if !self.take(",") {
                    break;
                }
            }
            self.expect("]").map_err(|_| wrong())?;
        }
        let whole = self.take(">") && self.take(":") && self.take("tensor") && self.take("<");
        self.space();
        let (size, rest) = self.rest.split_once('x').filter(|_| whole).ok_or_else(wrong)?;
        if size.parse() != Ok(literals.len()) {
            return Err(wrong());
        }
        self.rest = rest;
        let ty = self.ty(true)?;
        self.expect(">").map_err(|_| wrong())?;
        let numbers = literals.into_iter().map(|literal| number(literal, ty)).collect::<Result<_, _>>()?;
        Ok(Kind::Numbers(ty, numbers))
    }

    fn literal(&mut self) -> &'a str {
        self.space();
        let start = self.rest;
        self.take("-");
        let digits = self.word(|c| c.is_ascii_alphanumeric() || c == '.');
        // The exponent of a float has a sign of its own.
        if !digits.starts_with("0x") && digits.ends_with(['e', 'E']) {
            let _ = self.take("-") || self.take("+");
            self.word(|c| c.is_ascii_digit());
        }
        &start[..start.len() - self.rest.len()]
    }

    fn number(&mut self) -> Result<Kind, String> {
        let literal = self.literal();
        if !self.take(":") {
            let float = !literal.starts_with("0x") && literal.contains(['.', 'e', 'E']);
            let ty = if float { NumberType::F64 } else { NumberType::I64 };
            return number(literal, ty).map(Kind::Number);
        }
        let before = self.rest;
        if self.word(|c| c.is_ascii_alphanumeric()) == "i1" {
            return match literal {
                "0" => Ok(Kind::Bool(false)),
                "1" | "-1" => Ok(Kind::Bool(true)),
                _ => Err(format!("`{literal}` is no `i1`")),
            };
        }
        self.rest = before;
        let ty = self.ty(false)?;
        number(literal, ty).map(Kind::Number)
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect("\"")?;
        let mut bytes = Vec::new();
        let mut all = self.rest.bytes().enumerate();
        while let Some((at, byte)) = all.next() {
            match byte {
                b'"' => {
                    self.rest = &self.rest[at + 1..];
                    return String::from_utf8(bytes).map_err(|_| "a string that is no UTF-8".into());
                }
                b'\\' => {
                    let Some((_, escaped)) = all.next() else { break };
                    bytes.push(match escaped {
                        b'"' | b'\\' => escaped,
                        b'n' => b'\n',
                        b't' => b'\t',
                        _ => {
                            let second = all.next().map_or(' ', |(_, byte)| byte as char).to_digit(16);
                            let digits = (escaped as char).to_digit(16).zip(second);
                            let (high, low) =
                                digits.ok_or("`\\` in a string without two digits behind it")?;
                            (16 * high + low) as u8
                        }
                    });
                }
                byte => bytes.push(byte),
            }
        }
        Err("a string without its end".into())
    }

    fn dictionary(&mut self) -> Result<Kind, String> {
        self.expect("{")?;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(too_deep());
        }
        let mut entries: Vec<(String, Attribute)> = Vec::new();
        while !self.take("}") {
            if !entries.is_empty() {
                self.expect(",")?;
            }
            self.space();
            let name = match self.rest.starts_with('"') {
                true => self.string()?,
                false => self.word(|c| c.is_ascii_alphanumeric() || "_.$".contains(c)).to_owned(),
            };
            if name.is_empty() {
                return Err(format!("expected a name before `{}`", self.rest));
            }
            if !self.take("=") {
                return Err(format!(
                    "`{name}` without a value is a unit, which reaches no handler: {WANTED}"
                ));
            }
            if entries.iter().any(|(known, _)| *known == name) {
                return Err(format!("`{name}` stands twice in a dictionary"));
            }
            let kind = self.attribute().map_err(|reason| format!("`{name}`: {reason}"))?;
            entries.push((name, Attribute(kind)));
        }
        self.depth -= 1;
        Ok(Kind::Dictionary(Dictionary(entries)))
    }
}

/// A number as MLIR writes it in a type: floats also by their bits.
fn number(literal: &str, ty: NumberType) -> Result<Number, String> {
    let wrong = || format!("`{literal}` is no `{}`", ty.mlir());
    let (negative, digits) = match literal.strip_prefix('-') {
        Some(digits) => (true, digits.trim_start()),
        None => (false, literal),
    };
    let float = matches!(ty, NumberType::F32 | NumberType::F64);
    if let Some(hex) = digits.strip_prefix("0x") {
        let bits = u64::from_str_radix(hex, 16).map_err(|_| wrong())?;
        if float {
            let fits = !negative && hex.len() == ty.width() as usize / 4;
            return fits.then(|| Number::of_bits(ty, bits)).ok_or_else(wrong);
        }
        let n = if negative { -i128::from(bits) } else { i128::from(bits) };
        // As many bits as the type has are one of its numbers, a negative one too.
        let wrapped = if negative { n } else { n - (1 << ty.width()) };
        return Number::of_integer(ty, n).or_else(|| Number::of_integer(ty, wrapped)).ok_or_else(wrong);
    }
    if float {
        let x: f64 = digits.parse().map_err(|_| wrong())?;
        return Number::of_float(ty, if negative { -x } else { x }, true).ok_or_else(wrong);
    }
    let n: i128 = digits.parse().map_err(|_| wrong())?;
    Number::of_integer(ty, if negative { -n } else { n }).ok_or_else(wrong)
}
