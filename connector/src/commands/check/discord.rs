//! What Discord says over REST: the bot, its application, the server and each listed channel. Every call only reads.

use std::sync::Arc;

use super::table::Table;
use super::{Ground, code_of};
use crate::binding;
use crate::discord::model::{Application, Channel, ChannelKind, Guild, Member};
use crate::discord::permissions::{self, in_channel};
use crate::discord::rest::Timing;
use crate::discord::{Rest, RestError, Token};
use crate::exit::Exit;

/// Permissions without which a reply cannot be posted.
const NEEDED: u64 =
    permissions::VIEW_CHANNEL | permissions::SEND_MESSAGES | permissions::READ_MESSAGE_HISTORY;
/// The same for a forum, where every conversation is a thread.
const NEEDED_IN_FORUM: u64 = permissions::VIEW_CHANNEL
    | permissions::SEND_MESSAGES_IN_THREADS
    | permissions::READ_MESSAGE_HISTORY;
/// Permissions a conversation does without: the read receipt, and threads.
const WANTED: u64 = permissions::ADD_REACTIONS | permissions::SEND_MESSAGES_IN_THREADS;

/// Adds the rows of REST. Nothing when the token does not work: then the gateway is not worth a try.
pub(super) async fn check(table: &mut Table, ground: &Ground, token: &Token) -> Option<Arc<Rest>> {
    let rest = table.row("Discord", connect(ground, token))?;
    table.row("bot", bot(&rest, ground).await)?;
    let application = rest.application().await;
    table.row("message content", message_content(application.clone()));
    table.row("interactions", interactions(application));
    if let Some((guild, member)) = table.row("server", guild(&rest, ground).await) {
        for listed in &ground.binding.channels {
            let name = format!("channel {}", listed.name);
            table.row(name, channel(&rest, ground, listed, &guild, &member).await);
        }
    } else {
        table.skip("channels", "not looked at without the server");
    }
    Some(rest)
}

fn connect(ground: &Ground, token: &Token) -> Result<(Arc<Rest>, String), Exit> {
    let rest = Rest::new(ground.api.clone(), token, Timing::STANDARD).map_err(Exit::failed)?;
    let at = if ground.api.is_stand_in() {
        "a stand-in, named by MOSAIC_DISCORD_API"
    } else {
        "discord.com"
    };
    Ok((Arc::new(rest), at.to_owned()))
}

async fn bot(rest: &Rest, ground: &Ground) -> Result<((), String), Exit> {
    let me = rest.me().await.map_err(|error| match error {
        RestError::Unauthorized => Exit::invalid(
            "Discord does not accept the token. Make a new one in the developer portal (Bot, Reset Token) and write it to \
             the token file.",
        ),
        error => asked("the bot", &error),
    })?;
    if me.id != ground.binding.bot_user {
        return Err(Exit::invalid(format_args!(
            "The token is bot {}'s; botUserId names another.",
            me.id
        )));
    }
    Ok(((), format!("{} ({})", me.username, me.id)))
}

fn message_content(application: Result<Application, RestError>) -> Result<((), String), Exit> {
    let application = application.map_err(|error| asked("the application", &error))?;
    if Application::grants_message_content(application.flags) {
        return Ok(((), "the intent is granted".to_owned()));
    }
    Err(Exit::invalid(
        "The message-content intent is not granted. Turn on Message Content Intent in the developer portal, under Bot.",
    ))
}

fn interactions(application: Result<Application, RestError>) -> Result<((), String), Exit> {
    let application = application.map_err(|error| asked("the application", &error))?;
    match application.interactions_endpoint_url {
        Some(url) if !url.is_empty() => Err(Exit::invalid(
            "An Interactions Endpoint URL is set, so buttons would never reach the connector. Clear it in the developer \
             portal, under General Information.",
        )),
        _ => Ok((
            (),
            "no endpoint url is set, so they come over the gateway".to_owned(),
        )),
    }
}

async fn guild(rest: &Rest, ground: &Ground) -> Result<((Guild, Member), String), Exit> {
    let binding = &ground.binding;
    let guild = rest
        .guild(binding.guild)
        .await
        .map_err(|error| match error {
            RestError::Refused { .. } => Exit::invalid(format_args!(
                "The bot is not in server {} ({error}). Invite it, or correct guildId.",
                binding.guild
            )),
            error => asked("the server", &error),
        })?;
    let member = rest
        .member(binding.guild, binding.bot_user)
        .await
        .map_err(|error| asked("the bot's roles", &error))?;
    let detail = if guild.name == binding.guild_name {
        guild.name.clone()
    } else {
        "its name is not guildName any more; the binding's is used in prompts".to_owned()
    };
    Ok(((guild, member), detail))
}

async fn channel(
    rest: &Rest,
    ground: &Ground,
    listed: &binding::Channel,
    guild: &Guild,
    member: &Member,
) -> Result<((), String), Exit> {
    let channel = rest.channel(listed.id).await.map_err(|error| match error {
        RestError::Refused { .. } => Exit::invalid(format_args!(
            "The bot does not see channel {} ({error}). Give it View Channel there, or correct the id.",
            listed.id
        )),
        error => asked("the channel", &error),
    })?;
    if channel.guild_id != Some(ground.binding.guild) {
        return Err(Exit::invalid(format_args!(
            "Channel {} is not in the bound server. Correct the id.",
            listed.id
        )));
    }
    judge(
        &channel,
        in_channel(guild, &channel, ground.binding.bot_user, member),
    )
    .map(|detail| ((), detail))
}

/// Whether the seat can talk in a channel of this kind with these permissions.
fn judge(channel: &Channel, granted: u64) -> Result<String, Exit> {
    let needed = match channel.kind {
        ChannelKind::Text | ChannelKind::Other(_) => NEEDED,
        ChannelKind::Forum => NEEDED_IN_FORUM,
        ChannelKind::Thread => {
            return Err(Exit::invalid(
                "This is a thread. List its channel; threads inherit the parent's mode.",
            ));
        }
    };
    let lacking = names(needed & !granted);
    if !lacking.is_empty() {
        return Err(Exit::invalid(format_args!(
            "The bot lacks {lacking}. Grant it in the channel's settings, under Permissions."
        )));
    }
    let without = names(WANTED & !needed & !granted);
    Ok(if without.is_empty() {
        format!("may: {}", names(needed | WANTED))
    } else {
        format!("may talk; does without {without}")
    })
}

fn names(bits: u64) -> String {
    let named = permissions::NAMED.iter().filter(|(bit, _)| bits & bit != 0);
    named.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

fn asked(what: &str, error: &RestError) -> Exit {
    Exit {
        code: code_of(error),
        sentence: match error {
            RestError::NotSent(_) => format!(
                "{error} (asked for {what}). Look at the network and the firewall of this host: discord.com, TCP port 443."
            ),
            error => format!("Discord was asked for {what}: {error}."),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Code;

    fn of_kind(kind: u64) -> Channel {
        serde_json::from_value(serde_json::json!({ "id": "7", "type": kind })).unwrap()
    }

    #[test]
    fn a_channel_passes_with_what_a_reply_needs_and_says_what_it_does_without() {
        let text = of_kind(0);

        assert_eq!(
            judge(&text, NEEDED | WANTED).unwrap(),
            "may: View Channel, Send Messages, Read Message History, Add Reactions, Send Messages in Threads"
        );
        assert_eq!(
            judge(&text, NEEDED).unwrap(),
            "may talk; does without Add Reactions, Send Messages in Threads"
        );
    }

    #[test]
    fn each_lacking_permission_fails_by_name() {
        for (bit, name) in permissions::NAMED
            .iter()
            .filter(|(bit, _)| NEEDED & bit != 0)
        {
            let exit = judge(&of_kind(0), (NEEDED | WANTED) & !bit).unwrap_err();

            assert_eq!(exit.code, Code::Invalid);
            assert!(exit.sentence.contains(name), "{}", exit.sentence);
        }
    }

    #[test]
    fn a_forum_needs_the_right_to_talk_in_threads_and_a_listed_thread_is_refused() {
        assert!(judge(&of_kind(15), NEEDED).is_err());
        assert!(judge(&of_kind(15), NEEDED_IN_FORUM).is_ok());
        assert!(judge(&of_kind(11), u64::MAX).is_err());
    }
}
