package smpp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"sluice/smpp/pdu"
)

// Mode says which of the three binds a session asks for (SMPP 3.4 section 2.2).
type Mode uint8

// The modes of a session.
const (
	Transceiver Mode = iota // submits and receives; the default
	Transmitter             // submits only: a deliver_sm is answered with ESME_RINVBNDSTS
	Receiver                // receives only: Submit returns ErrNotSent
)

// String returns "transceiver", "transmitter" or "receiver".
func (m Mode) String() string {
	switch m {
	case Transceiver:
		return "transceiver"
	case Transmitter:
		return "transmitter"
	case Receiver:
		return "receiver"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

func (m Mode) command() pdu.CommandID {
	switch m {
	case Transmitter:
		return pdu.IDBindTransmitter
	case Receiver:
		return pdu.IDBindReceiver
	case Transceiver:
	}
	return pdu.IDBindTransceiver
}

// Config says how to reach an SMSC and how a session with it behaves. The zero
// value of every field but Address and SystemID means its documented default.
type Config struct {
	// SystemID and Password are what the SMSC knows us by: at most 15 and 8
	// octets (SMPP 3.4 section 4.1). Longer ones are sent as they are, up to 1024
	// octets, and so are SystemType and AddressRange: operators give them out. The
	// password never appears in an error.
	SystemID, Password string
	// SystemType is a category some SMSCs insist on, at most 12 octets.
	SystemType string
	// Mode is the kind of bind; Transceiver by default.
	Mode Mode
	// InterfaceVersion is the version we claim to speak: 0x34 (SMPP 3.4) by
	// default, 0x33 or 0x50.
	InterfaceVersion uint8
	// AddrTON, AddrNPI and AddressRange, at most 40 octets, name the addresses
	// we serve. Most SMSCs want them empty.
	AddrTON, AddrNPI uint8
	AddressRange     string

	// Address is the host:port that Dial connects to. Bind does not read it.
	Address string
	// LocalAddress is the IP address that Dial connects from; empty lets the
	// system choose. Its family has to be the one of Address.
	LocalAddress string
	// TLS, when set, makes Dial speak TLS 1.2 or later. An empty ServerName
	// becomes the host of Address.
	TLS *tls.Config

	// ConnectTimeout bounds Dial: TCP and the TLS handshake together. 10 s.
	ConnectTimeout time.Duration
	// BindTimeout bounds Bind: writing the bind and reading its answer. 10 s.
	BindTimeout time.Duration
	// WriteTimeout is how long one write may wait for the peer to read before
	// the session ends. 10 s.
	WriteTimeout time.Duration
	// ResponseTimeout is how long Submit waits for its answer. 30 s.
	ResponseTimeout time.Duration
	// UnbindTimeout bounds the wait for unbind_resp, and the wait for what is
	// in flight when the peer unbinds. 5 s.
	UnbindTimeout time.Duration
	// EnquireLinkInterval is how long the peer may be silent before it is
	// asked whether it is there. 30 s; some carriers want 20 s.
	EnquireLinkInterval time.Duration
	// EnquireLinkTimeout is how long the peer may stay silent after that
	// before the session ends, and how long a PDU that it has begun may take. 10 s.
	EnquireLinkTimeout time.Duration
	// Tombstones is how long an unanswered request is remembered, so that a
	// late response can still be told to Handler.Late. 10 min; at most 65,536
	// are kept, the newest ones.
	Tombstones time.Duration

	// MaxInFlight is how many submits may wait for their answers at a time,
	// 1024 by default. Submit blocks beyond it, SubmitFunc when as many more
	// wait. It bounds memory; the window that follows the SMSC's ceiling belongs
	// to the caller.
	MaxInFlight int
	// MaxPDU is the longest PDU that is read, in octets, 64 KiB by default. A
	// longer one ends the session before anything is allocated for it.
	MaxPDU int
	// InboundQueue is how many deliver_sm and data_sm may wait for the
	// handler, 1000 by default. What comes beyond it is answered with
	// ESME_RMSGQFUL, so that the SMSC keeps it.
	InboundQueue int
	// InboundOctets is how many octets of them may wait for it, with the one being handled, 4 MiB by default: as
	// many full-size PDUs as InboundQueue allows would be 64 MiB. One PDU is always taken.
	InboundOctets int
	// Handler takes what the SMSC sends on its own. Without one every
	// deliver_sm is answered with ESME_RSYSERR, because nobody stored it, and
	// late responses are only counted.
	Handler Handler

	// firstSequence lets tests start near the wrap; 0 means 1.
	firstSequence uint32
}

const (
	defaultTimeout      = 10 * time.Second
	defaultMaxInFlight  = 1024
	defaultInboundQueue = 1000
	defaultInbound      = 4 << 20

	// mostBindField bounds the fields of the bind, where the specification does not
	// hold: it has 8 to 40 octets.
	mostBindField = 1024

	highestMaxInFlight  = 1 << 20
	highestInbound      = 1 << 30
	highestMaxPDU       = 16 << 20
	highestInboundQueue = 1 << 20
)

func (c Config) withDefaults() Config {
	c.InterfaceVersion = or(c.InterfaceVersion, 0x34)
	c.ConnectTimeout = or(c.ConnectTimeout, defaultTimeout)
	c.BindTimeout = or(c.BindTimeout, defaultTimeout)
	c.WriteTimeout = or(c.WriteTimeout, defaultTimeout)
	c.ResponseTimeout = or(c.ResponseTimeout, 30*time.Second)
	c.UnbindTimeout = or(c.UnbindTimeout, 5*time.Second)
	c.EnquireLinkInterval = or(c.EnquireLinkInterval, 30*time.Second)
	c.EnquireLinkTimeout = or(c.EnquireLinkTimeout, defaultTimeout)
	c.Tombstones = or(c.Tombstones, 10*time.Minute)
	c.MaxInFlight = or(c.MaxInFlight, defaultMaxInFlight)
	c.MaxPDU = or(c.MaxPDU, pdu.DefaultMaxLen)
	c.InboundQueue = or(c.InboundQueue, defaultInboundQueue)
	c.InboundOctets = or(c.InboundOctets, defaultInbound)
	c.firstSequence = or(c.firstSequence, 1)
	return c
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Validate returns all faults of the configuration in one error. Each names the
// field, its value and what would be right; the password is never shown.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("smpp: "+format, args...))
	}
	text := func(field, value string) {
		if len(value) > mostBindField {
			fault("%s is %d octets long: at most %d are sent", field, len(value), mostBindField)
		}
		if strings.IndexByte(value, 0) >= 0 {
			fault("%s contains a NUL octet: remove it", field)
		}
	}
	text("SystemID", c.SystemID)
	text("Password", c.Password)
	text("SystemType", c.SystemType)
	text("AddressRange", c.AddressRange)
	if _, err := netip.ParseAddr(c.LocalAddress); err != nil && c.LocalAddress != "" {
		fault("LocalAddress %q is not an IP address: use one of this host, without a port", c.LocalAddress)
	}
	if c.Mode > Receiver {
		fault("Mode %d is not known: use Transceiver, Transmitter or Receiver", uint8(c.Mode))
	}
	switch c.InterfaceVersion {
	case 0, 0x33, 0x34, 0x50:
	default:
		fault("InterfaceVersion 0x%02X is not known: use 0x34 for SMPP 3.4 or 0x50 for SMPP 5.0", c.InterfaceVersion)
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"ConnectTimeout", c.ConnectTimeout},
		{"BindTimeout", c.BindTimeout},
		{"WriteTimeout", c.WriteTimeout},
		{"ResponseTimeout", c.ResponseTimeout},
		{"UnbindTimeout", c.UnbindTimeout},
		{"EnquireLinkInterval", c.EnquireLinkInterval},
		{"EnquireLinkTimeout", c.EnquireLinkTimeout},
		{"Tombstones", c.Tombstones},
	} {
		if d.value < 0 {
			fault("%s %v is negative: use a positive duration, or 0 for the default", d.field, d.value)
		}
	}
	for _, n := range []struct {
		field            string
		value, low, high int
	}{
		{"MaxInFlight", c.MaxInFlight, 1, highestMaxInFlight},
		{"MaxPDU", c.MaxPDU, 1024, highestMaxPDU},
		{"InboundQueue", c.InboundQueue, 1, highestInboundQueue},
		{"InboundOctets", c.InboundOctets, 1, highestInbound},
	} {
		if n.value != 0 && (n.value < n.low || n.value > n.high) {
			fault("%s %d is out of range: use %d to %d, or 0 for the default", n.field, n.value, n.low, n.high)
		}
	}
	return errors.Join(faults...)
}
