mod by_hand;
mod by_hand_more;
mod declare;
mod decode;
mod fuzz;
mod header;
mod pattern;
