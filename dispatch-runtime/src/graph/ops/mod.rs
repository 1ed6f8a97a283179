//! The operations: what each takes, what it gives, and how it is printed.

mod broadcast;
mod compare;
mod convert;
mod elementwise;
mod operators;
