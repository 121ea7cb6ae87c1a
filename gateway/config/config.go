// Package config is the configuration of the gateway: its types, a strict
// reader that reports every fault at once, defaults, validation, and a printer
// that never shows a secret.
package config

import "time"

// Config is one sluice.yaml. Build it with [Load] or [Decode]: both start from
// the defaults that the fields document.
type Config struct {
	// Name of this process in logs, events and the admin plane; letters, digits, - and _, at most 32. Default: host name and process id.
	Instance string `yaml:"instance"`
	// The NATS server that holds the queue.
	NATS NATS `yaml:"nats"`
	// Settings of the streams and consumers that Sluice creates when they are missing.
	Streams Streams `yaml:"streams"`
	// Address of /metrics, /healthz, /readyz and /status as host:port, or off. Default 127.0.0.1:9464.
	HTTP Listen `yaml:"http"`
	// Accounts by name. An account is one system_id at one SMSC: the scope that owns a quota.
	Accounts map[string]*Account `yaml:"accounts"`
	// Routes by name. Without any, route main leads to the only account.
	Routes map[string]*Route `yaml:"routes"`

	origin origin
	open   []openFile
}

// NATS says which server to use: an external one by url, or else the one that
// runs inside the process.
type NATS struct {
	// URL of an external server or cluster, for example nats://127.0.0.1:4222. Default: none, the embedded server is used.
	URL string `yaml:"url"`
	// The server inside this process, used when url is absent.
	Embedded Embedded `yaml:"embedded"`
	// How to authenticate to the external server.
	Credentials Credentials `yaml:"credentials"`
}

// Embedded configures the NATS server that runs inside the process.
type Embedded struct {
	// Directory of its store, relative to the configuration file; one process at a time. Default ./data.
	Dir string `yaml:"dir"`
	// Address it listens on; beyond loopback it needs a user. Port 0 takes a free one. Default 127.0.0.1:4222.
	Listen string `yaml:"listen"`
	// User name that every client must give, together with password. Default: none is asked for.
	User string `yaml:"user"`
	// Password of user.
	Password Secret `yaml:"password"`
	// Largest size of the store; the streams and buckets have shares of it. Default 80% of the free disk, at most 10GiB.
	MaxStore Size `yaml:"max_store"`
}

// Credentials authenticate to an external NATS server. One of file, nkey or
// user with password.
type Credentials struct {
	// A credentials file as nsc writes it (user JWT and seed).
	File string `yaml:"file"`
	// User name, together with password.
	User string `yaml:"user"`
	// Password of user.
	Password Secret `yaml:"password"`
	// A file that holds an nkey seed.
	NKey string `yaml:"nkey"`
	// Certificates for TLS to the server.
	TLS CertFiles `yaml:"tls"`
	// First tokens of the subjects that answers come on, for permissions of this user alone; letters, digits, - _ and dots. Default _INBOX.
	InboxPrefix string `yaml:"inbox_prefix"`
}

// CertFiles are PEM files for TLS; relative to the configuration file.
type CertFiles struct {
	// Certificate authorities that may sign the server's certificate. Default: the system's.
	CA string `yaml:"ca"`
	// Client certificate; needs key.
	Cert string `yaml:"cert"`
	// Private key of cert.
	Key string `yaml:"key"`
}

// Streams are the settings of the JetStream streams and consumers. They are
// used when something is created. What exists is brought to the sizes where
// nothing stored is dropped by it; what differs else is reported by `sluice
// run`, never changed.
type Streams struct {
	// First token of every subject; small letters, digits, - and _. Default sms.
	Prefix string `yaml:"prefix"`
	// Copies in a NATS cluster, 1 to 5. Default 1.
	Replicas int `yaml:"replicas"`
	// Largest size of the queue; a full one refuses publishes. Default 25% of the embedded server's max_store; 1GiB of an external one.
	MaxBytes Size `yaml:"max_bytes"`
	// Largest size of the journal; a full one drops its oldest events. Default 40% of the embedded server's max_store; four times max_bytes of an external one.
	JournalBytes Size `yaml:"journal_bytes"`
	// How long a repeated Nats-Msg-Id is recognised. Default 10m.
	DuplicateWindow time.Duration `yaml:"duplicate_window"`
	// How long events are kept, unless journal_bytes are full before. Default 72h.
	JournalAge time.Duration `yaml:"journal_age"`
	// How often the embedded server syncs to disk, or always. Default 1s: a power loss may forget the last second.
	Sync Sync `yaml:"sync"`
	// How long a delivered message may stay unacknowledged before JetStream delivers it again. Default: the larger of 120s and three response timeouts plus 30s.
	AckWait time.Duration `yaml:"ack_wait"`
}

// Route is a subject filter, <prefix>.mt.<route>.<class>, that leads to an
// account.
type Route struct {
	// Accounts that serve the route, by name: the first that takes messages; the next ones when it has taken none of what it was offered for 8 s, for strict classes 3 s.
	Accounts []string `yaml:"accounts"`
	// Classes by name, each strict (served first) or a weight from 1 to 100. Default otp: strict, normal: 3, bulk: 1.
	Classes map[string]Weight `yaml:"classes"`
	// Attempts over a message's life, 1 to 100; throttles, outages and a failing account use none. Default 8.
	Attempts int `yaml:"attempts"`
	// Attempts within a span of time, for example 3/10m: more are delayed, as far as the message's life allows. Default off.
	AttemptsPer Allowance `yaml:"attempts_per"`
	// Life of a message that states none, more than 0 and at most 7d. Default 24h.
	ExpiresIn time.Duration `yaml:"expires_in"`
	// Keep a copy of what the SMSC refused for good in the deferred stream. Default false.
	TerminalToDeferred bool `yaml:"terminal_to_deferred"`
}
