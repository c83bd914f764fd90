//! Links that senders want visited: only of what is proved, and only their own.

use providers::{Admitted, admit_unsigned};

use crate::proofs::battery;

#[test]
fn only_a_proved_request_to_confirm_asks_for_a_visit() {
    let mut asked = Vec::new();
    battery(|provider, name, _, vector, case| {
        if let Ok(Admitted::Events { visit: Some(visit), .. }) = case.admit(provider) {
            assert_eq!(vector.expect, "valid", "{name}");
            assert!(visit.is_of_sender(), "{name}: {visit:?}");
            asked.push(format!("{name}: {}", visit.url));
        }
        let unproved = case.run(|request, _| admit_unsigned(provider, request));
        if let Ok(Admitted::Events { visit, .. }) = unproved {
            assert_eq!(visit, None, "{name}: nobody has proved it");
        }
    });
    let expected = "aws_sns: SubscriptionConfirmation: https://sns.us-west-2.amazonaws.com/\
        ?Action=ConfirmSubscription&TopicArn=arn:aws:sns:us-west-2:123456789012:MyTopic\
        &Token=2336412f37f...";
    assert_eq!(asked, [expected]);
}
