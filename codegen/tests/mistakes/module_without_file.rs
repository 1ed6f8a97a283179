mod r_families;
mod fits;
mod tools {
    mod inner;
}
