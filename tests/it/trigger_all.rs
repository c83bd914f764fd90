//! `trigger` in the name of every sender that can be signed for: its first sample is taken, and
//! recognised when it comes again under the same key.

use crate::harness::*;
use futures_util::StreamExt as _;
use serde_json::Value;

/// Programs at once: each is short, and the machine has few cores.
const AT_ONCE: usize = 4;

/// Whose bodies are alike whatever they are about, so that the time is in the key: a later one is
/// another event.
const ANEW: [&str; 2] = ["dropbox", "ghost"];

both!(every_senders_sample_is_taken_and_recognised_when_it_comes_again, |world| async {
    let all = vectors();
    let ran = world.posthouse("").args(["--output", "json", "providers"]).run().await;
    let known: Value = serde_json::from_str(&ran.output).unwrap();
    let sample = |provider: &str| {
        let mut items = known["items"].as_array().unwrap().iter();
        let found = items.find(|item| item["name"] == provider).unwrap();
        found["samples"][0].as_str().map(str::to_owned)
    };
    let tried: Vec<(&Vectors, String)> =
        all.iter().filter_map(|of| Some((of, sample(&of.provider)?))).collect();
    assert!(tried.len() > 70, "{}", tried.len());
    let mut config = String::from("[destinations.log]\ntype = \"log\"\n");
    for (of, _) in &tried {
        let name = &of.provider;
        let url = format!("public_url = \"https://hooks.example.com/hooks/{name}\"");
        config += &filed(&world, name, name, of.secret(), &url);
    }
    let server = world.serve(&config).await;
    let (server, shown) = (&server, &sample);
    // All once, and later all once more: no clock shows the same time then.
    for word in ["accepted", "duplicate"] {
        let each = futures_util::stream::iter(&tried).map(|(of, kind)| async move {
            let trigger = ["trigger", &of.provider, kind, "--key", "trial-1"];
            // The file with the configuration is written for each.
            let ran = server.cli(trigger).within(&of.provider).run().await;
            // Adyen and others want to hear words of their own, which tell no more.
            let words = [format!("1 {word}\n"), "1 answered\n".to_owned()];
            let is_anew = ANEW.contains(&&*of.provider) && ran.output == "1 accepted\n";
            let good = ran.code == Some(0) && (is_anew || words.contains(&ran.output));
            assert!(good, "{}: not {word}: {ran:?}", of.provider);
        });
        each.buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    }
    for (of, kind) in &tried {
        let found = server.deliveries(&format!("?source={}", of.provider)).await;
        let is_anew = ANEW.contains(&&*of.provider);
        assert!(found.len() == 1 || is_anew && found.len() == 2, "{}", of.provider);
        assert_eq!(found[0]["kind"], **kind, "{}", of.provider);
        if of.trial.keeps_key != Some(false) {
            assert_eq!(found[0]["key"], "trial-1", "{}", of.provider);
        }
        let ran = server.cli(["providers", "show", &of.provider]).run().await;
        assert!(ran.output.contains(&format!("\n  {kind}\n")), "{ran:?}");
    }
    assert_eq!(shown("aws_sns"), None);
    let ran = server.cli(["providers", "show", "aws_sns"]).run().await;
    assert!(ran.output.contains("no samples: nobody but the sender can sign"), "{ran:?}");
});
