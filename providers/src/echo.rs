//! Tokens that a handshake gives back, or signs. Whoever asks chooses them, so they are short and
//! of an alphabet in which nothing else can be written: no JSON, no markup, no header line and no
//! `v0:{time}:{body}`. What is signed for a stranger can then never pass for an event.

use crate::Reply;

/// Characters of a token; the senders' own have 10 to 64.
const TOKEN_CHARS_MAX: usize = 128;

/// A token of letters, digits and the marks of base64 and of URLs; `None` for anything else.
pub(crate) fn token(text: &[u8]) -> Option<&str> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
    let short = (1..=TOKEN_CHARS_MAX).contains(&text.len());
    std::str::from_utf8(text).ok().filter(|_| short && text.iter().all(plain))
}

/// Gives a token back as text that no browser takes for a page.
pub(crate) fn plain(token: &str) -> Reply {
    let headers = vec![("x-content-type-options", "nosniff".to_owned())];
    Reply { headers, ..Reply::text(200, token) }
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn a_token_is_short_and_nothing_else_can_be_written_in_its_alphabet() {
        for good in ["a", "qgg8vlvZRS6UYooatFL8Aw", "YmFzZTY0LW5vbmNl==", "A-b_c.d~e+f/g="] {
            assert_eq!(token(good.as_bytes()), Some(good));
        }
        for bad in ["", "{}", "v0:1767225600:{}", "<b>", "a b", "a\r\nb", "a\0", "\u{e4}", "a&b"] {
            assert_eq!(token(bad.as_bytes()), None, "{bad:?}");
        }
        assert!(token(&[b'a'; 128]).is_some() && token(&[b'a'; 129]).is_none());
    }
}
