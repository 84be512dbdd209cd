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
	return []Variable{
		plain("WRIT_ENV", always("development"),
			"`development` or `production`. Production hides the API docs and requires settings that development fills in."),
		plain("WRIT_LISTEN", Default{"127.0.0.1", "0.0.0.0"},
			"IP address to listen on, or `localhost`; without a port, which `PORT` sets."),
		plain("PORT", always("8080"), "Port to listen on, 0 to 65535; 0 takes any free port."),
		plain("WRIT_PUBLIC_URL", none,
			"Address at which people and agents reach the server, such as `https://writ.example.com`; no path. Required in production. Must begin with `https://` where `WRIT_TLS_CERT` is set."),
		plain("WRIT_HOST_NAMES", none,
			"Other host names, separated by commas, under which programs reach the server, such as `writ.writ.svc` within a cluster. Requests under names that are neither these nor that of `WRIT_PUBLIC_URL` are refused."),
		file("WRIT_TLS_CERT", "Certificate chain as PEM text, for TLS in the server itself. Needs `WRIT_TLS_KEY`."),
		secretFile("WRIT_TLS_KEY", "Private key of the certificate as PEM text, not encrypted."),
		plain("WRIT_AGENTS_LISTEN", none,
			"`host:port` of a separate listener on which agents authenticate with their certificates (mTLS), such as `0.0.0.0:8443`. Needs `WRIT_TLS_CERT`, because the server must terminate TLS itself."),
		plain("WRIT_TRUSTED_PROXIES", none,
			"IP addresses or networks (CIDR), separated by commas, whose forwarding headers are trusted."),
		plain("WRIT_CORS_ORIGINS", none,
			"Web origins, separated by commas, that may call the API from a browser, such as `https://console.example.com`; `*` is refused."),
		plain("WRIT_MAX_BODY_BYTES", always("1048576"), "Largest request body in bytes, 1024 to 67108864."),
		plain("WRIT_MEMORY_LIMIT_BYTES", none,
			"Memory in bytes that the server tries to stay below, 67108864 to 1099511627776; it is not a hard limit. Without it, `GOMEMLIMIT`, or three quarters of the memory of the container or machine, and at most 1 GiB."),
		plain("WRIT_SHUTDOWN_SECONDS", always("20"),
			"Seconds that running requests get when the server stops, 1 to 300."),

		plain("WRIT_DATA_DIR", always("./data"),
			"Folder of the embedded database, of a master key that the server made, and of the outbox."),
		secretFile("DATABASE_URL",
			"`postgres://` URL of a PostgreSQL database. Without it, SQLite in the data folder is used."),
		secretFile("WRIT_MASTER_KEY",
			"Key that seals secrets in the database: 32 bytes as base64 or as 64 hex digits. Required in production and with PostgreSQL; otherwise the server makes one in the data folder."),

		secretFile("TELEMETRY_DATABASE_URL",
			"`postgres://` URL of another server for telemetry. Without it, telemetry is in a separate schema of the same PostgreSQL. Needs `DATABASE_URL`."),

		plain("WRIT_SIGNUP", Default{"open", "closed"}, "`open`: anyone may register; `closed`: only invited people."),
		plain("WRIT_REFERRAL_CREDIT_CENTS", always("0"),
			"Credit in cents that an organization gets for each organization that claims its code, 0 to 1000000; 0: referrals are off."),
		secretFile("STRIPE_SECRET_KEY",
			"Secret key of a Stripe account, by which organizations pay. Without it there are no plans, no quotas and no billing. Needs `STRIPE_WEBHOOK_SECRET` and `WRIT_BILLING_PLANS_FILE`."),
		secretFile("STRIPE_WEBHOOK_SECRET",
			"Secret with which Stripe signs what it posts to `/billing/webhook`, at least 16 characters."),
		plain("WRIT_BILLING_PLANS_FILE", none,
			"JSON file of the plans that organizations can choose, with their prices at Stripe and their quotas."),
		plain("STRIPE_API_URL", always("https://api.stripe.com"), "Where Stripe's API is. Only tests set it."),
		plain("WRIT_PROXY_HOLD_SECONDS", always("25"),
			"Seconds that a call through the MCP endpoint waits for a person to approve it, 0 to 300. Then the agent is told how to get it approved."),
		secretFile("WRIT_PROXY_TOKEN",
			"Token by which the server knows a `writd proxy`, at least 32 characters, such as from `openssl rand -hex 32`. Without it, no other process is a proxy of this server."),
		plain("WRIT_SERVER_URL", none,
			"Of `writd proxy`: address of the Writ server that it belongs to, such as `https://writ.example.com`. Without TLS, the host must be this machine or in `WRIT_OUTBOUND_ALLOW`."),

		plain("WRIT_GOOGLE_CLIENT_ID", none,
			"Client id of an OAuth client at Google, so that people can sign in with Google. Needs `WRIT_GOOGLE_CLIENT_SECRET`."),
		secretFile("WRIT_GOOGLE_CLIENT_SECRET", "Secret of the OAuth client at Google."),
		plain("WRIT_GOOGLE_ISSUER", always("https://accounts.google.com"),
			"Issuer of Google's identity tokens. Only tests set it."),

		secretFile("WRIT_SMTP_URL",
			"Mail server: `smtp://user:password@host:587` (STARTTLS required), `smtps://host:465` (TLS), or `smtp+insecure://localhost:25` (no encryption, this machine only). Without it, mail goes to the outbox folder. In production without it, no mail is sent and nobody can be invited; `writd org add-member` adds people."),
		plain("WRIT_MAIL_FROM", Default{Development: "Writ <writ@localhost>"},
			"Sender of mail. Required in production with a mail server."),

		plain("WRIT_OUTBOUND_ALLOW", none,
			"Hosts, IP addresses (either with a port) or networks (CIDR), separated by commas, that webhooks, forwarding, identity providers and calls of MCP servers may reach beyond public addresses at ports 80 and 443, such as `hooks.corp.example:8443,10.20.0.0/16`. A network or IP address holds whatever name leads there, except `localhost` and names below it: list those by name. A name does not permit URLs with its address."),

		plain("WRIT_DRAFT_URL", none,
			"Base URL of an OpenAI-compatible API, such as `https://api.openai.com/v1`, whose model drafts policies from a description. Without it, the description selects a template. Without TLS, or in a private network, its host must be in `WRIT_OUTBOUND_ALLOW`. Needs `WRIT_DRAFT_MODEL`."),
		plain("WRIT_DRAFT_MODEL", none, "Name of the model in that API."),
		secretFile("WRIT_DRAFT_KEY", "Key of the API, sent as a bearer token."),
		plain("WRIT_DRAFT_SECONDS", always("50"), "Seconds allowed for one draft, 1 to 55."),
		plain("WRIT_DRAFT_MAX_TOKENS", always("4000"), "Most tokens in one answer of the model, 100 to 32000."),
		plain("WRIT_DRAFT_PER_DAY", always("20"),
			"Requests to the model per day and organization, 1 to 10000; ten times as many for all organizations together. A draft takes one or two."),

		plain("OBSERVABILITY_RETENTION_DAYS", always("30"), "Days that traces and sessions are kept, 1 to 3650."),
		plain("WRIT_SESSION_IDLE_MINUTES", always("30"),
			"Minutes without activity after which an agent's session expires, 1 to 10080."),
		plain("WRIT_MAX_INGEST_BYTES", always("67108864"),
			"Largest telemetry body in bytes after decompression, 1024 to 268435456."),
		plain("WRIT_PRICES_FILE", none,
			"File of model prices that replaces or extends the built-in ones; `writd prices check` checks it."),

		plain("AUDIT_PAYLOAD_RETENTION_DAYS", none,
			"Days that payloads of the audit log are kept, 1 to 36500. Without it, they are kept forever. Entries and proofs always stay."),

		plain("WRIT_WITNESS_FILE", none,
			"File to which the signed checkpoints of the audit logs are appended: on storage that whoever can alter the database cannot reach."),
		secretFile("WRIT_WITNESS_URL",
			"`http://` or `https://` address that gets the signed checkpoints by POST: a webhook, or `writd witness` on another machine."),
		secretFile("WRIT_WITNESS_TOKEN", "Token that is sent to `WRIT_WITNESS_URL`, at least 16 characters."),

		plain("WRIT_METRICS_LISTEN", none, "`host:port` of a separate listener for metrics, such as `127.0.0.1:9090`."),
		secretFile("WRIT_METRICS_TOKEN", "Token required to read metrics, at least 16 characters."),
		plain("WRIT_LOG_LEVEL", always("info"), "`debug`, `info`, `warn` or `error`."),
		plain("WRIT_LOG_FORMAT", Default{"text", "json"}, "`text` or `json`."),
	}
}

var none Default

func always(value string) Default { return Default{value, value} }

func plain(name string, d Default, doc string) Variable {
	return Variable{Name: name, Default: d, Doc: doc}
}

func file(name, doc string) Variable { return Variable{Name: name, Doc: doc, File: true} }

func secretFile(name, doc string) Variable {
	return Variable{Name: name, Doc: doc, File: true, Secret: true}
}
