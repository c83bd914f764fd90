//! The body is what was received: verified, stored and forwarded byte for byte.

use crate::harness::*;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Sends a signed request, which must be accepted, and finds its body unchanged in the ledger and
/// at the destination. Returns the delivery.
async fn arrives(server: &Server, stub: &Stub, request: Request) -> serde_json::Value {
    let before = stub.calls();
    let answer = server.post("github", request.clone()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let id = answer.json()["delivery"].as_str().unwrap().to_owned();
    assert_eq!(server.body(&id).await, request.body, "stored as received");
    let received = stub.until(before + 1).await;
    assert_eq!(received[before].body, request.body, "forwarded as received");
    let delivery = server.delivery(&id).await["delivery"].clone();
    assert_eq!(delivery["fingerprint"], digest(&request.body));
    delivery
}

both!(escapes_and_numbers_stay_as_they_were_written, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let body = concat!(
        r#"{"ref":"refs/heads/main","log":"\u001B[31mred\u001b[0m","#,
        r#""ratio":1.0,"big":12345678901234567890,"exp":1E3}"#
    );
    let request = github("7d3c0000", body);
    let signature = "a6e3ac1892f26fe1dfd9645d2b4dcf7adb8fac3a75a4f2983f8b85e4bb1b80c1";
    let known = request.clone().with("X-Hub-Signature-256", format!("sha256={signature}"));
    assert_eq!(request.bytes(), known.bytes(), "the sender signs as the original did");
    arrives(&server, &stub, known).await;
});

both!(a_signature_over_another_form_of_the_same_json_is_refused, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let pretty = "{\n  \"action\": \"opened\",\n  \"number\": 7\n}";
    let compact = r#"{"action":"opened","number":7}"#;
    let forged = Request { body: pretty.into(), ..github("7d3c0002", compact) };
    assert_eq!(server.post("github", forged).await.status, 401);
    arrives(&server, &stub, github("7d3c0003", pretty)).await;
    assert_eq!(server.deliveries("").await.len(), 1);
});

both!(characters_of_any_kind_are_neither_decoded_nor_normalised, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    // The last letter is an e and a combining accent.
    let body =
        "{\"head_commit\":{\"message\":\"ship it \u{1F680} \u{1F469}\u{200D}\u{1F4BB} e\u{301}\"}}";
    arrives(&server, &stub, github("7d3c0004", body)).await;
    // Not UTF-8 at all: no JSON, and yet what was signed.
    arrives(&server, &stub, github("7d3c0104", b"{\"name\":\"caf\xe9\"}")).await;
});

both!(line_ends_are_part_of_the_body, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let body = concat!(
        "[{\"email\":\"a@example.test\",\"event\":\"processed\"},\r\n",
        "{\"email\":\"b@example.test\",\"event\":\"open\"}]\r\n"
    );
    let signed = github("7d3c0005", body);
    let trimmed = Request { body: body.trim_end().into(), ..github("7d3c0006", body) };
    arrives(&server, &stub, signed).await;
    assert_eq!(server.post("github", trimmed).await.status, 401);
    assert_eq!(server.deliveries("").await.len(), 1);
});

both!(a_compressed_body_is_verified_and_kept_compressed, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let packed = BASE64_STANDARD
        .decode(concat!(
            "H4sIAAAAAAACA6tWKqksSFWyUspNLS5OTE/Vy0stV9JRSs5MAYqVpCbm",
            "WpkYAfklqRUlQIGc/KLUXIVRktakUi0A/gSpRpgBAAA="
        ))
        .unwrap();
    assert_eq!(&packed[..2], b"\x1f\x8b", "gzip");
    let signed = github("7d3c0008", packed.clone()).header("Content-Encoding", "gzip");
    let delivery = arrives(&server, &stub, signed).await;
    let headers = delivery["headers"].as_array().unwrap();
    assert!(headers.contains(&serde_json::json!(["content-encoding", "gzip"])), "{headers:?}");
    assert_eq!(stub.received()[0].header("content-encoding").as_deref(), Some("gzip"));
    // The signature over the text within is not one over what was sent.
    let unpacked = "sha256=40d87aa71852cd49cadaa65ab672d6bb4d3dd28b99411152de3868c7385b5580";
    let over_text = github("7d3c0009", packed).header("Content-Encoding", "gzip");
    let over_text = over_text.with("X-Hub-Signature-256", unpacked);
    assert_eq!(server.post("github", over_text).await.status, 401);
});

both!(a_form_is_verified_as_a_form_and_read_through_it, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let body = "payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%2C%22after%22%3A%22a1%22%7D";
    let form = github("7d3c000c", body).with("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(arrives(&server, &stub, form).await["kind"], "push");
    let body = concat!(
        "payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%2C",
        "%22repository%22%3A%7B%22id%22%3A7%7D%7D"
    );
    let form = github("7d3c010c", body).with("Content-Type", "application/x-www-form-urlencoded");
    let delivery = arrives(&server, &stub, form).await;
    assert_eq!(delivery["entity"], "repository:7/ref:refs/heads/main");
    let received = &stub.received()[0];
    let content_type = received.header("content-type");
    assert_eq!(content_type.as_deref(), Some("application/x-www-form-urlencoded"));
});

both!(json_is_recognised_whatever_its_content_type_says, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let types = ["application/json; charset=utf-8", "", "Application/JSON", "text/plain"];
    for (index, content_type) in types.iter().enumerate() {
        let body = r#"{"ref":"refs/heads/ct","repository":{"id":7}}"#;
        let mut request = github(&format!("7d3c000d-{index}"), body).without("Content-Type");
        if !content_type.is_empty() {
            request = request.header("Content-Type", content_type);
        }
        let delivery = arrives(&server, &stub, request).await;
        assert_eq!(delivery["entity"], "repository:7/ref:refs/heads/ct", "{content_type:?}");
    }
    assert_eq!(server.deliveries("").await.len(), 4);
});

both!(what_cannot_be_read_as_json_is_still_kept_and_forwarded, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let parts = [
        b"--XbX\r\nContent-Disposition: form-data; name=\"payload\"\r\n".as_slice(),
        b"Content-Type: application/json\r\n\r\n{\"event\":\"media.play\"}\r\n--XbX\r\n",
        b"Content-Disposition: form-data; name=\"thumb\"; filename=\"t.jpg\"\r\n",
        b"Content-Type: image/jpeg\r\n\r\n\xff\xd8\xff\xe0\x00\r\n--XbX--\r\n",
    ];
    let parts = github("7d3c0012", parts.concat());
    arrives(&server, &stub, parts.with("Content-Type", "multipart/form-data; boundary=XbX")).await;
    let klingon = github("7d3c0013", r#"{"a":1}"#);
    let klingon = klingon.with("Content-Type", "application/json; charset=x-klingon");
    arrives(&server, &stub, klingon).await;
    // A percent sign that a form must not have.
    let broken = github("7d3c0014", "payload=%7B%ZZ&payload");
    let broken = broken.with("Content-Type", "application/x-www-form-urlencoded");
    arrives(&server, &stub, broken).await;
});
