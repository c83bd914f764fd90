//! The first start: nothing but the program, and it receives.

use crate::harness::*;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A launch with neither a file nor secrets; on SQLite not even the place of the database is said.
fn bare(world: &World) -> Launch {
    let launch =
        SECRETS.iter().fold(world.posthouse(""), |launch, (name, _)| launch.without_env(name));
    match world.engine {
        Engine::Sqlite => launch.without_file().without_env("POSTHOUSE__STORE__URL"),
        Engine::Postgres => launch.without_file(),
    }
}

both!(without_configuration_it_receives_and_says_how_to_try_it, |world| async {
    let server = bare(&world).serve().await;
    let said = server.output();
    let public = server.public();
    for line in [
        format!("receiving http://{public}/hooks/github (github)"),
        format!("receiving http://{public}/hooks/stripe (stripe)"),
        "github-secret".to_owned(),
        "stripe-secret".to_owned(),
        "admin token in ".to_owned(),
        "trigger github push".to_owned(),
    ] {
        assert!(said.contains(&line), "{line} in {said}");
    }
    let data = world.path().join("data");
    assert_eq!(mode(&data), 0o700);
    let mut secrets = vec![server.token.clone()];
    for name in ["github-secret", "stripe-secret", "admin-token"] {
        let file = data.join(name);
        assert_eq!(mode(&file), 0o600, "{name}");
        secrets.push(std::fs::read_to_string(file).unwrap().trim().to_owned());
    }
    for secret in &secrets {
        assert!(secret.len() >= 40 && !said.contains(secret.as_str()), "{said}");
        assert!(!server.errors().contains(secret.as_str()));
    }
    for (source, event) in [("github", "push"), ("stripe", "invoice.paid")] {
        let trigger = server.cli(["trigger", source, event]).run().await;
        assert_eq!((trigger.code, trigger.output.trim()), (Some(0), "1 accepted"), "{trigger:?}");
    }
    let jobs = server.settled().await;
    assert!(jobs.len() == 2 && jobs.iter().all(|job| job["state"] == "succeeded"), "{jobs:#?}");
    // What a stranger sends is refused.
    assert_eq!(server.post("github", github("7d3c0057", "{}")).await.status, 401);
    // The second start finds everything as it was.
    drop(server);
    let server = bare(&world).serve().await;
    assert_eq!(server.token, secrets[0]);
    assert_eq!(server.deliveries("").await.len(), 2);
});

both!(secrets_from_the_environment_are_not_generated, |world| async {
    let launch = bare(&world).env("GITHUB_WEBHOOK_SECRET", GITHUB);
    let server = launch.env("STRIPE_WEBHOOK_SECRET", STRIPE).serve().await;
    assert_eq!(server.post("github", github("7d3c0058", "{}")).await.status, 200);
    let event = stripe(r#"{"id":"evt_1","type":"t"}"#);
    assert_eq!(server.post("stripe", event).await.status, 200);
    let data = world.path().join("data");
    assert!(!data.join("github-secret").exists() && !data.join("stripe-secret").exists());
    assert!(!server.output().contains(GITHUB), "{}", server.output());
});

both!(a_check_before_the_first_start_creates_nothing, |world| async {
    let check = bare(&world).args(["check"]).run().await;
    assert_eq!(check.code, Some(0), "{check:?}");
    assert!(check.output.contains("generated on first start"), "{}", check.output);
    assert!(!world.path().join("data").exists());
});
