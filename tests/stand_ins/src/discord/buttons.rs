//! Presses of buttons and how they may be answered (discord-api, section 9, H12): within three seconds, once, and for fifteen minutes after.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    draft::Draft,
    message::{StoredMessage, View},
    record::Happening,
    refusal::Refusal,
    snowflake::{Now, Snowflake},
    world::{Event, World, intents},
};

/// The first answer must come within this time.
const FIRST_ANSWER: Duration = Duration::from_secs(3);
/// Follow-ups and edits go through the press for so long.
const TOKEN_LIFE: Duration = Duration::from_secs(15 * 60);

/// One press of a button.
#[derive(Clone, Debug)]
pub struct Press {
    /// The interaction's id.
    pub id: Snowflake,
    /// The secret that answers it.
    pub token: String,
    /// The message the button is on.
    pub message: Snowflake,
    /// Who pressed.
    pub user: Snowflake,
    /// The callback type of the first answer, once there was one.
    pub answered: Option<u64>,
    /// The message that answer made (type 4).
    pub response: Option<Snowflake>,
    at: Instant,
}

impl World {
    /// Every press so far.
    #[must_use]
    pub fn presses(&self) -> &[Press] {
        &self.presses
    }

    /// Somebody presses a button of a message; everyone who listens hears of it.
    pub(super) fn press(
        &mut self,
        message: Snowflake,
        custom_id: &str,
        user: Snowflake,
        now: Now,
    ) -> Snowflake {
        let pressed = self
            .messages
            .get(&message)
            .unwrap_or_else(|| panic!("no message {message} to press a button of"));
        let presser = self
            .user(user)
            .unwrap_or_else(|| panic!("no user {user} to press it"));
        let channel = self
            .channel(pressed.channel)
            .expect("a message is in a channel");
        let mut shown = self.message_object(pressed, View::Listed);
        shown["nonce"] = Value::Null;
        let (permissions, place) = (
            channel.permissions().0.to_string(),
            self.channel_object(channel),
        );
        let mut member = presser.member(
            pressed
                .nick
                .as_deref()
                .filter(|_| pressed.author.id == user),
            &[],
        );
        member["permissions"] = json!(permissions);
        let component = button_id(&pressed.components, custom_id);
        let channel_id = channel.id;

        let id = self.mint.next(now);
        let token = format!(
            "aW50ZXJhY3Rpb246{:x}{:x}",
            id.0.rotate_left(21),
            id.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        );
        let data = json!({
            "id": id, "application_id": self.bot.id, "type": 3, "token": token, "version": 1, "guild_id": self.guild.id,
            "guild": { "id": self.guild.id, "locale": "en-US", "features": [] }, "channel_id": channel_id, "channel": place,
            "member": member, "message": shown, "data": { "component_type": 2, "custom_id": custom_id, "id": component },
            "app_permissions": permissions, "locale": "en-US", "guild_locale": "en-US", "entitlements": [], "context": 0,
            "authorizing_integration_owners": { "0": self.guild.id }, "attachment_size_limit": 524_288_000,
        });
        self.presses.push(Press {
            id,
            token,
            message,
            user,
            answered: None,
            response: None,
            at: now.instant,
        });
        // A press needs no intent.
        self.emit(&Event {
            name: "INTERACTION_CREATE",
            needs: intents::NONE,
            channel: Some(channel_id),
            data,
        });
        id
    }

    /// The first answer to a press.
    pub(super) fn answer_press(
        &mut self,
        id: Snowflake,
        token: &str,
        body: &Value,
        now: Now,
    ) -> Result<Value, Refusal> {
        let press = self
            .presses
            .iter()
            .find(|press| press.id == id && press.token == token)
            .ok_or_else(Refusal::unknown_interaction)?;
        if press.answered.is_some() {
            return Err(Refusal::already_acknowledged());
        }
        if now.instant.duration_since(press.at) > FIRST_ANSWER {
            return Err(Refusal::unknown_interaction());
        }
        let kind = body["type"].as_u64().filter(|kind| (4..=7).contains(kind));
        let kind = kind.ok_or_else(|| {
            Refusal::form(
                "type",
                "BASE_TYPE_CHOICES",
                "Value must be one of {4, 5, 6, 7}.",
            )
        })?;
        let pressed = press.message;
        let response = match kind {
            4 => Some(self.respond(pressed, &body["data"], now)?),
            7 => {
                self.revise(pressed, &body["data"], now)?;
                Some(pressed)
            }
            _ => None,
        };
        let press = self
            .presses
            .iter_mut()
            .find(|press| press.id == id)
            .expect("it was there above");
        press.answered = Some(kind);
        press.response = response.filter(|_| kind == 4);
        self.note(Happening::Answered {
            interaction: id,
            kind,
        });

        let mut answer = json!({ "interaction": { "id": id, "type": 3, "response_message_id": response, "response_message_ephemeral": false } });
        if let Some(message) = response.and_then(|id| self.messages.get(&id)) {
            answer["interaction"]["response_message_ephemeral"] = json!(message.is_ephemeral());
            answer["resource"] =
                json!({ "type": kind, "message": self.message_object(message, View::Listed) });
        }
        Ok(answer)
    }

    /// A new message in answer to a press; with flag 64 only the presser sees it.
    fn respond(
        &mut self,
        pressed: Snowflake,
        data: &Value,
        now: Now,
    ) -> Result<Snowflake, Refusal> {
        let draft = Draft::parse(data)?;
        let channel = self
            .messages
            .get(&pressed)
            .ok_or_else(Refusal::unknown_message)?
            .channel;
        let id = self.mint.next(now);
        let mut message = self.compose(id, channel, draft, None);
        message
            .extra
            .insert("application_id".into(), json!(self.bot.id));
        Ok(self.publish(message))
    }

    /// The press a webhook path speaks of, while its token lives.
    fn living_press(
        &self,
        application: Snowflake,
        token: &str,
        now: Now,
    ) -> Result<&Press, Refusal> {
        let press = self
            .presses
            .iter()
            .find(|press| press.token == token && application == self.bot.id);
        let press = press.filter(|press| {
            press.answered.is_some() && now.instant.duration_since(press.at) <= TOKEN_LIFE
        });
        press.ok_or_else(Refusal::unknown_webhook)
    }

    /// The message `@original` means: the answer where there is one, else the message with the button.
    fn original(
        &self,
        application: Snowflake,
        token: &str,
        now: Now,
    ) -> Result<&StoredMessage, Refusal> {
        let press = self.living_press(application, token, now)?;
        let message = self
            .messages
            .get(&press.response.unwrap_or(press.message))
            .filter(|message| !message.deleted);
        message.ok_or_else(Refusal::unknown_message)
    }

    pub(super) fn original_of_press(
        &self,
        application: Snowflake,
        token: &str,
        now: Now,
    ) -> Result<Value, Refusal> {
        Ok(self.message_object(self.original(application, token, now)?, View::Listed))
    }

    pub(super) fn edit_original(
        &mut self,
        application: Snowflake,
        token: &str,
        body: &Value,
        now: Now,
    ) -> Result<Value, Refusal> {
        let id = self.original(application, token, now)?.id;
        self.revise(id, body, now)
    }

    /// A further message through the press. Its nonce is never enforced (section 3.2).
    pub(super) fn follow_up(
        &mut self,
        application: Snowflake,
        token: &str,
        body: &Value,
        now: Now,
    ) -> Result<Value, Refusal> {
        let pressed = self.living_press(application, token, now)?.message;
        let id = self.respond(pressed, body, now)?;
        Ok(self.message_object(&self.messages[&id], View::Created))
    }
}

fn button_id(rows: &Value, custom_id: &str) -> Value {
    let buttons = rows
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["components"].as_array())
        .flatten();
    buttons
        .filter(|button| button["custom_id"] == custom_id)
        .map(|button| button["id"].clone())
        .next()
        .unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::Discord;

    /// A world with one approval message, and a press of its button by Jason.
    fn pressed() -> (World, Press, Now) {
        let mut world = Discord::guild("Acme")
            .channel("ideas")
            .user("Jason")
            .build(([127, 0, 0, 1], 1).into());
        let now = Now::read();
        let (ideas, jason) = (
            world.channel_named("ideas").id,
            world.user_named("Jason").id,
        );
        let button = json!({ "type": 2, "style": 3, "label": "Approve", "custom_id": "approve" });
        let body =
            json!({ "content": "Proposal", "components": [{ "type": 1, "components": [button] }] });
        let posted = world.post(ideas, &body, now).expect("posted");
        let message = Snowflake::parse(posted["id"].as_str().expect("an id")).expect("a number");
        world.press(message, "approve", jason, now);
        let press = world.presses[0].clone();
        (world, press, now)
    }

    fn after(now: Now, seconds: u64) -> Now {
        Now {
            instant: now.instant + Duration::from_secs(seconds),
            ..now
        }
    }

    #[tokio::test]
    async fn a_press_is_answered_once() {
        let (mut world, press, now) = pressed();
        assert!(
            world
                .answer_press(press.id, &press.token, &json!({ "type": 6 }), now)
                .is_ok()
        );
        assert_eq!(
            world.answer_press(press.id, &press.token, &json!({ "type": 6 }), now),
            Err(Refusal::already_acknowledged())
        );
    }

    #[tokio::test]
    async fn a_press_is_answered_within_three_seconds_or_never() {
        let (mut world, press, now) = pressed();
        let late = world.answer_press(press.id, &press.token, &json!({ "type": 6 }), after(now, 4));
        assert_eq!(late, Err(Refusal::unknown_interaction()));
    }

    #[tokio::test]
    async fn a_private_answer_is_in_no_list() {
        let (mut world, press, now) = pressed();
        let body =
            json!({ "type": 4, "data": { "content": "Not yours to approve.", "flags": 64 } });
        world
            .answer_press(press.id, &press.token, &body, now)
            .expect("answered");

        let private: Vec<&StoredMessage> = world
            .messages("ideas")
            .into_iter()
            .filter(|message| message.is_ephemeral())
            .collect();
        assert_eq!(
            private
                .iter()
                .map(|message| message.content.as_str())
                .collect::<Vec<_>>(),
            ["Not yours to approve."]
        );
        let listed = world
            .read_back(
                private[0].channel,
                crate::discord::history::Slice::Newest,
                50,
            )
            .expect("listed");
        assert_eq!(listed.as_array().map(Vec::len), Some(1));
    }

    #[tokio::test]
    async fn the_original_can_be_edited_for_fifteen_minutes() {
        let (mut world, press, now) = pressed();
        world
            .answer_press(press.id, &press.token, &json!({ "type": 6 }), now)
            .expect("answered");
        let (bot, body) = (
            world.bot.id,
            json!({ "content": "Approved.", "components": [] }),
        );

        world
            .edit_original(bot, &press.token, &body, after(now, 900))
            .expect("edited");
        assert_eq!(world.messages[&press.message].content, "Approved.");
        assert_eq!(
            world.edit_original(bot, &press.token, &body, after(now, 901)),
            Err(Refusal::unknown_webhook())
        );
    }
}
