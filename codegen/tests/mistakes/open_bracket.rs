mod r_families;

fn name() {
    if true {
}
