//! Pieces of configuration, to be put together with `+`. What a case is about it writes itself.

use super::stub::Stub;

/// A source of a provider's name, signed with its secret in [`super::SECRETS`]. Further keys may
/// follow.
pub fn source(provider: &str) -> String {
    named_source(provider, provider)
}

/// A source of any name.
pub fn named_source(name: &str, provider: &str) -> String {
    let secret = format!("env:{}_SECRET", provider.to_uppercase());
    format!("[sources.{name}]\nprovider = {provider:?}\nsecrets = [{secret:?}]\n")
}

/// The destination `out`, which is a stub. Further keys may follow.
pub fn out(stub: &Stub) -> String {
    destination("out", stub)
}

/// A destination of any name, which is a stub. It has no circuit: most cases are about what
/// becomes of each failure, however many there are.
pub fn destination(name: &str, stub: &Stub) -> String {
    let url = stub.url();
    format!("[destinations.{name}]\ntype = \"http\"\nurl = {url:?}\nallow_private = true\n")
        + "circuit.enabled = false\n"
}

/// A route. Further keys may follow.
pub fn route(source: &str, destination: &str) -> String {
    format!("[[routes]]\nsource = {source:?}\ndestination = {destination:?}\n")
}

/// All that it takes: one source, delivered to a stub. Further keys of the route may follow.
pub fn straight(provider: &str, stub: &Stub) -> String {
    source(provider) + &out(stub) + &route(provider, "out")
}

/// One source whose deliveries are recorded and go nowhere but the log.
pub fn logged(provider: &str) -> String {
    source(provider) + "[destinations.log]\ntype = \"log\"\n" + &route(provider, "log")
}
