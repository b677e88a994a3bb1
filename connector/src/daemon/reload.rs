//! A reload: the binding that was handed over is read, compared with the one in force, its new channels looked up. It decides
//! whether it may be taken; taking it is the daemon's.
//!
//! The confined process can no longer open the binding file, and an editor replaces it by a rename, so no rule on the file
//! and no descriptor of it would show the new one, while a rule on its folder would open every binding's journals. So the
//! file comes to us: `mosaic-discord reload` puts the bytes it has checked into `reload/` of our own data folder.

use std::{fs, sync::Arc};

use tokio::{signal::unix::Signal, sync::mpsc::UnboundedSender};

use super::Note;
use crate::{
    binding::{Binding, BindingError, Changes, FileProblem},
    discord::{Rest, RestError, Snowflake},
    journal::lines::Refused,
    paths::Paths,
};

/// What a reload came to.
#[derive(Debug)]
pub(super) enum Reload {
    /// Asked for; the outcome follows.
    Asked,
    /// To be applied.
    Accepted(Box<Accepted>),
    /// The old binding stays.
    Refused(Refused),
}

/// A binding that may be taken.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) binding: Arc<Binding>,
    /// The file it was read from, for the next comparison.
    pub(super) bytes: Vec<u8>,
    pub(super) changes: Changes,
}

/// Waits for SIGHUP and tries, one after the other, until the process ends.
pub(super) async fn serve(
    mut asked: Signal,
    mut current: Arc<Binding>,
    paths: Paths,
    rest: Arc<Rest>,
    notes: UnboundedSender<Note>,
) {
    while asked.recv().await.is_some() {
        let _ = notes.send(Note::Reload(Reload::Asked));
        let outcome = match attempt(&current, &paths, &rest).await {
            Ok(accepted) => {
                current = Arc::clone(&accepted.binding);
                Reload::Accepted(Box::new(accepted))
            }
            Err(refused) => Reload::Refused(refused),
        };
        let _ = notes.send(Note::Reload(outcome));
    }
}

async fn attempt(current: &Binding, paths: &Paths, rest: &Rest) -> Result<Accepted, Refused> {
    let (handed, bytes) = tokio::task::block_in_place(|| take(paths))?;
    let changes = Changes::between(current, &handed).map_err(|fields| Refused::FixedFields {
        fields: fields.into_iter().map(str::to_owned).collect(),
    })?;
    for channel in &changes.channels.added {
        look_up(rest, *channel, handed.guild).await?;
    }
    Ok(Accepted {
        binding: Arc::new(handed),
        bytes,
        changes,
    })
}

/// Reads what was handed over, once: a signal without a new copy must not apply an old one again.
fn take(paths: &Paths) -> Result<(Binding, Vec<u8>), Refused> {
    let copy = paths.handed_binding();
    let read = Binding::read_with_bytes(&copy, paths.name().as_str());
    let _ = fs::remove_file(&copy);
    read.map_err(|error| match error {
        BindingError::File {
            problem: FileProblem::Missing,
            ..
        } => Refused::NothingHandedOver,
        BindingError::Field { misfit, .. } => Refused::Invalid {
            field: Some(misfit.field),
        },
        _ => Refused::Invalid { field: None },
    })
}

async fn look_up(rest: &Rest, channel: Snowflake, guild: Snowflake) -> Result<(), Refused> {
    match rest.channel(channel).await {
        Ok(found) if found.guild_id == Some(guild) => Ok(()),
        Ok(_) => Err(Refused::ChannelElsewhere { channel }),
        Err(RestError::Refused { .. }) => Err(Refused::ChannelNotSeen { channel }),
        Err(error) => {
            tracing::warn!(%channel, %error, "a new channel could not be looked up");
            Err(Refused::LookUpFailed { channel })
        }
    }
}
