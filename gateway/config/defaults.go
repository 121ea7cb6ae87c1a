package config

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// nameLimit is the longest name of an instance, account, route or class.
const nameLimit = 32

// defaults is the configuration that a file starts from. Elements of accounts
// and routes start from their own defaults, see setDefaults.
func defaults() *Config {
	return &Config{
		Streams: Streams{
			Prefix:          "sms",
			Replicas:        1,
			DuplicateWindow: 10 * time.Minute,
			JournalAge:      72 * time.Hour,
			Sync:            Sync(time.Second),
		},
		HTTP: "127.0.0.1:9464",
	}
}

// setDefaults gives an account everything but address, system_id and
// password.
func (a *Account) setDefaults() {
	*a = Account{
		Bind:             Transceiver,
		Binds:            1,
		InterfaceVersion: SMPP34,
		Validity:         Validity{Form: ValidityRelative, Min: time.Minute},
		Noise:            Noise{Max: 0.06},
		Mark:             MarkAuto,
		QueueFull:        QueueFullAccount,
		Rate:             Rate{ProbeBudget: 0.002},
		BindTimeout:      30 * time.Second,
		ResponseTimeout:  30 * time.Second,
		EnquireLink:      EnquireLink{Interval: 30 * time.Second, Timeout: 10 * time.Second},
		Unknown:          Unknown{Policy: UnknownRetry, Max: 1},
		Text:             Text{DefaultAlphabet: GSM7, Long: LongUDH8, MaxSegments: 255, Language: LanguageNone},
		Receipts:         Receipts{ResponseID: IDOpaque, ReceiptID: IDOpaque, Per: PerSegment},
	}
}

// setDefaults gives a route everything but its accounts.
func (r *Route) setDefaults() {
	*r = Route{
		Attempts:  8,
		ExpiresIn: 24 * time.Hour,
	}
}

// complete fills in the defaults that depend on other values.
func (c *Config) complete() {
	if c.Instance == "" {
		c.Instance = instanceName()
	}
	if c.NATS.URL == "" {
		c.NATS.Embedded.complete()
	}
	slowest := time.Duration(0)
	for _, a := range c.Accounts {
		a.complete()
		slowest = max(slowest, a.ResponseTimeout)
	}
	if c.Streams.AckWait == 0 {
		c.Streams.AckWait = max(2*time.Minute, 3*slowest+30*time.Second)
	}
	if len(c.Routes) == 0 && len(c.Accounts) == 1 {
		main := new(Route)
		main.setDefaults()
		for name := range c.Accounts {
			main.Accounts = []string{name}
		}
		c.Routes = map[string]*Route{"main": main}
	}
	for _, r := range c.Routes {
		if len(r.Classes) == 0 {
			r.Classes = map[string]Weight{"otp": Strict, "normal": 3, "bulk": 1}
		}
	}
}

func (e *Embedded) complete() {
	if e.Dir == "" {
		e.Dir = "data"
	}
	if e.Listen == "" {
		e.Listen = "127.0.0.1:4222"
	}
}

func (a *Account) complete() {
	if a.Text.InboundAlphabet == "" {
		a.Text.InboundAlphabet = InboundAlphabet(a.Text.DefaultAlphabet)
	}
	if a.Unknown.After == 0 {
		a.Unknown.After = max(time.Minute, 2*a.ResponseTimeout)
	}
}

// instanceName is the host name and the process id, cut to what a name may
// hold.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "sluice"
	}
	host = strings.Map(func(r rune) rune {
		if isNameRune(r) {
			return r
		}
		return '-'
	}, host)
	pid := fmt.Sprintf("-%d", os.Getpid())
	return host[:min(len(host), nameLimit-len(pid))] + pid
}

func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

func isName(s string) bool {
	return s != "" && len(s) <= nameLimit && strings.IndexFunc(s, func(r rune) bool { return !isNameRune(r) }) < 0
}
