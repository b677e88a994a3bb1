//! What each endpoint answers when nothing stands in the way. The rules about messages are the world's; here they only meet HTTP.

use serde_json::{Value, json};

use super::{Endpoint, answer::Answer, routes::Matched};
use crate::discord::{
    gateway::application_flags,
    history::Slice,
    permissions::Permissions,
    places::ChannelKind,
    record::RecordedRequest,
    refusal::Refusal,
    snowflake::{Now, Snowflake},
    world::World,
};

pub(super) fn answer(
    world: &mut World,
    request: &RecordedRequest,
    matched: &Matched,
    now: Now,
) -> Result<Answer, Refusal> {
    let Matched {
        endpoint,
        ids,
        text,
    } = matched;
    let id = |at: usize| ids[at];
    let found = |body: Value| Ok(Answer::json(200, &body));
    match endpoint {
        Endpoint::Me => found(world.bot.own_object()),
        Endpoint::MyGuilds => found(json!([my_guild(world)])),
        Endpoint::User => found(
            world
                .user(id(0))
                .ok_or_else(Refusal::unknown_user)?
                .object(),
        ),
        Endpoint::Application | Endpoint::OAuthApplication => found(application(world)),
        Endpoint::ApplicationCommands => found(json!([])),
        Endpoint::Gateway => found(json!({ "url": world.gateway_url() })),
        Endpoint::GatewayBot => found(gateway_bot(world)),

        Endpoint::Guild => {
            in_guild(world, id(0)).and_then(|()| found(world.guild.object(&world.bot)))
        }
        Endpoint::GuildRoles => {
            in_guild(world, id(0)).and_then(|()| found(world.guild.roles(&world.bot)))
        }
        Endpoint::GuildChannels => in_guild(world, id(0)).and_then(|()| found(channels(world))),
        Endpoint::MyMember => in_guild(world, id(0)).and_then(|()| found(world.bot_member())),
        Endpoint::GuildMember => in_guild(world, id(0)).and_then(|()| found(member(world, id(1))?)),
        Endpoint::ActiveThreads => {
            in_guild(world, id(0)).and_then(|()| found(active_threads(world)))
        }

        Endpoint::Channel => {
            let channel = world.visible_channel(id(0))?;
            found(world.channel_object(channel))
        }
        Endpoint::ListMessages => {
            let (slice, limit) = slice(&request.query)?;
            found(world.read_back(id(0), slice, limit)?)
        }
        Endpoint::CreateMessage => found(world.post(id(0), &json_body(request)?, now)?),
        Endpoint::GetMessage => found(world.read_message(id(0), id(1))?),
        Endpoint::EditMessage => found(world.edit(id(0), id(1), &json_body(request)?, now)?),
        Endpoint::DeleteMessage => world.delete_own(id(0), id(1)).map(|()| Answer::nothing()),
        Endpoint::AddReaction => world.react(id(0), id(1), text).map(|()| Answer::nothing()),
        Endpoint::RemoveReaction => world
            .unreact(id(0), id(1), text)
            .map(|()| Answer::nothing()),
        Endpoint::Typing => world.type_in(id(0), now).map(|()| Answer::nothing()),
        Endpoint::JoinThread => match world.visible_channel(id(0))?.kind {
            ChannelKind::PublicThread | ChannelKind::PrivateThread => Ok(Answer::nothing()),
            _ => Err(Refusal::unknown_channel()),
        },

        Endpoint::Callback => {
            let wants_body = query_value(&request.query, "with_response")
                .is_some_and(|value| matches!(value.as_str(), "true" | "1"));
            let body = world.answer_press(id(0), text, &json_body(request)?, now)?;
            if wants_body {
                found(body)
            } else {
                Ok(Answer::nothing())
            }
        }
        Endpoint::GetOriginal => found(world.original_of_press(id(0), text, now)?),
        Endpoint::EditOriginal => {
            found(world.edit_original(id(0), text, &json_body(request)?, now)?)
        }
        Endpoint::FollowUp => found(world.follow_up(id(0), text, &json_body(request)?, now)?),
    }
}

/// The body of a request that must have one.
fn json_body(request: &RecordedRequest) -> Result<Value, Refusal> {
    let content_type = request.header("content-type").unwrap_or_default();
    if content_type.split(';').next().map(str::trim) != Some("application/json") {
        let accepted = "Expected \"Content-Type\" header to be one of {'application/json'}.";
        return Err(Refusal::form("", "CONTENT_TYPE_INVALID", accepted));
    }
    serde_json::from_str(&request.body).map_err(|_| Refusal::not_json())
}

fn query_value(query: &str, key: &str) -> Option<String> {
    let value = query
        .split('&')
        .find_map(|pair| pair.split_once('=').filter(|(name, _)| *name == key))?
        .1;
    Some(
        percent_encoding::percent_decode_str(value)
            .decode_utf8_lossy()
            .into_owned(),
    )
}

/// `limit` is 1 to 100, and one edge at most is looked at: around before before before after, as Discord does.
fn slice(query: &str) -> Result<(Slice, usize), Refusal> {
    let limit = match query_value(query, "limit") {
        None => 50,
        Some(text) => match text.parse() {
            Ok(limit @ 1..=100) => limit,
            Ok(_) => {
                return Err(Refusal::form(
                    "limit",
                    "NUMBER_TYPE_MAX",
                    "int value should be between 1 and 100.",
                ));
            }
            Err(_) => {
                return Err(Refusal::form(
                    "limit",
                    "NUMBER_TYPE_COERCE",
                    &format!("Value \"{text}\" is not int."),
                ));
            }
        },
    };
    for (key, slice) in [
        ("around", Slice::Around as fn(Snowflake) -> Slice),
        ("before", Slice::Before),
        ("after", Slice::After),
    ] {
        if let Some(text) = query_value(query, key) {
            let edge = Snowflake::parse(&text);
            let edge = edge.ok_or_else(|| {
                Refusal::form(
                    key,
                    "NUMBER_TYPE_COERCE",
                    &format!("Value \"{text}\" is not snowflake."),
                )
            })?;
            return Ok((slice(edge), limit));
        }
    }
    Ok((Slice::Newest, limit))
}

fn in_guild(world: &World, id: Snowflake) -> Result<(), Refusal> {
    if world.guild.id == id {
        Ok(())
    } else {
        Err(Refusal::unknown_guild())
    }
}

fn my_guild(world: &World) -> Value {
    json!({
        "id": world.guild.id, "name": world.guild.name, "icon": null, "banner": null, "owner": false,
        "permissions": Permissions::EVERYONE.0.to_string(), "features": [],
    })
}

fn member(world: &World, id: Snowflake) -> Result<Value, Refusal> {
    let user = world.user(id).ok_or_else(Refusal::unknown_member)?;
    Ok(if user.id == world.bot.id {
        world.bot_member()
    } else {
        user.member(None, &[])
    })
}

/// Every channel, also those the bot cannot see: their overwrites say so.
fn channels(world: &World) -> Value {
    world
        .channels
        .iter()
        .filter(|channel| !channel.is_thread())
        .map(|channel| world.channel_object(channel))
        .collect()
}

fn active_threads(world: &World) -> Value {
    let active = world
        .channels
        .iter()
        .filter(|channel| channel.is_thread() && !channel.archived);
    let active = active.filter(|channel| channel.permissions().has(Permissions::VIEW_CHANNEL));
    let threads: Vec<Value> = active
        .map(|channel| world.channel_object(channel))
        .collect();
    json!({ "threads": threads, "members": [], "has_more": false })
}

fn gateway_bot(world: &World) -> Value {
    json!({
        "url": world.gateway_url(), "shards": 1,
        "session_start_limit": {
            "total": world.settings.identify_budget.max(1000), "remaining": world.identifies_left(), "reset_after": 86_400_000, "max_concurrency": 1,
        },
    })
}

fn application(world: &World) -> Value {
    let owner = world.user(world.guild.owner).unwrap_or(&world.bot).object();
    let flags = application_flags(world);
    json!({
        "id": world.bot.id, "name": world.bot.name, "icon": null, "description": "", "type": null, "verify_key": "0".repeat(64),
        "flags": flags, "flags_new": flags.to_string(), "redirect_uris": [], "interactions_endpoint_url": world.settings.interactions_endpoint,
        "role_connections_verification_url": null, "owner": owner, "approximate_guild_count": 1,
        "approximate_user_install_count": 0, "approximate_user_authorization_count": 0, "explicit_content_filter": 0, "team": null,
        "eligible_oauth2_scopes": [], "bot": world.bot.object(), "bot_public": false, "bot_require_code_grant": false,
        "guild_id": world.guild.id, "summary": "",
    })
}
