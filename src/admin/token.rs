//! Who may use the API: whoever presents the token in the one header meant for it.
//!
//! Never in the query, where logs and histories keep it, and never by an address: a proxy in
//! front would make everyone local.

use super::Admin;
use super::answer::refusal;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use actix_web::middleware::Next;
use actix_web::web::Data;
use providers::Secret;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The token, as a digest: comparing digests does not even tell its length.
pub(super) struct Token([u8; 32]);

impl Token {
    pub(super) fn new(token: &Secret) -> Self {
        Self(Sha256::digest(token.expose()).into())
    }

    /// Compared in constant time.
    fn is(&self, offered: &[u8]) -> bool {
        let offered: [u8; 32] = Sha256::digest(offered).into();
        self.0.ct_eq(&offered).into()
    }

    /// Whether exactly one `Authorization: Bearer TOKEN` is there, and it is this one.
    fn opens(&self, headers: &HeaderMap) -> bool {
        let mut offers = headers.get_all(AUTHORIZATION);
        match (offers.next(), offers.next()) {
            (Some(offer), None) => bearer(offer.as_bytes()).is_some_and(|offered| self.is(offered)),
            _ => false,
        }
    }
}

/// The token of a `Bearer` header; the scheme's name is written in any case (RFC 9110, 11.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, offered) = value.split_at_checked("Bearer ".len())?;
    (scheme.eq_ignore_ascii_case(b"Bearer ") && !offered.is_empty()).then_some(offered)
}

/// Lets a request through that presents the token; everything else under `/api` is 401, paths
/// that do not exist included.
pub(super) async fn guard(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let admin = request.app_data::<Data<Admin>>();
    if admin.is_some_and(|admin| admin.token.opens(request.headers())) {
        return next.call(request).await.map(ServiceResponse::map_into_left_body);
    }
    // A wrong token is worth a line; a browser that has none yet is not.
    if request.headers().contains_key(AUTHORIZATION) {
        let peer = request.peer_addr().map(|peer| peer.to_string()).unwrap_or_default();
        tracing::warn!(%peer, path = request.path(), "a request with a wrong admin token");
    }
    let mut answer = refusal(StatusCode::UNAUTHORIZED, "the admin token is needed");
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    Ok(request.into_response(answer).map_into_right_body())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opens(offers: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for offer in offers {
            headers.append(AUTHORIZATION, HeaderValue::from_str(offer).unwrap());
        }
        Token::new(&Secret::new("lantern-41").unwrap()).opens(&headers)
    }

    #[test]
    fn the_token_opens_in_its_header_and_in_no_other_form() {
        assert!(opens(&["Bearer lantern-41"]));
        assert!(opens(&["bearer lantern-41"]));
        let wrong = [
            "",
            "lantern-41",
            "Bearer",
            "Bearer ",
            "Bearer lantern-4",
            "Bearer lantern-411",
            "Bearer  lantern-41",
            "Bearer LANTERN-41",
            "Basic lantern-41",
            "Bearer\tlantern-41",
            "Bearer lantern-41, Bearer lantern-41",
        ];
        for offer in wrong {
            assert!(!opens(&[offer]), "{offer:?}");
        }
    }

    #[test]
    fn no_header_and_two_headers_are_refused() {
        assert!(!opens(&[]));
        assert!(!opens(&["Bearer lantern-41", "Bearer lantern-41"]));
    }
}
