//! Who may speak, and where: judges one message against the binding. Looks nothing up and writes nothing down; every way
//! out of the gate is a [`Verdict`] with one reason (seeds 002, "What happens to a message", step 1).

use crate::{
    binding::{Binding, Channel, Mode},
    discord::{
        Snowflake,
        model::{Message, MessageKind},
    },
    journal::lines::DropReason,
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

fn admitted<'a>(message: &Message, place: Place, binding: &'a Binding) -> Result<Option<&'a Channel>, DropReason> {
    let refuse_if = |holds: bool, reason: DropReason| if holds { Err(reason) } else { Ok(()) };

    refuse_if(message.author.id == binding.bot_user, DropReason::OwnMessage)?;
    refuse_if(message.guild_id != Some(binding.guild), DropReason::OtherGuild)?;
    refuse_if(message.webhook_id.is_some(), DropReason::Webhook)?;
    refuse_if(message.author.bot || message.author.system, DropReason::Bot)?;
    // Of all types only these two are written by people (DESIGN 7.8; E1, E2).
    let written = matches!(message.kind, MessageKind::Default | MessageKind::Reply);
    refuse_if(!written, DropReason::MessageType)?;
    let user = binding.user(message.author.id).ok_or(DropReason::AuthorNotListed)?;

    let listed = match (binding.channel(message.channel_id), place) {
        (Some(channel), _) => channel,
        (None, Place::ThreadOf(parent)) => binding.channel(parent).ok_or(DropReason::ChannelNotListed)?,
        (None, Place::NoThread) => return Err(DropReason::ChannelNotListed),
        (None, Place::Unseen) => return Ok(None),
    };
    let for_user = user.channels.as_ref().is_none_or(|own| own.contains(&listed.id));
    refuse_if(!for_user, DropReason::ChannelNotForUser)?;

    refuse_if(message.is_forward(), DropReason::Forward)?;
    refuse_if(is_blank(&message.content), DropReason::NoText)?;

    if listed.mode == Mode::Mention && !message.mentions(binding.bot_user) {
        let reason = if message.mention_roles.is_empty() { DropReason::NotMentioned } else { DropReason::RoleMention };
        return Err(reason);
    }
    Ok(Some(listed))
}

/// Whether a person would see nothing: white space, controls and characters without a shape (E18).
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control() || SHAPELESS.iter().any(|range| range.contains(&c)))
}

/// Characters that take part in no visible shape on their own: joiners, direction marks, fillers, selectors, tags.
const SHAPELESS: [std::ops::RangeInclusive<char>; 11] = [
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{e0000}'..='\u{e0fff}',
];
