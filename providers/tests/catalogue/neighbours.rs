//! From each genuine vector every near miss is made and must be refused: bytes of the body bent,
//! proof headers gone, emptied, doubled, bent and cut, and the URL bent where it is signed.

use std::ops::Range;

use providers::{Coverage, Provider};

use crate::case::Case;
use crate::file::{Decides, File};
use crate::proofs::{battery, valid};

/// Another character of the same class, so that a bent signature is still well-formed.
fn bent(byte: u8) -> u8 {
    match byte {
        b'0'..=b'8' | b'a'..=b'e' | b'g'..=b'y' | b'A'..=b'E' | b'G'..=b'Y' => byte + 1,
        b'9' => b'0',
        b'f' => b'a',
        b'F' => b'A',
        _ => b'x',
    }
}

fn is_proof(file: &File, case: &Case, name: &str) -> bool {
    case.proof.as_ref().unwrap_or(&file.proof.headers).iter().any(|header| header == name)
}

/// Whether the proof may do without a header.
fn is_elsewhere(file: &File, case: &Case) -> bool {
    file.proof.in_body || file.proof.url || case.by_url
}

/// Whether a request stands without this line of a header that its sender repeats: the line is for
/// another secret, and may change as it likes.
fn is_spare(provider: &dyn Provider, file: &File, case: &Case, index: usize) -> bool {
    let mut without = case.clone();
    let (header, _) = without.headers.remove(index);
    file.proof.repeatable.contains(&header) && without.proved(provider)
}

#[test]
fn a_bent_body_is_refused_exactly_where_the_proof_covers_it() {
    valid(|provider, name, file, case| {
        let covered = case.coverage(provider) == Some(Coverage::Body) || file.proof.by_checksum;
        // A proof in the body covers some of its fields and leaves the others open.
        let partly =
            file.proof.in_body && !case.headers.iter().any(|(n, _)| is_proof(file, case, n));
        let mut decided = 0;
        let mut check = |other: Case, what: &str| {
            let proved = other.proved(provider);
            decided += usize::from(!proved);
            assert!(partly || proved != covered, "{name}: {what}");
        };
        let stride = case.body.len() / 400 + 1;
        for at in (0..case.body.len()).step_by(stride) {
            let mut other = case.clone();
            other.body[at] ^= 1;
            check(other, &format!("body byte {at}"));
        }
        for extra in [&b" "[..], b"\n", b"\0"] {
            let mut other = case.clone();
            other.body.extend_from_slice(extra);
            check(other, &format!("body longer by {extra:?}"));
        }
        let mut other = case.clone();
        if other.body.pop().is_some() {
            check(other, "body cut");
        }
        assert!(!partly || decided > 16, "{name}: {decided} bytes decide");
    });
}

#[test]
fn the_headers_without_which_a_request_is_refused_are_those_of_the_proof() {
    valid(|provider, name, file, case| {
        for (index, (header, _)) in case.headers.iter().enumerate() {
            if is_spare(provider, file, case, index) {
                continue;
            }
            let mut gone = case.clone();
            gone.headers.remove(index);
            let refused = !gone.proved(provider);
            assert_eq!(
                refused,
                is_proof(file, case, header),
                "{name}: {header}: vectors: proof.headers"
            );
        }
        let proofs = case.headers.iter().filter(|(header, _)| is_proof(file, case, header)).count();
        let elsewhere = is_elsewhere(file, case);
        assert!(proofs > 0 || elsewhere, "{name}: it has no header of the proof");
    });
}

#[test]
fn a_proof_header_that_is_emptied_or_doubled_is_refused() {
    valid(|provider, name, file, case| {
        for (index, (header, value)) in case.headers.iter().enumerate() {
            if !is_proof(file, case, header) {
                continue;
            }
            assert!(!case.with_header(index, b"").proved(provider), "{name}: {header} empty");
            assert!(!case.with_header(index, b" ").proved(provider), "{name}: {header} blank");
            if file.proof.repeatable.contains(header) {
                continue;
            }
            let mut doubled = case.clone();
            doubled.headers.push((header.clone(), value.clone()));
            assert!(!doubled.proved(provider), "{name}: {header} twice");
            doubled.headers.last_mut().unwrap().1 = b"x".to_vec();
            assert!(!doubled.proved(provider), "{name}: {header} and another");
            doubled.headers.swap(index, case.headers.len());
            assert!(!doubled.proved(provider), "{name}: another and {header}");
        }
    });
}

#[test]
fn a_proof_header_bent_in_any_character_is_refused() {
    valid(|provider, name, file, case| {
        let mut bends = 0;
        for (index, (header, value)) in case.headers.iter().enumerate() {
            if !is_proof(file, case, header) || is_spare(provider, file, case, index) {
                continue;
            }
            for entry in deciding_entries(provider, file, case, index) {
                for at in entry.clone() {
                    for other in [bent(value[at]), b' ', 0xff] {
                        let mut changed = value.clone();
                        changed[at] = other;
                        let case = case.with_header(index, &changed);
                        let same = changed.eq_ignore_ascii_case(value);
                        assert!(same || !case.proved(provider), "{name}: {header} at {at}");
                        bends += 1;
                    }
                    let mut cut = value.clone();
                    cut.drain(at..entry.end);
                    let case = case.with_header(index, &cut);
                    assert!(!case.proved(provider), "{name}: {header} cut at {at}");
                }
            }
        }
        let elsewhere = is_elsewhere(file, case);
        assert!(bends > 30 || elsewhere, "{name}: only {bends} characters decide");
    });
}

/// Ranges of a header's entries without which the request is refused. Other entries are there
/// for another secret or scheme, and may change as they like.
fn deciding_entries(
    provider: &dyn Provider,
    file: &File,
    case: &Case,
    header: usize,
) -> Vec<Range<usize>> {
    let value = &case.headers[header].1;
    let mut entries = Vec::new();
    let mut start = 0;
    for entry in value.split(|byte| char::from(*byte) == file.proof.separator) {
        let range = start..start + entry.len();
        start = range.end + 1;
        let mut without = value.clone();
        without.drain(range.clone());
        if !case.with_header(header, &without).proved(provider) {
            entries.push(range);
        }
    }
    entries
}

#[test]
fn a_bent_url_is_refused_exactly_where_it_is_signed() {
    battery(|provider, name, file, vector, case| {
        if vector.expect != "valid" {
            return;
        }
        let all = if file.proof.url { Decides::All } else { Decides::None };
        let decides = vector.url_decides.unwrap_or(all);
        // Scheme, host and port are compared leniently by some senders; path and query are not.
        let path = case.url.match_indices('/').nth(2).map_or(case.url.len(), |(at, _)| at);
        let mut others = vec![format!("{}x", case.url)];
        for at in path..case.url.len() {
            let mut url = case.url.clone().into_bytes();
            url[at] = bent(url[at]);
            others.push(String::from_utf8(url).unwrap());
        }
        let refused =
            |url: &&String| !Case { url: (*url).clone(), ..case.clone() }.proved(provider);
        let refused = others.iter().filter(refused).count();
        match decides {
            Decides::All => assert_eq!(refused, others.len(), "{name}: a bent URL passes"),
            Decides::Some => assert!(refused > 8, "{name}: only {refused} characters decide"),
            Decides::None => assert_eq!(refused, 0, "{name}: the URL decides; vectors: proof.url"),
        }
    });
}
