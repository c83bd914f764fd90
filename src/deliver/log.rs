//! The destination `log`: one line for every delivery.
//!
//! It never writes a body or a header, and always accepts.

use crate::job::{Class, Lease, Outcome};

/// Writes the line. Texts of the sender are fields, which the formatter quotes and escapes.
pub(super) fn deliver(lease: &Lease) -> Outcome {
    let parcel = &*lease.delivery;
    tracing::info!(
        delivery = parcel.id.0,
        source = parcel.source.as_str(),
        key = parcel.key.as_str(),
        kind = parcel.kind.as_str(),
        entity = parcel.entity.as_deref(),
        attempt = lease.attempt,
        bytes = parcel.body_bytes,
        "delivered to the log"
    );
    Outcome::new(Class::Accepted, "logged")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::sample;
    use std::io;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn one_line_with_the_facts_and_without_the_content() {
        let written = Written::default();
        let writer = written.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        let mut lease = sample::lease(b"the-body");
        Arc::make_mut(&mut lease.delivery).entity = Some("a\nERROR forged".into());
        let outcome = tracing::subscriber::with_default(subscriber, || deliver(&lease));
        assert_eq!(outcome.class, Class::Accepted);
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        for fact in ["delivery=1042", "7d3c0082", "push", "attempt=3", "bytes=8"] {
            assert!(text.contains(fact), "{fact} is not in {text}");
        }
        assert!(!text.contains("the-body") && !text.contains("application/json"), "{text}");
    }
}
