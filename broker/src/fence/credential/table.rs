//! The shapes of credentials, one row each. `matches` are cut in pieces so that this file holds no secret-looking text;
//! the tests of the module join them, and walk every row.

use super::detect::{
    Found, aws_key_id, aws_secret, discord_token, discord_webhook, github, is_alphanumeric,
    is_upper_or_digit, is_url_safe, is_word, jwt, private_key, random, secret_key, send_grid,
    slack, slack_webhook, telegram_token, url_password,
};
use super::marks::Marks;

/// One shape of a credential.
pub(super) struct Shape {
    /// As the refusal names it.
    pub(super) name: &'static str,
    /// What a scan looks for.
    pub(super) start: Start,
    /// Whether a credential stands at such a place.
    pub(super) detect: fn(&Found<'_>) -> bool,
    /// Must be found. Each in pieces.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "walked by the tests; it stands here because it explains the row"
        )
    )]
    pub(super) matches: &'static [&'static [&'static str]],
    /// Must pass.
    #[cfg_attr(
        not(test),
        expect(
            dead_code,
            reason = "walked by the tests; it stands here because it explains the row"
        )
    )]
    pub(super) not: &'static [&'static str],
}

/// How a scan finds the places where a shape could be.
pub(super) enum Start {
    /// By the letters it begins with.
    Letters(&'static [&'static str]),
    /// By marks inside it, because it begins with anything.
    Marks(Marks),
}

use Start::Letters;

pub(super) const SHAPES: &[Shape] = &[
    Shape {
        name: "GitHub token",
        // Personal, OAuth, user-to-server, server-to-server, refresh.
        start: Letters(&["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]),
        detect: github,
        matches: &[
            &["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"],
            &["gho_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"],
            &["ghu_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"],
            &["ghs_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"],
            &[
                "ghr_",
                "1B4a2e77838347a7E420ce178F2E7c6912E169246c34E1ccbF66C46812d16D5B1A9Dc86A1498",
            ],
        ],
        not: &[
            "ghp_ is a prefix",
            "ghp_short1A",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "gho_[A-Za-z0-9]{36}",
        ],
    },
    Shape {
        name: "GitHub fine-grained token",
        start: Letters(&["github_pat_"]),
        detect: |found| random(found.tail(is_word), 36),
        matches: &[&[
            "github_pat_",
            "11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567",
        ]],
        not: &[
            "github_pat_ tokens",
            "github_pat_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        ],
    },
    Shape {
        name: "GitLab token",
        // Personal, deploy, runner, trigger, CI job.
        start: Letters(&["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"]),
        detect: |found| random(found.tail(is_url_safe), 20),
        matches: &[
            &["glpat-", "x8Kq2mZr5TnVw7Yb3Lcd"],
            &["glrt-", "t1_aB3dE5fG7hI9jK1lM3n"],
        ],
        not: &["glpat-", "glpat-your-token-goes-here"],
    },
    Shape {
        name: "AWS key id",
        start: Letters(&["AKIA", "ASIA"]),
        detect: aws_key_id,
        matches: &[&["AKIA", "Z7Q2M5X8K1R4T9WB"], &["ASIA", "QWERTYUIOPASDFGH"]],
        not: &[
            "AKIAIOSFODNN7EXAMPLE",
            "AKIAXXXXXXXXXXXXXXXX",
            "ASIA",
            "SOUTHEASIAANDTHEPACIFICA1",
        ],
    },
    Shape {
        name: "AWS secret key",
        start: Letters(&[
            "secret_access_key",
            "SECRET_ACCESS_KEY",
            "SecretAccessKey",
            "secretAccessKey",
        ]),
        detect: aws_secret,
        matches: &[
            &[
                "aws_",
                "secret_access_key = ",
                "aB3dE5fG7hI9/K1lM3nO5pQ7rS9tU1vW3xY5z+0A",
            ],
            &[
                "AWS_SECRET",
                "_ACCESS_KEY=",
                "aB3dE5fG7hI9/K1lM3nO5pQ7rS9tU1vW3xY5z+0A",
            ],
        ],
        not: &[
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "secret_access_key = <yours>",
        ],
    },
    Shape {
        name: "Slack token",
        start: Letters(&["xox"]),
        detect: slack,
        matches: &[
            &["xoxb-", "17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy"],
            &[
                "xoxp-",
                "17653672481-19874698323-23847194812-aB3dE5fG7hI9jK1l",
            ],
        ],
        not: &["xoxp- tokens", "xoxb-your-token-here", "xoxo, with love"],
    },
    Shape {
        name: "Slack app token",
        start: Letters(&["xapp-"]),
        detect: |found| random(found.tail(is_url_safe), 20),
        matches: &[&[
            "xapp-",
            "1-A0123BCDEFG-1234567890123-aB3dE5fG7hI9jK1lM3nO5p",
        ]],
        not: &["xapp- tokens"],
    },
    Shape {
        name: "Slack webhook",
        start: Letters(&["hooks.slack.com/"]),
        detect: slack_webhook,
        matches: &[&[
            "https://hooks.slack",
            ".com/services/",
            "T0123ABCD/B4567EFGH/aB3dE5fG7hI9jK1lM3nO5pQ7",
        ]],
        not: &["https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"],
    },
    Shape {
        name: "Google API key",
        start: Letters(&["AIza"]),
        detect: |found| random(found.tail(is_url_safe), 35),
        matches: &[&["AIza", "SyD3k9Fq7LmN2pR5tV8xZ1bC4eG6hJ0iKoW"]],
        not: &["AIza keys", "AIzaSy"],
    },
    Shape {
        name: "Google OAuth token",
        start: Letters(&["ya29."]),
        detect: |found| random(found.tail(is_url_safe), 20),
        matches: &[&["ya29.", "a0AfH6SMBx2yKq8LmN3pR5tV7xZ9"]],
        not: &["ya29. tokens"],
    },
    Shape {
        name: "Google client secret",
        start: Letters(&["GOCSPX-"]),
        detect: |found| random(found.tail(is_url_safe), 24),
        matches: &[&["GOCSPX-", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9t"]],
        not: &["GOCSPX-your-client-secret-here"],
    },
    Shape {
        name: "secret key of a model provider",
        start: Letters(&["sk-"]),
        detect: secret_key,
        matches: &[
            &["sk-", "aB3dE5fG7hI9jK1lM3nOT3BlbkFJaB3dE5fG7hI9jK1lM3nO"],
            &[
                "sk-proj-",
                "aB3dE5fG7hI9jK1lM3nO5pQ7_rS9tU1vW3xY5z-0A2bC4dE6fG8h",
            ],
            &[
                "sk-ant-",
                "api03-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z0A2bC4dE6fG8hAA",
            ],
            &[
                "sk-or-v1-",
                "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
            ],
        ],
        not: &[
            "sk-learn",
            "sk-learn-contrib-hdbscan-and-friends",
            "task-0f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "sk-...",
        ],
    },
    Shape {
        name: "Stripe key",
        start: Letters(&["sk_live_", "rk_live_"]),
        detect: |found| random(found.tail(is_alphanumeric), 16),
        matches: &[
            &["sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"],
            &["rk_live_", "4eC39HqLyjWDarjtT1zdp7dc"],
        ],
        not: &["sk_live_...", "sk_live_yourkeygoeshere"],
    },
    Shape {
        name: "npm token",
        start: Letters(&["npm_"]),
        detect: |found| random(found.tail(is_alphanumeric), 36),
        matches: &[&["npm_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"]],
        not: &["npm_config_registry", "npm_lifecycle_event"],
    },
    Shape {
        name: "PyPI token",
        start: Letters(&["pypi-"]),
        detect: |found| random(found.tail(is_url_safe), 40),
        matches: &[&[
            "pypi-",
            "AgEIcHlwaS5vcmcCJGFiM2RlNWZnLTdoaTktNGsxbC1iM25vLTVwUTdyUzl0VTF2VwACKlszLCJ4Il0",
        ]],
        not: &[
            "pypi-publish",
            "pypi-attestations-for-packages-and-their-releases",
        ],
    },
    Shape {
        name: "Hugging Face token",
        start: Letters(&["hf_"]),
        detect: |found| found.begins_word() && random(found.tail(is_alphanumeric), 30),
        matches: &[&["hf_", "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"]],
        not: &["hf_hub_download", "hf_transfer"],
    },
    Shape {
        name: "SendGrid key",
        start: Letters(&["SG."]),
        detect: send_grid,
        matches: &[&[
            "SG.",
            "aB3dE5fG7hI9jK1lM3nO5p",
            ".",
            "Q7rS9tU1vW3xY5z0A2bC4dE6fG8hI0jK2lM4nO6pQ8r",
        ]],
        not: &["SG.Manager.Close", "SG. stands for"],
    },
    Shape {
        name: "DigitalOcean token",
        // Personal, OAuth, refresh.
        start: Letters(&["dop_v1_", "doo_v1_", "dor_v1_"]),
        detect: |found| random(found.tail(is_alphanumeric), 40),
        matches: &[&[
            "dop_v1_",
            "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
        ]],
        not: &["dop_v1_token"],
    },
    Shape {
        name: "Discord bot token",
        start: Start::Marks(Marks {
            first: (b'.', b'.'),
            second: (b'.', b'.'),
            distance: 7,
        }),
        detect: discord_token,
        matches: &[
            &[
                "NzkyNzE1NDU0MTk2MDg4ODQy",
                ".X-hvzA.",
                "Ovy4MCQywSkoMRRclStW4xAYK7I",
            ],
            &[
                "MTE3NTkyODg0NzI5OTExNzA2Mw",
                ".GhIjKl.",
                "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z0",
            ],
        ],
        not: &[
            "node.config.js",
            "MyOrganizationServiceFactory.create.anythingThatIsLongerThanThat",
        ],
    },
    Shape {
        name: "Discord webhook",
        start: Letters(&["/webhooks/"]),
        detect: discord_webhook,
        matches: &[
            &[
                "https://discord",
                ".com/api/webhooks/",
                "175928847299117063/",
                "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z0A2bC4dE6fG8hI0jK2lM4nO6pQ8rS0t",
            ],
            &[
                "https://discordapp",
                ".com/api/v10/webhooks/",
                "175928847299117063/",
                "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z0A2bC4dE6fG8hI0jK2lM4nO6pQ8rS0t",
            ],
        ],
        not: &[
            "https://discord.com/api/webhooks/{id}/{token}",
            "https://example.org/webhooks/175928847299117063",
        ],
    },
    Shape {
        name: "Telegram bot token",
        start: Start::Marks(Marks {
            first: (b'0', b'9'),
            second: (b':', b':'),
            distance: 8,
        }),
        detect: telegram_token,
        matches: &[&["110201543:", "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0"]],
        not: &["12345678:30", "110201543:<token>"],
    },
    Shape {
        name: "JWT",
        start: Letters(&["eyJ"]),
        detect: jwt,
        matches: &[&[
            "eyJhbGciOiJIUzI1NiJ9",
            ".eyJzdWIiOiIxMjM0In0.",
            "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        ]],
        not: &[
            "eyJ",
            "eyJhbGciOiJIUzI1NiJ9",
            "eyJhbGciOiJIUzI1NiJ9.payload.signature",
        ],
    },
    Shape {
        name: "age key",
        start: Letters(&["AGE-SECRET-KEY-1"]),
        detect: |found| random(found.tail(is_upper_or_digit), 50),
        matches: &[&[
            "AGE-SECRET-KEY-1",
            "QL3Z7HJY54PW3HYWW5AYYFG7ZQGVC7W3J2ELW8ZMRJ2KG5SFN9AQMCAC8P",
        ]],
        not: &["AGE-SECRET-KEY-1..."],
    },
    Shape {
        name: "private key",
        // PKCS#1, PKCS#8, EC, DSA, OpenSSH, PGP and the like. The first line is enough: nobody writes it without a key.
        start: Letters(&["PRIVATE KEY"]),
        detect: private_key,
        matches: &[
            &["-----BEGIN ", "RSA PRIVATE KEY-----\nMIIE"],
            &["-----BEGIN ", "PRIVATE KEY-----"],
            &["-----BEGIN ", "ENCRYPTED PRIVATE KEY-----"],
            &["-----BEGIN ", "EC PRIVATE KEY-----"],
            &["-----BEGIN ", "OPENSSH PRIVATE KEY-----"],
            &["-----BEGIN ", "PGP PRIVATE KEY BLOCK-----"],
            &["---- BEGIN ", "SSH2 ENCRYPTED PRIVATE KEY ----"],
        ],
        not: &[
            "-----BEGIN PUBLIC KEY-----",
            "a PRIVATE KEY is secret",
            "-----BEGIN\nPRIVATE KEY",
        ],
    },
    Shape {
        name: "password in a url",
        start: Letters(&["://"]),
        detect: url_password,
        matches: &[
            &["https:", "//u:p@host"],
            &["postgres:", "//app:s3cret@db.internal:5432/app"],
            &["redis:", "//:hunter2@127.0.0.1"],
            &["https:", "//oauth2:a@b@[::1]/x.git"],
        ],
        not: &[
            "https://<user>:<password>@host",
            "https://$USER:$PASS@host",
            "https://user:${PASS}@host",
            "https://user:***@host",
            "https://user:%s@host",
            "https://example.org:8443/@scope/package",
            "https://user:@host",
        ],
    },
];
