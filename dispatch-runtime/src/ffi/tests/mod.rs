mod by_hand;
mod by_hand_more;
pub(super) mod declare;
mod decode;
mod fuzz;
mod header;
mod pattern;
