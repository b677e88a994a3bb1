//! Reading a channel back (discord-api, section 2.1): which messages, in which order. Changes nothing.

use serde_json::{Value, json};

use super::{
    message::{StoredMessage, View},
    permissions::Permissions,
    refusal::Refusal,
    snowflake::Snowflake,
    world::World,
};

/// Which part of a channel to read back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slice {
    Newest,
    Before(Snowflake),
    After(Snowflake),
    Around(Snowflake),
}

impl World {
    /// One message, read back.
    pub(super) fn read_message(&self, channel: Snowflake, id: Snowflake) -> Result<Value, Refusal> {
        let message = self.standing_message(channel, id)?;
        if !self
            .visible_channel(channel)?
            .permissions()
            .has(Permissions::READ_MESSAGE_HISTORY)
        {
            return Err(Refusal::missing_access());
        }
        Ok(self.message_object(message, View::Listed))
    }

    /// The messages nearest to the slice's edge, newest first. Without the permission to read history the list is empty, not an error.
    pub(super) fn read_back(
        &self,
        channel: Snowflake,
        slice: Slice,
        limit: usize,
    ) -> Result<Value, Refusal> {
        if !self
            .visible_channel(channel)?
            .permissions()
            .has(Permissions::READ_MESSAGE_HISTORY)
        {
            return Ok(json!([]));
        }
        let standing = self.messages.values().filter(|message| {
            message.channel == channel && !message.deleted && !message.is_ephemeral()
        });
        let mut found: Vec<&StoredMessage> = match slice {
            Slice::Newest => standing.rev().take(limit).collect(),
            Slice::Before(edge) => standing
                .rev()
                .filter(|message| message.id < edge)
                .take(limit)
                .collect(),
            Slice::After(edge) => standing
                .filter(|message| message.id > edge)
                .take(limit)
                .collect(),
            Slice::Around(middle) => {
                let (newer, older) = (limit / 2, limit.div_ceil(2));
                let above = standing
                    .clone()
                    .filter(|message| message.id > middle)
                    .take(newer);
                above
                    .chain(
                        standing
                            .rev()
                            .filter(|message| message.id <= middle)
                            .take(older),
                    )
                    .collect()
            }
        };
        found.sort_by_key(|message| std::cmp::Reverse(message.id));
        Ok(found
            .into_iter()
            .map(|message| self.message_object(message, View::Listed))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::{Discord, say, snowflake::Now};

    #[tokio::test]
    async fn reading_back_starts_at_the_edge_and_lists_newest_first() {
        let mut world = Discord::guild("Acme")
            .channel("ideas")
            .build(([127, 0, 0, 1], 1).into());
        let (ideas, owner, now) = (
            world.channel_named("ideas").id,
            world.users[1].clone(),
            Now::read(),
        );
        let mut said = |text: &str| {
            let id = world.mint.next(now);
            world.publish(say::plain(id, ideas, owner.clone(), text))
        };
        let ids = ["0", "1", "2", "3", "4"].map(&mut said);
        let contents = |slice, limit| -> Vec<String> {
            let list = world.read_back(ideas, slice, limit).expect("listed");
            list.as_array()
                .expect("a list")
                .iter()
                .map(|message| message["content"].as_str().expect("text").to_owned())
                .collect()
        };

        assert_eq!(contents(Slice::Newest, 2), ["4", "3"]);
        assert_eq!(contents(Slice::After(ids[0]), 2), ["2", "1"]);
        assert_eq!(contents(Slice::Before(ids[2]), 50), ["1", "0"]);
        assert_eq!(contents(Slice::Around(ids[2]), 3), ["3", "2", "1"]);
    }
}
