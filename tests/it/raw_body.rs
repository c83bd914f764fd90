//! The body is what was received: byte for byte verified, stored and forwarded.

use crate::harness::*;

both!(a_signature_covers_the_bytes_as_they_were_escaped, |world| async {
    let stub = Stub::ok().await;
    let server = world.serve(&straight("github", &stub)).await;
    let body = r#"{"ref":"refs/heads/main","log":"\u001B[31mred\u001b[0m","ratio":1.0,"big":12345678901234567890,"exp":1E3}"#;
    let answer = server.post("github", github("7d3c0000", body)).await;
    assert_eq!(answer.status, 200);
    let received = stub.until(1).await;
    assert_eq!(received[0].body, body.as_bytes());
    server.settled().await;
    let delivery = server.only_delivery().await;
    assert_eq!(server.body(delivery["id"].as_str().unwrap()).await, body.as_bytes());
});
