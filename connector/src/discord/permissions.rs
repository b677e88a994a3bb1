//! What a member may do in a channel, computed as Discord documents it. Pure arithmetic on what REST gave.
//! It does not know which permissions anybody needs.

use super::model::{Channel, Guild, Member};
use super::snowflake::Snowflake;

/// Permission bits by the name Discord's settings show.
pub const NAMED: &[(u64, &str)] = &[
    (VIEW_CHANNEL, "View Channel"),
    (SEND_MESSAGES, "Send Messages"),
    (READ_MESSAGE_HISTORY, "Read Message History"),
    (ADD_REACTIONS, "Add Reactions"),
    (SEND_MESSAGES_IN_THREADS, "Send Messages in Threads"),
];

/// Reactions nobody gave before.
pub const ADD_REACTIONS: u64 = 1 << 6;
/// Seeing the channel at all; without it nothing else counts.
pub const VIEW_CHANNEL: u64 = 1 << 10;
/// Writing in a channel; counts for nothing inside a thread.
pub const SEND_MESSAGES: u64 = 1 << 11;
/// Reading what was said before; also needed to reply and to react.
pub const READ_MESSAGE_HISTORY: u64 = 1 << 16;
/// Writing in a thread.
pub const SEND_MESSAGES_IN_THREADS: u64 = 1 << 38;

const ADMINISTRATOR: u64 = 1 << 3;

/// The bits `member` (whose user id is `user`) has in `channel`. For a thread, pass its parent: threads have no rules of their own.
#[must_use]
pub fn in_channel(guild: &Guild, channel: &Channel, user: Snowflake, member: &Member) -> u64 {
    let everyone = guild.id;
    let held = |role: Snowflake| role == everyone || member.roles.contains(&role);
    let base = guild
        .roles
        .iter()
        .filter(|role| held(role.id))
        .fold(0, |bits, role| bits | role.permissions);
    if guild.owner_id == Some(user) || base & ADMINISTRATOR != 0 {
        return u64::MAX;
    }

    // Everyone's exception first, then all roles' together, then the member's own: each later one wins.
    let exceptions = |applies: &dyn Fn(Snowflake) -> bool| {
        let rules = channel
            .permission_overwrites
            .iter()
            .filter(|rule| applies(rule.id));
        rules.fold((0, 0), |(deny, allow), rule| {
            (deny | rule.deny, allow | rule.allow)
        })
    };
    let steps = [
        exceptions(&|id| id == everyone),
        exceptions(&|id| id != everyone && member.roles.contains(&id)),
        exceptions(&|id| id == user),
    ];
    let bits = steps
        .into_iter()
        .fold(base, |bits, (deny, allow)| bits & !deny | allow);
    if bits & VIEW_CHANNEL == 0 { 0 } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::model::{Overwrite, Role};

    const GUILD: u64 = 1;
    const ROLE: u64 = 2;
    const USER: u64 = 3;

    fn id(number: u64) -> Snowflake {
        Snowflake::new(number).unwrap()
    }

    fn guild(everyone: u64, role: u64) -> Guild {
        let roles = vec![
            Role {
                id: id(GUILD),
                permissions: everyone,
            },
            Role {
                id: id(ROLE),
                permissions: role,
            },
        ];
        Guild {
            id: id(GUILD),
            name: String::new(),
            owner_id: None,
            roles,
        }
    }

    fn bits(guild: &Guild, rules: &[(u64, u64, u64)]) -> u64 {
        let mut channel: Channel = serde_json::from_str(r#"{"id":"9"}"#).unwrap();
        channel.permission_overwrites = rules
            .iter()
            .map(|&(who, deny, allow)| Overwrite {
                id: id(who),
                allow,
                deny,
            })
            .collect();
        in_channel(
            guild,
            &channel,
            id(USER),
            &Member {
                roles: vec![id(ROLE)],
                ..Member::default()
            },
        )
    }

    #[test]
    fn roles_add_up_and_a_later_exception_wins() {
        let server = guild(VIEW_CHANNEL, SEND_MESSAGES);

        assert_eq!(bits(&server, &[]), VIEW_CHANNEL | SEND_MESSAGES);
        assert_eq!(bits(&server, &[(GUILD, SEND_MESSAGES, 0)]), VIEW_CHANNEL);
        assert_eq!(
            bits(
                &server,
                &[(GUILD, SEND_MESSAGES, 0), (ROLE, 0, SEND_MESSAGES)]
            ),
            VIEW_CHANNEL | SEND_MESSAGES
        );
        assert_eq!(
            bits(
                &server,
                &[(ROLE, 0, SEND_MESSAGES), (USER, SEND_MESSAGES, 0)]
            ),
            VIEW_CHANNEL
        );
        assert_eq!(
            bits(&server, &[(7, SEND_MESSAGES, 0)]),
            VIEW_CHANNEL | SEND_MESSAGES
        );
    }

    #[test]
    fn who_cannot_see_a_channel_can_do_nothing_in_it() {
        assert_eq!(
            bits(
                &guild(VIEW_CHANNEL | SEND_MESSAGES, 0),
                &[(GUILD, VIEW_CHANNEL, 0)]
            ),
            0
        );
    }

    #[test]
    fn an_administrator_and_the_owner_can_do_everything() {
        let mut owned = guild(0, 0);
        owned.owner_id = Some(id(USER));

        assert_eq!(bits(&owned, &[]), u64::MAX);
        assert_eq!(
            bits(&guild(0, ADMINISTRATOR), &[(GUILD, VIEW_CHANNEL, 0)]),
            u64::MAX
        );
    }
}
