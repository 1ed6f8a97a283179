//! Every public operation has a case.
