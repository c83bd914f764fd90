//! The few HTML entities that WordPress decodes in a secret. All others stand for themselves.

/// The text with its entities decoded, each once: `&amp;lt;` becomes `&lt;`.
pub(super) fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (letter, after) = match after.split_once(';') {
            Some((name, after)) if letter(name).is_some() => (letter(name), after),
            _ => (None, after),
        };
        out.push(letter.unwrap_or('&'));
        rest = after;
    }
    out + rest
}

fn letter(name: &str) -> Option<char> {
    match name {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        _ => {}
    }
    let number = name.strip_prefix('#')?;
    match number.strip_prefix(['x', 'X']) {
        None => match number.trim_start_matches('0') {
            "34" => Some('"'),
            "38" => Some('&'),
            "39" => Some('\''),
            "60" => Some('<'),
            "62" => Some('>'),
            _ => None,
        },
        Some(hex) => match hex.trim_start_matches('0') {
            "22" => Some('"'),
            "26" => Some('&'),
            "27" => Some('\''),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn entities_are_decoded_once_and_only_those_of_wordpress() {
        for (text, plain) in [
            ("woo-secret", "woo-secret"),
            ("a&amp;b&lt;c&gt;d&quot;e&#039;f&#39;g&#x27;h&#X0027;", "a&b<c>d\"e'f'g'h'"),
            ("&#38;&#x26;&#034;&#x22;&#60;&#062;", "&&\"\"<>"),
            ("&amp;lt;", "&lt;"),
            ("a&b;c & &amp", "a&b;c & &amp"),
            ("&AMP;&apos;&#x3c;&#65;&#;&;", "&AMP;&apos;&#x3c;&#65;&#;&;"),
            ("&&amp;", "&&"),
        ] {
            assert_eq!(decoded(text), plain, "{text}");
        }
    }
}
