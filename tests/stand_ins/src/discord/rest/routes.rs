//! The table of what can be asked. Anything that is not a row is a surprise, and answered as Discord answers it.

use hyper::Method;

use crate::discord::{refusal::Refusal, snowflake::Snowflake};

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "each one is a row of the table below, which says what it is"
)]
pub enum Endpoint {
    Me,
    MyGuilds,
    MyMember,
    User,
    Application,
    OAuthApplication,
    ApplicationCommands,
    Gateway,
    GatewayBot,
    Guild,
    GuildChannels,
    GuildRoles,
    GuildMember,
    ActiveThreads,
    Channel,
    ListMessages,
    CreateMessage,
    GetMessage,
    EditMessage,
    DeleteMessage,
    AddReaction,
    RemoveReaction,
    Typing,
    JoinThread,
    Callback,
    GetOriginal,
    EditOriginal,
    FollowUp,
}

struct Route {
    method: Method,
    path: &'static str,
    endpoint: Endpoint,
}

const fn route(method: Method, path: &'static str, endpoint: Endpoint) -> Route {
    Route {
        method,
        path,
        endpoint,
    }
}

/// `{}` is an id, `{text}` anything in one segment. A literal segment wins over a hole by standing above it.
const ROUTES: &[Route] = &[
    route(Method::GET, "users/@me", Endpoint::Me),
    route(Method::GET, "users/@me/guilds", Endpoint::MyGuilds),
    route(
        Method::GET,
        "users/@me/guilds/{}/member",
        Endpoint::MyMember,
    ),
    route(Method::GET, "users/{}", Endpoint::User),
    route(Method::GET, "applications/@me", Endpoint::Application),
    route(
        Method::GET,
        "oauth2/applications/@me",
        Endpoint::OAuthApplication,
    ),
    route(
        Method::GET,
        "applications/{}/commands",
        Endpoint::ApplicationCommands,
    ),
    route(Method::GET, "gateway", Endpoint::Gateway),
    route(Method::GET, "gateway/bot", Endpoint::GatewayBot),
    route(Method::GET, "guilds/{}", Endpoint::Guild),
    route(Method::GET, "guilds/{}/channels", Endpoint::GuildChannels),
    route(Method::GET, "guilds/{}/roles", Endpoint::GuildRoles),
    route(Method::GET, "guilds/{}/members/{}", Endpoint::GuildMember),
    route(
        Method::GET,
        "guilds/{}/threads/active",
        Endpoint::ActiveThreads,
    ),
    route(Method::GET, "channels/{}", Endpoint::Channel),
    route(Method::GET, "channels/{}/messages", Endpoint::ListMessages),
    route(
        Method::POST,
        "channels/{}/messages",
        Endpoint::CreateMessage,
    ),
    route(Method::GET, "channels/{}/messages/{}", Endpoint::GetMessage),
    route(
        Method::PATCH,
        "channels/{}/messages/{}",
        Endpoint::EditMessage,
    ),
    route(
        Method::DELETE,
        "channels/{}/messages/{}",
        Endpoint::DeleteMessage,
    ),
    route(
        Method::PUT,
        "channels/{}/messages/{}/reactions/{text}/@me",
        Endpoint::AddReaction,
    ),
    route(
        Method::DELETE,
        "channels/{}/messages/{}/reactions/{text}/@me",
        Endpoint::RemoveReaction,
    ),
    route(Method::POST, "channels/{}/typing", Endpoint::Typing),
    route(
        Method::PUT,
        "channels/{}/thread-members/@me",
        Endpoint::JoinThread,
    ),
    route(
        Method::POST,
        "interactions/{}/{text}/callback",
        Endpoint::Callback,
    ),
    route(
        Method::GET,
        "webhooks/{}/{text}/messages/@original",
        Endpoint::GetOriginal,
    ),
    route(
        Method::PATCH,
        "webhooks/{}/{text}/messages/@original",
        Endpoint::EditOriginal,
    ),
    route(Method::POST, "webhooks/{}/{text}", Endpoint::FollowUp),
];

impl Endpoint {
    /// Whether the path itself holds a secret, which stands for the caller in place of token and user agent.
    pub(super) fn has_secret_path(self) -> bool {
        matches!(
            self,
            Endpoint::Callback
                | Endpoint::GetOriginal
                | Endpoint::EditOriginal
                | Endpoint::FollowUp
        )
    }

    pub(super) fn needs_token(self) -> bool {
        self != Endpoint::Gateway && !self.has_secret_path()
    }
}

/// A path that was understood.
#[derive(Debug, PartialEq)]
pub(super) struct Matched {
    pub(super) endpoint: Endpoint,
    /// The ids in the path, in order.
    pub(super) ids: Vec<Snowflake>,
    /// The one free segment, percent-decoded, where the route has one.
    pub(super) text: String,
}

/// Finds the row for a request to `path` (below the versioned base).
pub(super) fn find(method: &str, path: &str) -> Result<Matched, Refusal> {
    let segments: Vec<&str> = path.split('/').collect();
    let mut verb_was_wrong = false;
    for route in ROUTES {
        let Some(fit) = fit(route.path, &segments) else {
            continue;
        };
        if route.method.as_str() != method {
            verb_was_wrong = true;
            continue;
        }
        let (ids, text) = fit?;
        return Ok(Matched {
            endpoint: route.endpoint,
            ids,
            text,
        });
    }
    Err(if verb_was_wrong {
        Refusal::wrong_verb()
    } else {
        Refusal::no_such_route()
    })
}

type Holes = (Vec<Snowflake>, String);

/// Lays the segments over a pattern: `None` where they do not fit, a refusal where an id is none.
///
/// Segments are decoded first, the literal ones too: clients send `%40original` as well as `@original`.
fn fit(pattern: &str, segments: &[&str]) -> Option<Result<Holes, Refusal>> {
    let (mut ids, mut text) = (Vec::new(), String::new());
    let mut bad_id = None;
    let expected: Vec<&str> = pattern.split('/').collect();
    if expected.len() != segments.len() {
        return None;
    }
    for (expected, segment) in expected.into_iter().zip(segments) {
        let segment = percent_encoding::percent_decode_str(segment).decode_utf8_lossy();
        match expected {
            "{}" => match Snowflake::parse(&segment) {
                Some(id) => ids.push(id),
                None => bad_id = Some(segment),
            },
            "{text}" => text = segment.into_owned(),
            literal if literal == segment => {}
            _ => return None,
        }
    }
    Some(match bad_id {
        Some(segment) => Err(Refusal::form(
            "id",
            "NUMBER_TYPE_COERCE",
            &format!("Value \"{segment}\" is not snowflake."),
        )),
        None => Ok((ids, text)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_gives_its_ids_and_its_decoded_text() {
        assert_eq!(
            find("PUT", "channels/7/messages/8/reactions/%F0%9F%91%80/@me"),
            Ok(Matched {
                endpoint: Endpoint::AddReaction,
                ids: vec![Snowflake(7), Snowflake(8)],
                text: "👀".into()
            })
        );
    }

    #[test]
    fn an_encoded_literal_is_the_literal() {
        let encoded = find("PATCH", "webhooks/7/token/messages/%40original");
        assert_eq!(
            encoded.map(|matched| matched.endpoint),
            Ok(Endpoint::EditOriginal)
        );
    }

    #[test]
    fn an_unknown_path_is_404_a_wrong_verb_405_and_a_bad_id_50035() {
        assert_eq!(find("GET", "nowhere"), Err(Refusal::no_such_route()));
        assert_eq!(find("DELETE", "users/@me"), Err(Refusal::wrong_verb()));
        assert_eq!(
            find("GET", "channels/general").map_err(|refusal| refusal.code),
            Err(50035)
        );
    }
}
