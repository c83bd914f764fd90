//! What a configured sender signs: text with names in braces, such as `{timestamp}.{body}`.

/// A part of the signed bytes.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(String),
    Header(&'static str),
    Body,
    Method,
    Url,
}

/// Takes a template apart. Without `{body}` the signature would not cover the content, and a time
/// that is not signed would be anyone's to choose; both are refused.
pub(super) fn pieces(
    template: &str,
    id: Option<&'static str>,
    time: Option<&'static str>,
) -> Result<Vec<Piece>, String> {
    if !template.contains("{body}") {
        return Err("signed: {body} must be a part of it".to_owned());
    }
    if template.contains("{timestamp}") != time.is_some() {
        return Err("signed: {timestamp} and timestamp_header go together".to_owned());
    }
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or("signed: a { without its }")?;
        pieces.push(Piece::Text(text.to_owned()));
        pieces.push(match (name, id, time) {
            ("body", ..) => Piece::Body,
            ("method", ..) => Piece::Method,
            ("url", ..) => Piece::Url,
            ("timestamp", _, Some(header)) | ("id", Some(header), _) => Piece::Header(header),
            ("id", None, _) => return Err("signed: {id} needs event.key = header:NAME".to_owned()),
            _ => return Err(format!("signed: {{{name}}} is not known")),
        });
        rest = after;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Ok(pieces)
}
