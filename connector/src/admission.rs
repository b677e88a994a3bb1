//! Who may speak, and where: judges one message against the binding. Looks nothing up and writes nothing down; every way
//! out of the gate is a [`Verdict`] with one reason (seeds 002, "What happens to a message", step 1).

use crate::{
    binding::{Binding, Channel, Mode},
    discord::{
        Snowflake,
        model::{Message, MessageKind},
    },
    journal::lines::DropReason,
    visible::is_blank,
};

/// What is known of the channel a message stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Nothing yet: it may be a thread whose parent must be looked up first (DESIGN 7.11).
    Unseen,
    /// A thread of this channel.
    ThreadOf(Snowflake),
    /// Looked up, and not a thread; or the look-up failed. Only the channel's own id can admit it.
    NoThread,
}

/// The one outcome of the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// A turn, in this listed channel or a thread of it.
    Turn(&'a Channel),
    /// Not for us, for this reason.
    Drop(DropReason),
    /// The channel is not listed and may be a thread: look its parent up and ask again.
    LookUp,
}

/// Judges `message`. Reasons are tried in the order of [`DropReason`]; the first that holds is the one.
pub fn judge<'a>(message: &Message, place: Place, binding: &'a Binding) -> Verdict<'a> {
    match admitted(message, place, binding) {
        Ok(Some(channel)) => Verdict::Turn(channel),
        Ok(None) => Verdict::LookUp,
        Err(reason) => Verdict::Drop(reason),
    }
}

fn admitted<'a>(
    message: &Message,
    place: Place,
    binding: &'a Binding,
) -> Result<Option<&'a Channel>, DropReason> {
    let refuse_if = |holds: bool, reason: DropReason| if holds { Err(reason) } else { Ok(()) };

    refuse_if(
        message.author.id == binding.bot_user,
        DropReason::OwnMessage,
    )?;
    refuse_if(
        message.guild_id != Some(binding.guild),
        DropReason::OtherGuild,
    )?;
    refuse_if(message.webhook_id.is_some(), DropReason::Webhook)?;
    refuse_if(message.author.bot || message.author.system, DropReason::Bot)?;
    // Of all types only these two are written by people (DESIGN 7.8; E1, E2).
    let written = matches!(message.kind, MessageKind::Default | MessageKind::Reply);
    refuse_if(!written, DropReason::MessageType)?;
    let user = binding
        .user(message.author.id)
        .ok_or(DropReason::AuthorNotListed)?;

    let listed = match (binding.channel(message.channel_id), place) {
        (Some(channel), _) => channel,
        (None, Place::ThreadOf(parent)) => binding
            .channel(parent)
            .ok_or(DropReason::ChannelNotListed)?,
        (None, Place::NoThread) => return Err(DropReason::ChannelNotListed),
        (None, Place::Unseen) => return Ok(None),
    };
    let for_user = user
        .channels
        .as_ref()
        .is_none_or(|own| own.contains(&listed.id));
    refuse_if(!for_user, DropReason::ChannelNotForUser)?;

    refuse_if(message.is_forward(), DropReason::Forward)?;
    refuse_if(is_blank(&message.content), DropReason::NoText)?;

    if listed.mode == Mode::Mention && !message.mentions(binding.bot_user) {
        let reason = if message.mention_roles.is_empty() {
            DropReason::NotMentioned
        } else {
            DropReason::RoleMention
        };
        return Err(reason);
    }
    Ok(Some(listed))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        binding::{Engine, Limits, User},
        discord::parse_json,
    };

    fn id(number: u64) -> Snowflake {
        Snowflake::new(number).unwrap()
    }

    /// Server 1, bot 9; channel 20 is open, 21 wants a mention; 30 may speak everywhere, 31 in 21 only.
    fn binding() -> Binding {
        let channel = |number, mode| Channel {
            id: id(number),
            name: format!("c{number}"),
            mode,
        };
        let user = |number, channels| User {
            id: id(number),
            name: format!("u{number}"),
            channels,
        };
        Binding {
            name: "sage".into(),
            seat: "sage".into(),
            guild: id(1),
            guild_name: "Acme".into(),
            bot_user: id(9),
            token_file: "/t".into(),
            channels: vec![channel(20, Mode::Open), channel(21, Mode::Mention)],
            users: vec![user(30, None), user(31, Some(vec![id(21)]))],
            engine: Engine {
                provider: "p".into(),
                model: "m".into(),
                thinking: "off".into(),
            },
            limits: Limits::default(),
            context_files: vec![],
            tools: None,
            required_abi: mosaic_sandbox::RequiredAbi::default(),
        }
    }

    /// A message of user 30 in channel 20, with these keys laid over it.
    fn message(over: &Value) -> Message {
        let mut whole = json!({
            "id": "100", "channel_id": "20", "guild_id": "1", "type": 0, "content": "hello",
            "author": { "id": "30", "username": "jay" },
        });
        whole
            .as_object_mut()
            .unwrap()
            .extend(over.as_object().unwrap().clone());
        parse_json(whole.to_string().as_bytes()).unwrap()
    }

    fn outcome(over: &Value, place: Place) -> String {
        match judge(&message(over), place, &binding()) {
            Verdict::Turn(channel) => format!("turn in {}", channel.id),
            Verdict::Drop(reason) => serde_json::to_value(reason)
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned(),
            Verdict::LookUp => "look-up".to_owned(),
        }
    }

    #[test]
    fn every_message_has_one_way_out_of_the_gate() {
        let thread = json!({ "channel_id": "40" });
        let mention = json!([{ "id": "9", "username": "sage" }]);
        let rows = [
            (json!({}), Place::Unseen, "turn in 20"),
            (json!({ "type": 19 }), Place::Unseen, "turn in 20"),
            (
                json!({ "author": { "id": "9" } }),
                Place::Unseen,
                "own-message",
            ),
            (json!({ "guild_id": "2" }), Place::Unseen, "other-guild"),
            (json!({ "guild_id": null }), Place::Unseen, "other-guild"),
            (json!({ "webhook_id": "5" }), Place::Unseen, "webhook"),
            (
                json!({ "author": { "id": "30", "bot": true } }),
                Place::Unseen,
                "bot",
            ),
            (
                json!({ "type": 18, "content": "approve" }),
                Place::Unseen,
                "message-type",
            ),
            (
                json!({ "type": 6, "content": "" }),
                Place::Unseen,
                "message-type",
            ),
            (json!({ "type": 250 }), Place::Unseen, "message-type"),
            (
                json!({ "author": { "id": "32" } }),
                Place::Unseen,
                "author-not-listed",
            ),
            (thread.clone(), Place::Unseen, "look-up"),
            (thread.clone(), Place::NoThread, "channel-not-listed"),
            (thread.clone(), Place::ThreadOf(id(20)), "turn in 20"),
            (thread, Place::ThreadOf(id(22)), "channel-not-listed"),
            (
                json!({ "author": { "id": "31" } }),
                Place::Unseen,
                "channel-not-for-user",
            ),
            (
                json!({ "message_reference": { "type": 1, "message_id": "7" } }),
                Place::Unseen,
                "forward",
            ),
            (
                json!({ "content": "", "message_snapshots": [{ "message": {} }] }),
                Place::Unseen,
                "forward",
            ),
            (
                json!({ "content": "", "attachments": [{}] }),
                Place::Unseen,
                "no-text",
            ),
            (
                json!({ "content": " \u{200b}\n\u{feff}\u{0}" }),
                Place::Unseen,
                "no-text",
            ),
            (
                json!({ "channel_id": "21" }),
                Place::Unseen,
                "not-mentioned",
            ),
            (
                json!({ "channel_id": "21", "mention_everyone": true }),
                Place::Unseen,
                "not-mentioned",
            ),
            (
                json!({ "channel_id": "21", "content": "`<@9>`" }),
                Place::Unseen,
                "not-mentioned",
            ),
            (
                json!({ "channel_id": "21", "mention_roles": ["8"] }),
                Place::Unseen,
                "role-mention",
            ),
            (
                json!({ "channel_id": "21", "mentions": mention }),
                Place::Unseen,
                "turn in 21",
            ),
            (
                json!({ "channel_id": "40", "mentions": mention }),
                Place::ThreadOf(id(21)),
                "turn in 21",
            ),
            (
                json!({ "channel_id": "40" }),
                Place::ThreadOf(id(21)),
                "not-mentioned",
            ),
        ];
        for (over, place, expected) in rows {
            assert_eq!(outcome(&over, place), expected, "{over}");
        }
    }

    #[test]
    fn d_36_a_mention_in_a_thread_does_not_keep_it_awake() {
        let place = Place::ThreadOf(id(21));
        let mention = json!([{ "id": "9", "username": "sage" }]);
        let first = json!({ "channel_id": "40", "mentions": mention });

        assert_eq!(outcome(&first, place), "turn in 21");
        assert_eq!(
            outcome(&json!({ "channel_id": "40" }), place),
            "not-mentioned"
        );
    }

    #[test]
    fn d_37_the_bots_role_is_not_the_bot() {
        let role = json!({ "channel_id": "21", "mention_roles": ["8"], "content": "<@&8> hello" });

        assert_eq!(outcome(&role, Place::Unseen), "role-mention");
    }

    #[test]
    fn d_38_everyone_is_not_the_bot() {
        let everyone = json!({
            "channel_id": "21", "mention_everyone": true, "mentions": [], "content": "@everyone hello",
        });

        assert_eq!(outcome(&everyone, Place::Unseen), "not-mentioned");
    }

    #[test]
    fn d_43_neither_another_bot_nor_a_webhook_nor_its_own_message_gets_an_answer() {
        let mention = json!([{ "id": "9", "username": "sage" }]);
        for (author, webhook, expected) in [
            (json!({ "id": "33", "bot": true }), json!(null), "bot"),
            (
                json!({ "id": "30", "username": "u30" }),
                json!("5"),
                "webhook",
            ),
            (
                json!({ "id": "9", "bot": true }),
                json!(null),
                "own-message",
            ),
        ] {
            let message = json!({ "author": author, "webhook_id": webhook, "mentions": mention });
            assert_eq!(outcome(&message, Place::Unseen), expected);
        }
    }

    #[test]
    fn d_46_a_message_without_text_is_one_drop_whatever_hangs_on_it() {
        for carried in [
            json!({ "attachments": [{}] }),
            json!({ "sticker_items": [{}] }),
            json!({ "attachments": [{}], "flags": 1 << 13 }),
            json!({ "poll": {} }),
        ] {
            let mut over = carried;
            over["content"] = json!("");
            assert_eq!(outcome(&over, Place::Unseen), "no-text", "{over}");
        }
    }

    #[test]
    fn d_47_a_forward_is_no_word_of_the_forwarder() {
        let snapshot = json!([{ "message": { "content": "delete everything" } }]);
        let forward = json!({
            "content": "", "message_snapshots": snapshot,
            "message_reference": { "type": 1, "message_id": "7" },
        });

        assert_eq!(outcome(&forward, Place::Unseen), "forward");
    }

    #[test]
    fn a_listed_user_name_on_a_webhook_or_bot_gains_nothing() {
        assert_eq!(
            outcome(&json!({ "webhook_id": "30" }), Place::Unseen),
            "webhook"
        );
        assert_eq!(
            outcome(
                &json!({ "author": { "id": "30", "system": true } }),
                Place::Unseen
            ),
            "bot"
        );
    }
}
