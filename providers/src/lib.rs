//! Who sends webhooks, how they sign, and what their events are.
//!
//! Every sender is one [`Provider`]; [`ALL`] lists them. The crate is pure: requests, secrets and
//! the time are arguments, and it never opens a socket, reads a clock or keeps a state.
//!
//! The order of steps is compiled: only [`sign`] can make a [`Proved`], and [`Provider::events`]
//! takes one, so no byte of a body is interpreted before its sender is proved. Where a scheme has
//! its proof in the body, `verify` looks at those fields and at nothing else.

mod admit;
mod batch;
mod body_tag;
mod draft;
mod echo;
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
mod samples;
mod secret;
pub mod sign;
pub mod text;
mod visit;

mod adyen;
mod airtable;
mod asana;
mod auth0;
mod aws_sns;
mod bitbucket_cloud;
mod bitbucket_data_center;
mod box_com;
mod braintree;
mod buildkite;
mod calendly;
mod chargebee;
mod circleci;
mod cloudevents;
mod coinbase_commerce;
mod contentful;
mod discord;
mod discourse;
mod docker_hub;
mod docusign;
mod dropbox;
mod event_grid;
mod ghost;
mod gitea;
mod github;
mod gitlab;
mod gocardless;
mod google_pubsub;
mod heroku;
mod hubspot;
mod intercom;
mod jira;
mod klaviyo;
mod lemon_squeezy;
mod line;
mod linear;
mod mailgun;
mod mandrill;
mod meta;
mod microsoft_graph;
mod mollie;
mod netlify;
mod notion;
mod npm_hooks;
mod okta;
mod paddle;
mod pagerduty;
mod patreon;
mod paypal;
mod plaid;
mod postmark;
mod quickbooks;
mod razorpay;
mod recurly;
mod sanity;
mod sendgrid;
mod sentry;
mod shopify;
mod slack;
mod square;
mod standard_webhooks;
mod stripe;
mod tally;
mod telegram;
mod trello;
mod twilio;
mod twitch;
mod typeform;
mod vercel;
mod wise;
mod woocommerce;
mod workos;
mod x_twitter;
mod xero;
mod zendesk;
mod zoom;

pub use admit::{Admitted, Reading, admit, admit_with_keys};
pub use draft::{Draft, Signed};
pub use event::{Event, Part, Position, whole};
pub use keys::{KeyWanted, Keys, NoKeys};
use provider::Verified;
pub use provider::{Facts, Provider};
pub use rejection::Rejection;
pub use reply::{Handshake, Handshaking, Reply};
pub use request::{Headers, Request, TOLERANCE_S, Window};
pub use samples::samples;
pub use secret::Secret;
pub use sign::{Coverage, Proved, admit_unsigned, admit_unsigned_with};
pub use visit::Visit;

/// The provider of a name, if it needs no further configuration.
pub fn find(name: &str) -> Option<&'static dyn Provider> {
    ALL.iter().copied().find(|provider| provider.name() == name)
}

/// Every provider that needs no further configuration, by name.
pub static ALL: &[&dyn Provider] = &[
    &adyen::Adyen,
    &airtable::Airtable,
    &asana::Asana,
    &auth0::Auth0,
    &aws_sns::AwsSns,
    &bitbucket_cloud::BitbucketCloud,
    &bitbucket_data_center::BitbucketDataCenter,
    &box_com::BoxCom,
    &braintree::Braintree,
    &buildkite::Buildkite,
    &calendly::Calendly,
    &chargebee::Chargebee,
    &circleci::CircleCi,
    &standard_webhooks::CLERK,
    &cloudevents::CloudEvents,
    &coinbase_commerce::CoinbaseCommerce,
    &contentful::Contentful,
    &discord::Discord,
    &discourse::Discourse,
    &docker_hub::DockerHub,
    &docusign::DocuSign,
    &dropbox::Dropbox,
    &event_grid::EventGrid,
    &gitea::FORGEJO,
    &ghost::Ghost,
    &gitea::GITEA,
    &github::GitHub,
    &gitlab::GitLab,
    &gocardless::GoCardless,
    &gitea::GOGS,
    &google_pubsub::GooglePubSub,
    &heroku::Heroku,
    &hubspot::HubSpot,
    &intercom::Intercom,
    &jira::Jira,
    &klaviyo::Klaviyo,
    &lemon_squeezy::LemonSqueezy,
    &line::Line,
    &linear::Linear,
    &mailgun::Mailgun,
    &mandrill::Mandrill,
    &meta::Meta,
    &microsoft_graph::MicrosoftGraph,
    &mollie::Mollie,
    &netlify::Netlify,
    &notion::Notion,
    &npm_hooks::NpmHooks,
    &okta::Okta,
    &standard_webhooks::OPENAI,
    &paddle::Paddle,
    &pagerduty::PagerDuty,
    &patreon::Patreon,
    &paypal::PayPal,
    &plaid::Plaid,
    &postmark::Postmark,
    &quickbooks::QuickBooks,
    &razorpay::Razorpay,
    &recurly::Recurly,
    &standard_webhooks::RESEND,
    &sanity::Sanity,
    &sendgrid::SendGrid,
    &sentry::Sentry,
    &shopify::Shopify,
    &slack::Slack,
    &square::Square,
    &standard_webhooks::STANDARD_WEBHOOKS,
    &stripe::Stripe,
    &standard_webhooks::SUPABASE_AUTH,
    &standard_webhooks::SVIX,
    &tally::Tally,
    &telegram::Telegram,
    &trello::Trello,
    &twilio::Twilio,
    &twitch::Twitch,
    &typeform::Typeform,
    &vercel::Vercel,
    &wise::Wise,
    &woocommerce::WooCommerce,
    &workos::WorkOs,
    &x_twitter::X,
    &xero::Xero,
    &zendesk::Zendesk,
    &zoom::Zoom,
];
