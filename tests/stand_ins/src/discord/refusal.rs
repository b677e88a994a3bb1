//! Every error answer this server can give, with Discord's code, status and shape (discord-api, section 2.2). Decides none of them.

use serde_json::{Value, json};

/// An error answer of the REST API.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// Discord's own code; 0 means "see the status".
    pub code: u32,
    /// Human words.
    pub message: String,
    /// The `errors` tree of a 50035.
    pub errors: Option<Value>,
}

impl Refusal {
    /// Any refusal, for faults a test makes up.
    pub fn new(status: u16, code: u32, message: impl Into<String>) -> Self {
        Refusal {
            status,
            code,
            message: message.into(),
            errors: None,
        }
    }

    /// 50035 with one leaf under `path` (dots between keys; array positions are keys too).
    pub(super) fn form(path: &str, name: &str, message: &str) -> Self {
        let mut tree = json!({ "_errors": [{ "code": name, "message": message }] });
        for key in path.split('.').rev().filter(|key| !key.is_empty()) {
            tree = json!({ key: tree });
        }
        Refusal {
            errors: Some(tree),
            ..Refusal::new(400, 50035, "Invalid Form Body")
        }
    }

    /// The JSON body.
    #[must_use]
    pub fn body(&self) -> Value {
        let mut body = json!({ "message": self.message, "code": self.code });
        if let Some(errors) = &self.errors {
            body["errors"] = errors.clone();
        }
        body
    }
}

/// One constructor per row of the table below.
macro_rules! refusals {
    ($($name:ident = $status:literal $code:literal $message:literal;)*) => {
        impl Refusal { $(
            pub(super) fn $name() -> Self { Refusal::new($status, $code, $message) }
        )* }
    };
}

refusals! {
    unauthorized          = 401 0      "401: Unauthorized";
    no_such_route         = 404 0      "404: Not Found";
    wrong_verb            = 405 0      "405: Method Not Allowed";
    unknown_channel       = 404 10003  "Unknown Channel";
    unknown_guild         = 404 10004  "Unknown Guild";
    unknown_member        = 404 10007  "Unknown Member";
    unknown_message       = 404 10008  "Unknown Message";
    unknown_user          = 404 10013  "Unknown User";
    unknown_emoji         = 400 10014  "Unknown Emoji";
    unknown_webhook       = 404 10015  "Unknown Webhook";
    unknown_interaction   = 404 10062  "Unknown interaction";
    body_too_large        = 413 40005  "Request entity too large";
    already_acknowledged  = 400 40060  "Interaction has already been acknowledged.";
    blocked_agent         = 403 40333  "internal network error";
    missing_access        = 403 50001  "Missing Access";
    not_your_message      = 403 50005  "Cannot edit a message authored by another user";
    empty_message         = 400 50006  "Cannot send an empty message";
    missing_permission    = 403 50013  "Missing Permissions";
    not_json              = 400 50109  "The request body contains invalid JSON.";
    thread_archived       = 400 50083  "Thread is archived";
    no_history            = 403 160002 "Cannot reply without permission to read message history";
    thread_locked         = 403 160005 "Thread is locked";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_error_is_a_tree_down_to_the_bad_field() {
        let refusal = Refusal::form(
            "components.0.label",
            "BASE_TYPE_MAX_LENGTH",
            "Must be 80 or fewer in length.",
        );
        assert_eq!(
            refusal.body(),
            json!({
                "message": "Invalid Form Body", "code": 50035,
                "errors": { "components": { "0": { "label": {
                    "_errors": [{ "code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 80 or fewer in length." }]
                } } } }
            })
        );
    }
}
