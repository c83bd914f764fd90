//! How a genuine request is bent: bytes, headers, the URL, the clock, the secrets, and what breaks
//! readers: deep JSON, huge numbers, odd UTF-8, thousands of items, separators of forms.

use arbitrary::{Result, Unstructured};
use providers::{Provider, Secret};

use super::senders::{SENDERS, Sender};
use crate::case::Case;

/// Bytes that a bend may bring a request to.
const SIZE_MAX: usize = 128 << 10;

/// Pieces that are put into bodies, URLs and headers.
const PIECES: &[&[u8]] = &[
    b"",
    b" ",
    b"\0",
    b"\r\n",
    b"\n",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"{}",
    b"[]",
    b",",
    b":",
    b"&",
    b"=",
    b"%",
    b"+",
    b";",
    b"%00",
    b"%zz",
    b"%4",
    b"%2526",
    b"&&",
    b"a=&=b",
    b"null",
    b"true",
    b"-0",
    b"0",
    b"1e400",
    b"-1e-400",
    b"99999999999999999999",
    b"9223372036854775808",
    b"18446744073709551616",
    b"1.7976931348623157e309",
    b"0.1",
    b"\"\\u0000\"",
    b"\"\\ud800\"",
    b"\"\\uD83D\\uDE00\"",
    b"\xff\xfe",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    "\u{feff}".as_bytes(),
    "\u{202e}\u{661}\u{ff11}".as_bytes(),
    b"{\"a\":1,\"a\":2}",
    b"{\"$serde_json::private::Number\":\"1\"}",
    b"{\"$serde_json::private::RawValue\":\"1\"}",
    b"<!DOCTYPE a [<!ENTITY b \"c\">]>",
    b"<a>&b;</a>",
    b"sha256=",
    b"v1=",
    b"v1,",
    b"t=1,t=2",
    b"Bearer ",
    b"Basic Og==",
    b"eyJhbGciOiJub25lIn0.e30.",
    b"2026-01-01T00:00:00Z",
    b"9999-12-31T23:59:59Z",
    b"-9999-01-01T00:00:00Z",
    b"application/x-www-form-urlencoded",
    b"application/cloudevents-batch+json",
    b"payload=%7B%7D",
    b"-----BEGIN CERTIFICATE-----",
];

/// A text of the input: letters as they come, or one of the pieces.
pub fn text(input: &mut Unstructured<'_>) -> Result<String> {
    match input.arbitrary()? {
        true => Ok(String::from_utf8_lossy(input.choose(PIECES)?).into_owned()),
        false => input.arbitrary::<&str>().map(str::to_owned),
    }
}

/// Bends a request once, as the input says.
pub fn bend(input: &mut Unstructured<'_>, sender: &Sender, case: &mut Case) -> Result<()> {
    match input.int_in_range(0..=9)? {
        0..=3 => case.body = bytes(input, &case.body)?,
        4 => headers(input, &mut case.headers)?,
        5 => header(input, &mut case.headers)?,
        6 => {
            let url = bytes(input, case.url.as_bytes())?;
            case.url = String::from_utf8_lossy(&url[..url.len().min(4_096)]).into_owned();
        }
        7 => case.now_s = moment(input, case.now_s)?,
        8 => secrets(input, &mut case.secrets)?,
        _ => foreign(input, sender.provider, case)?,
    }
    Ok(())
}

/// A header value near another one.
pub fn header_value(input: &mut Unstructured<'_>, value: &[u8]) -> Result<Vec<u8>> {
    match input.arbitrary()? {
        true => bytes(input, value),
        false => Ok(input.bytes(input.len())?.to_vec()),
    }
}

fn range(input: &mut Unstructured<'_>, length: usize) -> Result<std::ops::Range<usize>> {
    let from = input.int_in_range(0..=length)?;
    Ok(from..input.int_in_range(from..=length)?)
}

fn bytes(input: &mut Unstructured<'_>, text: &[u8]) -> Result<Vec<u8>> {
    let mut text = text.to_vec();
    let at = input.int_in_range(0..=text.len())?;
    match input.int_in_range(0..=9)? {
        0 => {
            let bit = input.int_in_range(0..=7)?;
            text.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << bit);
        }
        1 => drop(text.splice(at..at, input.choose(PIECES)?.iter().copied())),
        2 => drop(text.splice(range(input, text.len())?, input.choose(PIECES)?.iter().copied())),
        3 => drop(text.drain(range(input, text.len())?)),
        4 => text.truncate(at),
        5 => {
            let length = input.int_in_range(0..=64)?.min(input.len());
            drop(text.splice(at..at, input.bytes(length)?.iter().copied()));
        }
        6 => return repeated(input, text),
        7 => return item_repeated(input, text),
        8 => {
            let depth = *input.choose(&[1, 100, 127, 128, 129, 30_000])?;
            let (open, close) = *input.choose(&[("[", "]"), ("{\"a\":", "}"), ("[", "")])?;
            let nest = [open.repeat(depth), "1".to_owned(), close.repeat(depth)].concat();
            drop(text.splice(range(input, text.len().min(64))?, nest.into_bytes()));
        }
        _ => {
            // A number, of any length, in place of the digits that stand next.
            let from =
                text.iter().skip(at).position(u8::is_ascii_digit).map_or(at, |skip| at + skip);
            let digits = text.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
            let length = *input.choose(&[1, 9, 10, 13, 16, 19, 20, 400, 20_000])?;
            drop(text.splice(from..from + digits, vec![b'9'; length]));
        }
    }
    text.truncate(SIZE_MAX);
    Ok(text)
}

/// A piece of the text over and over.
fn repeated(input: &mut Unstructured<'_>, mut text: Vec<u8>) -> Result<Vec<u8>> {
    let piece = range(input, text.len())?;
    let count = *input.choose(&[1, 2, 16, 1_001, 10_001])?;
    let copy = text[piece.clone()].repeat(count.min(SIZE_MAX / piece.len().max(1)));
    drop(text.splice(piece.end..piece.end, copy));
    Ok(text)
}

/// The first item of an array over and over, as in a batch.
fn item_repeated(input: &mut Unstructured<'_>, mut text: Vec<u8>) -> Result<Vec<u8>> {
    let starts: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'[').collect();
    let chosen = input.int_in_range(0..=starts.len().max(1) - 1)?;
    let count = *input.choose(&[1, 2, 100, 1_001, 10_001])?;
    if let Some(start) = starts.get(chosen) {
        fill(&mut text, *start, count);
        text.truncate(SIZE_MAX);
    }
    Ok(text)
}

/// Puts copies of its first item into the array that begins at `start`.
pub fn fill(text: &mut Vec<u8>, start: usize, count: usize) {
    let items = serde_json::Deserializer::from_slice(&text[start + 1..]);
    let first = items.into_iter::<&serde_json::value::RawValue>().next();
    if let Some(Ok(item)) = first {
        let copies = format!("{},", item.get()).repeat(count);
        drop(text.splice(start + 1..=start, copies.into_bytes()));
    }
}

fn headers(input: &mut Unstructured<'_>, headers: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    if headers.is_empty() {
        return Ok(());
    }
    let index = input.choose_index(headers.len())?;
    match input.int_in_range(0..=5)? {
        0 => drop(headers.remove(index)),
        1 => headers.push(headers[index].clone()),
        2 => headers.extend(vec![headers[index].clone(); 1_000]),
        3 => {
            let other = input.choose_index(headers.len())?;
            headers.swap(index, other);
        }
        4 => headers[index].1 = headers[input.choose_index(headers.len())?].1.clone(),
        _ => headers[index].0 = text(input)?.to_ascii_lowercase(),
    }
    Ok(())
}

fn header(input: &mut Unstructured<'_>, headers: &mut [(String, Vec<u8>)]) -> Result<()> {
    if !headers.is_empty() {
        let index = input.choose_index(headers.len())?;
        headers[index].1 = bytes(input, &headers[index].1)?;
    }
    Ok(())
}

fn moment(input: &mut Unstructured<'_>, now_s: i64) -> Result<i64> {
    let skew_s = *input.choose(&[1, -1, 299, 300, 301, -300, -301, 86_400, 1 << 40])?;
    let ends = [i64::MIN, i64::MAX, 0, -1];
    Ok(match input.ratio(1_u8, 4_u8)? {
        true => *input.choose(&ends)?,
        false => now_s.saturating_add(skew_s),
    })
}

fn secrets(input: &mut Unstructured<'_>, secrets: &mut Vec<Secret>) -> Result<()> {
    let bent = match secrets.first() {
        Some(secret) => bytes(input, secret.expose().as_bytes())?,
        None => Vec::new(),
    };
    let other = Secret::new(&String::from_utf8_lossy(&bent));
    match input.int_in_range(0..=3)? {
        0 => secrets.clear(),
        1 => *secrets = other.into_iter().collect(),
        2 => secrets.extend(other),
        _ => secrets.splice(0..0, other).for_each(drop),
    }
    Ok(())
}

/// Puts in the body, the headers or the keys of another request, of this sender or of any.
fn foreign(input: &mut Unstructured<'_>, provider: &dyn Provider, case: &mut Case) -> Result<()> {
    let own = |sender: &&Sender| sender.provider.name() == provider.name();
    let any = input.choose(&SENDERS)?;
    let from = match input.arbitrary()? {
        true => SENDERS.iter().find(own).unwrap_or(any),
        false => any,
    };
    let other = input.choose(&from.cases)?;
    match input.int_in_range(0..=3)? {
        0 => case.body.clone_from(&other.body),
        1 => case.headers.clone_from(&other.headers),
        2 => case.headers.extend(other.headers.iter().cloned()),
        _ => case.keys.clone_from(&other.keys),
    }
    Ok(())
}
