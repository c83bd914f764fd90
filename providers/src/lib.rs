//! Who sends webhooks, how they sign, and what their events are.
//!
//! Every sender is one [`Provider`]; [`ALL`] lists them. The crate is pure: requests, secrets and
//! the time are arguments, and it never opens a socket, reads a clock or keeps a state.
//!
//! The order of steps is compiled: only [`sign`] can make a [`Proved`], and [`Provider::events`]
//! takes one, so no byte of a body is interpreted before its sender is proved. Where a scheme has
//! its proof in the body, `verify` looks at those fields and at nothing else.

#![allow(dead_code, unused_imports, reason = "shapes of proof for the providers that follow")]

mod admit;
mod draft;
mod encoding;
mod event;
mod example;
pub mod generic;
mod identity;
pub mod json;
mod keys;
mod provider;
mod rejection;
mod reply;
mod request;
mod secret;
pub mod sign;
pub mod text;

mod adyen;
mod aws_sns;
mod braintree;
mod cloudevents;
mod contentful;
mod discord;
mod event_grid;
mod bitbucket_cloud;
mod bitbucket_data_center;
mod box_com;
mod buildkite;
mod calendly;
mod circleci;
mod discourse;
mod docker_hub;
mod docusign;
mod gitea;
mod github;
mod gitlab;
mod google_pubsub;
mod hubspot;
mod jira;
mod mailgun;
mod mandrill;
mod microsoft_graph;
mod netlify;
mod paypal;
mod plaid;
mod sendgrid;
mod heroku;
mod intercom;
mod linear;
mod npm_hooks;
mod pagerduty;
mod patreon;
mod sentry;
mod shopify;
mod slack;
mod square;
mod standard_webhooks;
mod stripe;
mod trello;
mod twilio;
mod wise;
mod twitch;
mod typeform;
mod vercel;
mod workos;
mod zendesk;

pub use admit::{Admitted, Reading, admit, admit_with_keys};
pub use draft::{Draft, Signed};
pub use event::{Event, Part, Position, whole};
pub use keys::{KeyWanted, Keys, NoKeys};
use provider::Verified;
pub use provider::{Facts, Provider};
pub use rejection::Rejection;
pub use reply::{Handshake, Handshaking, Reply};
pub use request::{Headers, Request, TOLERANCE_S, Window};
pub use secret::Secret;
pub use sign::{Coverage, Proved, admit_unsigned, admit_unsigned_with};

/// The provider of a name, if it needs no further configuration.
pub fn find(name: &str) -> Option<&'static dyn Provider> {
    ALL.iter().copied().find(|provider| provider.name() == name)
}

/// Every provider that needs no further configuration, by name.
pub static ALL: &[&dyn Provider] = &[
    &adyen::Adyen,
    &aws_sns::AwsSns,
    &braintree::Braintree,
    &bitbucket_cloud::BitbucketCloud,
    &bitbucket_data_center::BitbucketDataCenter,
    &box_com::BoxCom,
    &buildkite::Buildkite,
    &calendly::Calendly,
    &circleci::CircleCi,
    &standard_webhooks::CLERK,
    &cloudevents::CloudEvents,
    &contentful::Contentful,
    &discord::Discord,
    &event_grid::EventGrid,
    &github::GitHub,
    &gitlab::GitLab,
    &google_pubsub::GooglePubSub,
    &hubspot::HubSpot,
    &jira::Jira,
    &mailgun::Mailgun,
    &mandrill::Mandrill,
    &microsoft_graph::MicrosoftGraph,
    &netlify::Netlify,
    &discourse::Discourse,
    &docker_hub::DockerHub,
    &docusign::DocuSign,
    &gitea::FORGEJO,
    &gitea::GITEA,
    &github::GitHub,
    &gitlab::GitLab,
    &gitea::GOGS,
    &heroku::Heroku,
    &intercom::Intercom,
    &linear::Linear,
    &npm_hooks::NpmHooks,
    &standard_webhooks::OPENAI,
    &paypal::PayPal,
    &plaid::Plaid,
    &pagerduty::PagerDuty,
    &patreon::Patreon,
    &standard_webhooks::RESEND,
    &sendgrid::SendGrid,
    &sentry::Sentry,
    &shopify::Shopify,
    &slack::Slack,
    &square::Square,
    &standard_webhooks::STANDARD_WEBHOOKS,
    &stripe::Stripe,
    &standard_webhooks::SUPABASE_AUTH,
    &standard_webhooks::SVIX,
    &trello::Trello,
    &twilio::Twilio,
    &wise::Wise,
    &twitch::Twitch,
    &typeform::Typeform,
    &vercel::Vercel,
    &workos::WorkOs,
    &zendesk::Zendesk,
];
