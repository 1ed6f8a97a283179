# What the C interface tells of a buffer.
about <- function(buffer) .Call(borrower_about, buffer)
client_of <- function(platform) .Call(borrower_client_of, platform)
device_of <- function(device) .Call(borrower_device_of, device)
is_buffer <- function(x) .Call(borrower_is_buffer, x)
# A buffer of doubles that this package uploads; it is given away, or kept until the last reference goes.
give <- function(x, device) .Call(borrower_give, x, device)
lend <- function(x, device) .Call(borrower_lend, x, device)
lent <- function() .Call(borrower_lent)
# Holds a reference to a buffer, and lets it go.
hold <- function(buffer) .Call(borrower_hold, buffer)
let_go <- function(held) .Call(borrower_let_go, held)
donation <- function(buffer, what) .Call(borrower_donation, buffer, what)
# What is wrong on purpose.
give_wrong <- function(what) .Call(borrower_give_wrong, what)
ask_version <- function(version) .Call(borrower_ask_version, version)
code_of_error <- function(x) .Call(borrower_code_of_error, x)
on_other_thread <- function(buffer) .Call(borrower_on_other_thread, buffer)
# Functions that programs call: a pointer to one, and what the table says of them.
handler <- function(thrice = FALSE) .Call(borrower_handler, thrice)
register <- function(target, platform = "cpu", owner = "the borrower") .Call(borrower_register, target, platform, owner)
owner_of <- function(target) .Call(borrower_owner, target)
remove_of <- function(owner, target = NULL) .Call(borrower_remove, owner, target)
register_own <- function(target, thrice = FALSE) pjrt_register_custom_call(target, list(host = handler(thrice)))
