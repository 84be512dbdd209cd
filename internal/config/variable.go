package config

// Variable describes a setting for people.
type Variable struct {
	Name    string
	Default Default
	Doc     string
	Secret  bool // its value must not be shown
	File    bool // Name_FILE can name a file that contains the value
}

// Default is the value of a setting that is not set; empty: none.
type Default struct{ Development, Production string }

// String describes the default in one phrase.
func (d Default) String() string {
	switch {
	case d == Default{}:
		return "none"
	case d.Development == d.Production:
		return d.Development
	case d.Production == "":
		return d.Development + " (production: none)"
	}
	return d.Development + " (production: " + d.Production + ")"
}

func (d Default) in(environment Environment) string {
	if environment == Production {
		return d.Production
	}
	return d.Development
}

// Variables lists every setting, in the order in which problems are reported. Load takes the defaults from here, and
// docs/configuration.md shows the same list.
func Variables() []Variable {
	always := func(value string) Default { return Default{value, value} }
	return []Variable{
		{
			Name:    "WRIT_ENV",
			Default: always("development"),
			Doc:     "`development` or `production`. Production hides the API docs and asks for what development makes up.",
		},
		{
			Name:    "WRIT_LISTEN",
			Default: Default{"127.0.0.1", "0.0.0.0"},
			Doc:     "IP address to listen on, or `localhost`; without a port.",
		},
		{Name: "PORT", Default: always("8080"), Doc: "Port to listen on, 0 to 65535; 0 takes any free port."},
		{
			Name: "WRIT_PUBLIC_URL",
			Doc:  "Address under which people and agents reach the server, such as `https://writ.example.com`; no path. Required in production.",
		},
		{
			Name: "WRIT_TLS_CERT",
			File: true,
			Doc:  "Certificate chain as PEM text, for TLS in the server itself. Needs `WRIT_TLS_KEY`.",
		},
		{
			Name:   "WRIT_TLS_KEY",
			File:   true,
			Secret: true,
			Doc:    "Private key of the certificate as PEM text, not encrypted.",
		},
		{
			Name: "WRIT_TRUSTED_PROXIES",
			Doc:  "IP addresses or networks (CIDR), separated by commas, whose forwarding headers are believed.",
		},
		{
			Name: "WRIT_CORS_ORIGINS",
			Doc:  "Web origins, separated by commas, that may call the API from a browser, such as `https://console.example.com`; `*` is refused.",
		},
		{
			Name:    "WRIT_MAX_BODY_BYTES",
			Default: always("1048576"),
			Doc:     "Largest request body in bytes, 1024 to 67108864.",
		},
		{
			Name:    "WRIT_SHUTDOWN_SECONDS",
			Default: always("20"),
			Doc:     "Seconds that running requests get when the server stops, 1 to 300.",
		},

		{
			Name:    "WRIT_DATA_DIR",
			Default: always("./data"),
			Doc:     "Folder for the embedded database, a master key made by the server, and the outbox.",
		},
		{
			Name:   "DATABASE_URL",
			File:   true,
			Secret: true,
			Doc:    "`postgres://` URL of a PostgreSQL database; without it SQLite in the data folder is used.",
		},
		{
			Name:   "WRIT_MASTER_KEY",
			File:   true,
			Secret: true,
			Doc:    "Key that seals secrets in the database: 32 bytes as base64 or as 64 hex digits. Required in production and with PostgreSQL; else made in the data folder.",
		},

		{
			Name:   "TELEMETRY_DATABASE_URL",
			File:   true,
			Secret: true,
			Doc:    "`postgres://` URL of another server for telemetry; without it telemetry is in the same PostgreSQL, in a schema of its own. Needs `DATABASE_URL`.",
		},

		{
			Name:    "WRIT_SIGNUP",
			Default: Default{"open", "closed"},
			Doc:     "`open`: anyone may register; `closed`: only invited people.",
		},
		{
			Name:   "WRIT_PROXY_TOKEN",
			File:   true,
			Secret: true,
			Doc:    "Token that guards the enforcement proxy, at least 32 characters.",
		},

		{
			Name: "WRIT_GOOGLE_CLIENT_ID",
			Doc:  "Client id of an OAuth client at Google, so that people can sign in with Google. Needs `WRIT_GOOGLE_CLIENT_SECRET`.",
		},
		{Name: "WRIT_GOOGLE_CLIENT_SECRET", File: true, Secret: true, Doc: "Its secret."},
		{
			Name:    "WRIT_GOOGLE_ISSUER",
			Default: always("https://accounts.google.com"),
			Doc:     "Who signs Google's identity tokens. Only tests set it.",
		},

		{
			Name:   "WRIT_SMTP_URL",
			File:   true,
			Secret: true,
			Doc:    "Mail server: `smtp://user:password@host:587` (STARTTLS required), `smtps://host:465` (TLS), or `smtp+insecure://localhost:25` (no encryption, this machine only). Without it mail goes to the outbox folder; in production nothing is mailed, so that nobody can be invited: `writd org add-member` adds people.",
		},
		{
			Name:    "WRIT_MAIL_FROM",
			Default: Default{Development: "Writ <writ@localhost>"},
			Doc:     "Sender of mail. Required in production with a mail server.",
		},

		{
			Name: "WRIT_OUTBOUND_ALLOW",
			Doc:  "Hosts, IP addresses (either with a port) or networks (CIDR), separated by commas, that webhooks and forwarding may call beyond public addresses at ports 80 and 443, such as `hooks.corp.example:8443,10.20.0.0/16`.",
		},

		{
			Name: "WRIT_DRAFT_URL",
			Doc:  "Address of an API in the way of OpenAI's, such as `https://api.openai.com/v1`, whose model drafts policies from words; without it words choose a template. Without TLS, or in the own network, its host must be in `WRIT_OUTBOUND_ALLOW`. Needs `WRIT_DRAFT_MODEL`.",
		},
		{Name: "WRIT_DRAFT_MODEL", Doc: "Name of the model, as the API knows it."},
		{Name: "WRIT_DRAFT_KEY", File: true, Secret: true, Doc: "Key of the API, sent as a bearer token."},
		{Name: "WRIT_DRAFT_SECONDS", Default: always("50"), Doc: "Seconds that the model gets for one draft, 1 to 55."},
		{
			Name:    "WRIT_DRAFT_MAX_TOKENS",
			Default: always("4000"),
			Doc:     "Tokens of one answer of the model, 100 to 32000.",
		},
		{
			Name:    "WRIT_DRAFT_PER_DAY",
			Default: always("20"),
			Doc:     "Questions to the model that one organization may cause in a day, 1 to 10000; all together ten times as many. A draft takes one or two.",
		},

		{
			Name:    "OBSERVABILITY_RETENTION_DAYS",
			Default: always("30"),
			Doc:     "Days that traces and sessions are kept, 1 to 3650.",
		},
		{
			Name:    "WRIT_SESSION_IDLE_MINUTES",
			Default: always("30"),
			Doc:     "Minutes without activity after which an agent's session is expired, 1 to 10080.",
		},
		{
			Name:    "WRIT_MAX_INGEST_BYTES",
			Default: always("67108864"),
			Doc:     "Largest telemetry body in bytes after decompression, 1024 to 268435456.",
		},
		{
			Name: "WRIT_PRICES_FILE",
			Doc:  "File of model prices that replaces or extends the built-in ones; `writd prices check` checks it.",
		},

		{
			Name: "AUDIT_PAYLOAD_RETENTION_DAYS",
			Doc:  "Days that payloads of the audit log are kept, 1 to 36500; without it for ever. Entries and proofs stay.",
		},

		{Name: "WRIT_METRICS_LISTEN", Doc: "`host:port` of a separate listener for metrics, such as `127.0.0.1:9090`."},
		{
			Name:   "WRIT_METRICS_TOKEN",
			File:   true,
			Secret: true,
			Doc:    "Token that metrics ask for, at least 16 characters.",
		},
		{Name: "WRIT_LOG_LEVEL", Default: always("info"), Doc: "`debug`, `info`, `warn` or `error`."},
		{Name: "WRIT_LOG_FORMAT", Default: Default{"text", "json"}, Doc: "`text` or `json`."},
	}
}
