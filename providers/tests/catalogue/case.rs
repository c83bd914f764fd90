//! One request under test, easy to bend.

use providers::{
    Admitted, Coverage, KeyWanted, Keys, Provider, Reading, Rejection, Request, Secret,
    TOLERANCE_S, Window, admit_with_keys,
};

use crate::file::{Decides, Key, URL, Vector};

#[derive(Clone)]
pub struct Case {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub secrets: Vec<Secret>,
    pub now_s: i64,
    pub tolerance_s: i64,
    pub keys: Vec<Key>,
    /// Whether the URL of this very case carries a proof.
    pub by_url: bool,
    pub proof: Option<Vec<String>>,
}

struct Pinned<'k>(&'k [Key]);

impl Keys for Pinned<'_> {
    fn get(&self, wanted: &KeyWanted) -> Option<&[u8]> {
        let of = |key: &&Key| match wanted {
            KeyWanted::Document { url, .. } => key.url.as_ref() == Some(url),
            KeyWanted::Listed { id, post, .. } => {
                key.id.as_ref() == Some(id)
                    && key.post.as_deref() == post.as_ref().map(Secret::expose)
            }
        };
        self.0.iter().find(of).map(|key| key.text.as_bytes())
    }
}

pub fn lower(headers: &[(String, String)]) -> Vec<(String, Vec<u8>)> {
    let lower =
        |(name, value): &(String, String)| (name.to_ascii_lowercase(), value.clone().into());
    headers.iter().map(lower).collect()
}

impl Case {
    pub fn new(
        method: &str,
        url: Option<&str>,
        headers: &[(String, String)],
        body: &str,
        secrets: &[String],
        now_s: i64,
    ) -> Self {
        Self {
            method: method.to_owned(),
            url: url.unwrap_or(URL).to_owned(),
            headers: lower(headers),
            body: body.into(),
            secrets: secrets.iter().filter_map(|text| Secret::new(text)).collect(),
            now_s,
            tolerance_s: TOLERANCE_S,
            keys: Vec::new(),
            by_url: false,
            proof: None,
        }
    }

    pub fn of(vector: &Vector) -> Self {
        let Vector { method, url, headers, body, secrets, now_unix, key, .. } = vector;
        let case = Self::new(method, url.as_deref(), headers, body, secrets, *now_unix);
        let tolerance_s = vector.tolerance_s.unwrap_or(TOLERANCE_S);
        let by_url = vector.url_decides.is_some_and(|decides| decides != Decides::None);
        Self { keys: key.clone(), proof: vector.proof.clone(), tolerance_s, by_url, ..case }
    }

    pub fn run<T>(&self, look: impl FnOnce(&Request<'_>, Window) -> T) -> T {
        let headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let (method, url, body) = (&*self.method, &*self.url, &*self.body);
        let request = Request { method, url, headers: &headers, body };
        look(&request, Window { now_s: self.now_s, tolerance_s: self.tolerance_s })
    }

    pub fn admit(&self, provider: &dyn Provider) -> Result<Admitted, Rejection> {
        let reading = Reading { keys: &Pinned(&self.keys), split: true };
        self.run(|request, window| {
            admit_with_keys(provider, request, &self.secrets, window, reading)
        })
    }

    /// Whether the proof holds. Many published vectors carry no delivery id, so a proved request
    /// may still be unreadable.
    pub fn proved(&self, provider: &dyn Provider) -> bool {
        matches!(self.admit(provider), Ok(_) | Err(Rejection::Unreadable(_)))
    }

    pub fn coverage(&self, provider: &dyn Provider) -> Option<Coverage> {
        let keys = Pinned(&self.keys);
        let verify = |secret| {
            self.run(|request, window| {
                let proved = provider.verify_with_keys(request, secret, window, &keys);
                proved.ok().map(|proved| proved.coverage())
            })
        };
        self.secrets.iter().find_map(verify)
    }

    pub fn with_header(&self, index: usize, value: &[u8]) -> Self {
        let mut bent = self.clone();
        bent.headers[index].1 = value.to_vec();
        bent
    }
}
