package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/classify"
)

// day is the longest hold of a status; week the longest life of a message.
const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Validate checks the values against each other and against what this version
// can do. The error joins every fault, one [*Fault] each.
func (c *Config) Validate() error { return joined(c.validate()) }

func (c *Config) validate() []error {
	v := &validator{c: c}
	v.name("instance", c.Instance)
	v.nats()
	v.streams()
	if c.HTTP != "" {
		v.hostPort("http", string(c.HTTP), 0)
	}
	if len(c.Accounts) == 0 {
		v.add("accounts", "", "has no account", "add one with address, system_id and password")
	}
	for name, a := range sorted(c.Accounts) {
		v.name("accounts."+name, name)
		v.account("accounts."+name, a)
	}
	if len(c.Accounts) > 1 && len(c.Routes) == 0 {
		v.add("routes", "", "has no route, and there are several accounts", "add routes that name the account of each")
	}
	for name, r := range sorted(c.Routes) {
		v.name("routes."+name, name)
		v.route("routes."+name, r)
	}
	v.unrouted()
	return v.faults
}

type validator struct {
	c      *Config
	faults []error
}

func (c *Config) fault(path, value, problem, remedy string) error {
	at := c.origin.place(path)
	return &Fault{Pos: c.origin.format(at), Path: path, Value: value, Problem: problem, Remedy: remedy, at: at}
}

// add reports a fault unless the decoder found another one in the same place.
func (v *validator) add(path, value, problem, remedy string) {
	if !v.c.origin.reported(path) {
		v.faults = append(v.faults, v.c.fault(path, value, problem, remedy))
	}
}

func (v *validator) name(path, name string) {
	if !isName(name) {
		v.add(path, name, "is not a name", "use 1 to 32 letters, digits, - or _")
	}
}

func (v *validator) required(path, value, remedy string) bool {
	if value == "" {
		v.add(path, "", "is missing", remedy)
	}
	return value != ""
}

// mostOctets is the most that a field of the bind may have. The specification has 8 to 40 octets; see [Config.Warnings].
const mostOctets = 1024

func (v *validator) octets(path, value string) {
	if len(value) > mostOctets {
		v.add(path, "", fmt.Sprintf("has %d octets", len(value)), fmt.Sprintf("use at most %d", mostOctets))
	}
	v.plain(path, value)
}

// plain rejects what a C-octet string cannot carry (SMPP 3.4 section 3.1).
func (v *validator) plain(path, value string) {
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7e {
			v.add(path, "", fmt.Sprintf("has a character at octet %d that is not printable ASCII", i+1), "use letters, digits and signs")
			return
		}
	}
}

// whole checks an integer's range.
func (v *validator) whole(path string, n, low, high int) {
	if n < low || n > high {
		v.add(path, strconv.Itoa(n), "is out of range", fmt.Sprintf("use %d to %d", low, high))
	}
}

// span checks a duration's range.
func (v *validator) span(path string, d, low, high time.Duration) {
	if d < low || d > high {
		v.add(path, formatDuration(d), "is out of range", fmt.Sprintf("use %s to %s", formatDuration(low), formatDuration(high)))
	}
}

// share checks a percentage's upper end.
func (v *validator) share(path string, p, high Percent) {
	if p > high {
		v.add(path, p.String(), "is out of range", "use 0% to "+high.String())
	}
}

// hostPort checks an address. Only a listener may leave the host out, which means every address of this machine.
func (v *validator) hostPort(path, addr string, lowest uint64) (host string, ok bool) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		v.add(path, addr, "is not host:port", "for example 127.0.0.1:2775; an IPv6 host goes in brackets")
		return "", false
	}
	n, err := strconv.ParseUint(port, 10, 16) // which takes no sign
	if err != nil || n < lowest {
		v.add(path, addr, fmt.Sprintf("has the port %q", port), fmt.Sprintf("use %d to 65535", lowest))
		return "", false
	}
	if host != "" && !isHost(host) {
		v.add(path, addr, fmt.Sprintf("has the host %q", host), "write a host name or an IP address, for example smsc.example.net:2775")
		return "", false
	}
	return host, true
}

// isHost accepts IP addresses, and names as resolvers take them (RFC 1123 section 2.1, and the underscore).
func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if label == "" || len(label) > 63 || strings.IndexFunc(label, func(r rune) bool { return !isNameRune(r) }) >= 0 {
			return false
		}
	}
	return len(s) <= 253
}

func (v *validator) nats() {
	n := &v.c.NATS
	if n.URL == "" {
		v.embedded()
		return
	}
	for part := range strings.SplitSeq(n.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || u.Host == "" || !strings.Contains(" nats tls ws wss ", " "+u.Scheme+" ") {
			v.add("nats.url", "", "is not the URL of a NATS server", "for example nats://127.0.0.1:4222")
		} else if u.User != nil {
			v.add("nats.url", "", "holds credentials", "move them to nats.credentials")
		}
	}
	if n.Embedded != (Embedded{}) {
		v.add("nats.embedded", "", "is set together with nats.url", "keep the server that you want to use")
	}
	cred := &n.Credentials
	ways := 0
	for _, set := range []bool{cred.File != "", cred.NKey != "", cred.User != ""} {
		if set {
			ways++
		}
	}
	if ways > 1 {
		v.add("nats.credentials", "", "names several ways to authenticate", "keep one of file, nkey, or user with password")
	}
	if (cred.User == "") != cred.Password.IsZero() {
		v.add("nats.credentials", "", "has only one of user and password", "set both")
	}
	v.pair("nats.credentials.tls", cred.TLS.Cert, cred.TLS.Key)
	v.inbox(cred.InboxPrefix)
}

func (v *validator) embedded() {
	n := &v.c.NATS
	if n.Credentials != (Credentials{}) {
		v.add("nats.credentials", "", "is for an external server", "set nats.url, or remove it")
	}
	host, ok := v.hostPort("nats.embedded.listen", n.Embedded.Listen, 0)
	ip := net.ParseIP(host)
	if ok && host != "localhost" && (ip == nil || !ip.IsLoopback()) && n.Embedded.User == "" {
		v.add("nats.embedded.listen", n.Embedded.Listen, "is open to other hosts, and the embedded server asks nobody for credentials",
			"listen on 127.0.0.1, set nats.embedded.user and password, or run a NATS server and set nats.url")
	}
	if (n.Embedded.User == "") != n.Embedded.Password.IsZero() {
		v.add("nats.embedded", "", "has only one of user and password", "set both")
	}
}

// inbox checks a prefix of subjects: tokens without wildcards.
func (v *validator) inbox(prefix string) {
	if prefix == "" {
		return
	}
	for token := range strings.SplitSeq(prefix, ".") {
		if !isName(token) {
			v.add("nats.credentials.inbox_prefix", prefix, "is not a prefix of subjects", "use letters, digits, - and _, for example _INBOX_gw")
			return
		}
	}
}

func (v *validator) pair(path, cert, key string) {
	if (cert == "") != (key == "") {
		v.add(path, "", "has only one of cert and key", "set both")
	}
}

func (v *validator) streams() {
	s := &v.c.Streams
	v.name("streams.prefix", s.Prefix)
	if s.Prefix != strings.ToLower(s.Prefix) {
		v.add("streams.prefix", s.Prefix, "has capitals, which only the streams have", "use "+strings.ToLower(s.Prefix))
	}
	v.whole("streams.replicas", s.Replicas, 1, 5)
	if s.Replicas > 1 && v.c.NATS.URL == "" {
		v.add("streams.replicas", strconv.Itoa(s.Replicas), "needs a cluster", "set nats.url, or 1")
	}
	if s.MaxBytes != 0 && s.MaxBytes < 1<<20 {
		v.add("streams.max_bytes", s.MaxBytes.String(), "is too small to work with", "use 1MiB or more")
	}
	if s.JournalBytes != 0 && s.JournalBytes < 1<<20 {
		v.add("streams.journal_bytes", s.JournalBytes.String(), "is too small to work with", "use 1MiB or more")
	}
	v.limits()
	v.span("streams.duplicate_window", s.DuplicateWindow, 100*time.Millisecond, day)
	v.span("streams.journal_age", s.JournalAge, time.Minute, 365*day)
	if s.JournalAge < s.DuplicateWindow {
		v.add("streams.journal_age", formatDuration(s.JournalAge), "is shorter than duplicate_window", "use "+formatDuration(s.DuplicateWindow)+" or more")
	}
	v.span("streams.ack_wait", s.AckWait, time.Second, time.Hour)
	for name, a := range sorted(v.c.Accounts) {
		if s.AckWait <= a.ResponseTimeout {
			v.add("streams.ack_wait", formatDuration(s.AckWait), "is not longer than accounts."+name+".response_timeout",
				"use more than "+formatDuration(a.ResponseTimeout))
		}
	}
}

func (v *validator) account(at string, a *Account) {
	if len(a.Address) == 0 {
		v.add(at+".address", "", "is missing", "write the SMSC as host:port, for example smsc.example.net:2775")
	}
	for _, addr := range a.Address {
		if host, ok := v.hostPort(at+".address", addr, 1); ok && host == "" {
			v.add(at+".address", addr, "has no host", "write the SMSC as host:port, for example smsc.example.net:2775")
		}
	}
	if v.required(at+".system_id", a.SystemID, "write the name that the SMSC knows you by") {
		v.octets(at+".system_id", a.SystemID)
	}
	v.password(at+".password", a.Password)
	v.octets(at+".system_type", a.SystemType)
	v.octets(at+".address_range", a.AddressRange)
	v.localAddress(at+".local_address", a.LocalAddress)
	v.pair(at+".tls", a.TLS.Cert, a.TLS.Key)
	if !a.TLS.Enabled && a.TLS != (TLS{}) {
		v.add(at+".tls", "", "has settings but is not enabled", "add enabled: true, or remove it")
	}
	v.whole(at+".binds", a.Binds, 1, 100)
	v.whole(at+".max_binds", a.MaxBinds, 0, 1000)
	if a.MaxBinds > 0 && a.MaxBinds < a.Binds {
		v.add(at+".max_binds", strconv.Itoa(a.MaxBinds), "is less than binds", fmt.Sprintf("use %d or more", a.Binds))
	}
	v.statuses(at, a)
	v.pace(at, a)
	v.span(at+".validity.min", a.Validity.Min, 0, day)
	v.span(at+".bind_timeout", a.BindTimeout, time.Second, 5*time.Minute)
	v.span(at+".response_timeout", a.ResponseTimeout, time.Second, 10*time.Minute)
	v.span(at+".enquire_link.interval", a.EnquireLink.Interval, time.Second, 10*time.Minute)
	v.span(at+".enquire_link.timeout", a.EnquireLink.Timeout, time.Second, 5*time.Minute)
	v.whole(at+".unknown.max", a.Unknown.Max, 0, 10)
	v.span(at+".unknown.after", a.Unknown.After, time.Millisecond, day)
	v.whole(at+".text.max_segments", a.Text.MaxSegments, 1, 255)
	v.idTLV(at+".text.id_tlv", a.Text.IDTLV)
	v.receipts(at+".receipts", a.Receipts)
}

func (v *validator) pace(at string, a *Account) {
	limit := Percent(0.06)
	if a.Noise.Exclusive {
		limit = 0.12
	}
	v.share(at+".noise.max", a.Noise.Max, limit)
	v.share(at+".noise.ignore", a.Noise.Ignore, 0.5)
	v.share(at+".rate.probe_budget", a.Rate.ProbeBudget, 0.05)
	if r := a.Rate.Declared; r != 0 && (r < 0.01 || r > 1e6) {
		v.add(at+".rate.declared", strconv.FormatFloat(r, 'g', -1, 64), "is out of range",
			"use 0.01 to 1000000 submit_sm a second, or leave it out to let the ceiling be learned")
	}
	if a.Window.Max != 0 {
		v.whole(at+".window.max", a.Window.Max, 1, 10000)
	}
}

func (v *validator) password(at string, s Secret) {
	if s.IsZero() {
		v.add(at, "", "is missing", "write {env: NAME} or {file: PATH}")
		return
	}
	v.octets(at, s.value)
}

func (v *validator) localAddress(at, addr string) {
	if addr == "" {
		return
	}
	if _, err := netip.ParseAddr(addr); err != nil {
		v.add(at, addr, "is not an IP address", "use one of this host, without a port, for example 192.0.2.7")
	}
}

func (v *validator) idTLV(at, tag string) {
	if tag == "" {
		return
	}
	if (Text{IDTLV: tag}).IDTag() == 0 {
		v.add(at, tag, "is not a vendor tag", "use 0x1400 to 0x3FFF")
	}
}

// receipts reports a form that would change nothing: there is nothing to convert between.
func (v *validator) receipts(at string, r Receipts) {
	v.receiptStates(at+".states", r.States)
	switch {
	case r.ResponseID == IDOpaque && r.ReceiptID != IDOpaque:
		v.add(at+".receipt_id", string(r.ReceiptID), "has no effect while response_id is opaque", "set response_id to hex or decimal too, or leave both out")
	case r.ReceiptID == IDOpaque && r.ResponseID != IDOpaque:
		v.add(at+".response_id", string(r.ResponseID), "has no effect while receipt_id is opaque", "set receipt_id to hex or decimal too, or leave both out")
	}
}

// acceptsThrottle says whether a table takes a throttle, ESME_RTHROTTLED or ESME_RMSGQFUL, for success.
func acceptsThrottle(t *classify.Table) bool {
	for _, phase := range classify.Phases() {
		if t.Of(phase, 0x58).Class == classify.OK || t.Of(phase, 0x14).Class == classify.OK {
			return true
		}
	}
	return false
}

// statuses asks package classify, one key at a time, so that each fault has
// its place; the last call finds two keys for one status.
func (v *validator) statuses(at string, a *Account) {
	table := classify.Default()
	before := len(v.faults)
	if _, err := table.With(a.Profile, nil); err != nil {
		v.add(at+".profile", a.Profile, "is not a known profile", "use one of "+strings.Join(classify.Profiles(), ", "))
	}
	for key, s := range sorted(a.Statuses) {
		path := at + ".statuses." + key
		changed, err := table.With("", map[string]classify.Override{key: classify.Override(s)})
		switch {
		case err != nil:
			v.add(path, "", strings.TrimPrefix(err.Error(), fmt.Sprintf("statuses %q: ", key)), "")
		case acceptsThrottle(changed):
			v.add(path, "ok", "would report messages as submitted that the SMSC refused for now",
				"use throttle, retry, terminal, config or unknown; without the key it is throttle")
		}
	}
	if len(v.faults) > before {
		return
	}
	if _, err := a.StatusTable(); err != nil {
		v.add(at+".statuses", "", err.Error(), "")
	}
}

func (v *validator) route(at string, r *Route) {
	if len(r.Accounts) == 0 {
		v.add(at+".accounts", "", "is missing", "name the account that serves the route")
	}
	for i, name := range r.Accounts {
		if slices.Contains(r.Accounts[:i], name) {
			v.add(at+".accounts", name, "is named twice", "name each account once, in the order in which they are tried")
		}
		if v.c.Accounts[name] == nil {
			remedy := "add it under accounts"
			if near := nearest(name, slices.Sorted(maps.Keys(v.c.Accounts))); near != "" {
				remedy = "did you mean " + near + "?"
			}
			v.add(at+".accounts", name, "is not an account", remedy)
		}
	}
	for class, w := range sorted(r.Classes) {
		v.name(at+".classes."+class, class)
		if w != Strict && (w < 1 || w > 100) {
			v.add(at+".classes."+class, strconv.Itoa(int(w)), "is out of range", "use strict or 1 to 100")
		}
	}
	v.whole(at+".attempts", r.Attempts, 1, 100)
	if r.AttemptsPer != (Allowance{}) {
		v.whole(at+".attempts_per", r.AttemptsPer.Count, 1, 100)
		v.span(at+".attempts_per", r.AttemptsPer.Per, time.Second, week)
	}
	v.span(at+".expires_in", r.ExpiresIn, time.Second, week)
}

// unrouted reports accounts that nothing leads to, unless a misspelt name may
// have been meant for them.
func (v *validator) unrouted() {
	used := map[string]bool{}
	for _, r := range v.c.Routes {
		for _, name := range r.Accounts {
			if v.c.Accounts[name] == nil {
				return
			}
			used[name] = true
		}
	}
	for name := range sorted(v.c.Accounts) {
		if len(v.c.Routes) > 0 && !used[name] {
			v.add("accounts."+name, "", "is used by no route", "name it in a route, or remove it")
		}
	}
}
