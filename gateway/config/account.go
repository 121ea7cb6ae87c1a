package config

import (
	"strconv"
	"time"
)

// Account is one system_id at one SMSC. Only address, system_id and password
// are required.
type Account struct {
	// Address of the SMSC as host:port, or a list of them that take turns when one cannot be reached or refuses the bind.
	Address []string `yaml:"address"`
	// IP address of this host to connect from, where the SMSC allows only one. Default: the system chooses.
	LocalAddress string `yaml:"local_address"`
	// TLS to the SMSC.
	TLS TLS `yaml:"tls"`
	// Name to bind with, at most 15 octets by the specification; a longer one is sent as it is, with a warning.
	SystemID string `yaml:"system_id"`
	// Password to bind with, at most 8 octets by the specification, and sent as it is: {env: NAME}, {file: PATH}, or a literal, which is accepted with a warning.
	Password Secret `yaml:"password"`
	// Kind of system, at most 12 octets, as the SMSC asks for it. Default empty.
	SystemType string `yaml:"system_type"`
	// How to bind: transceiver, transmitter+receiver for two sessions that make one bind, or transmitter for an account that may only submit: neither receipts nor messages from phones come over it. Default transceiver.
	Bind BindMode `yaml:"bind"`
	// Binds of this instance, 1 to 100; they share the account's pace. Default 1.
	Binds int `yaml:"binds"`
	// Most binds of all instances together, not less than binds. Default 0: each instance has its own.
	MaxBinds int `yaml:"max_binds"`
	// Named status profile of the SMSC's vendor; sluice codes lists the result. Default none.
	Profile string `yaml:"profile"`
	// What a command_status means at this SMSC, by number: "0x45" for submit_sm_resp, "bind:0x0D" for bind responses, "nack:0x03" for generic_nack.
	Statuses map[string]Status `yaml:"statuses"`
	// SMPP version to announce, 3.4 or 5.0. Default 3.4.
	InterfaceVersion Version `yaml:"interface_version"`
	// Type of number of address_range, 0 to 255. Default 0.
	AddrTON uint8 `yaml:"addr_ton"`
	// Numbering plan of address_range, 0 to 255. Default 0.
	AddrNPI uint8 `yaml:"addr_npi"`
	// Addresses served by this bind, at most 40 octets, as the SMSC asks for it. Default empty.
	AddressRange string `yaml:"address_range"`
	// How the time that is left to a message is told to the SMSC. Where it refuses the period (0x62) of a message that states no life of its own, such messages go without one until the next start.
	Validity Validity `yaml:"validity"`
	// Refusals that are not about the pace.
	Noise Noise `yaml:"noise"`
	// Carry user_message_reference on every submit_sm: true, false, or auto for yes where the SMSC announces SMPP 3.4 or later in its bind_resp and until it refuses a submit that has no other TLV. Default auto.
	Mark Mark `yaml:"mark"`
	// What 0x14, message queue full, speaks about: account or destination. Default account.
	QueueFull QueueFull `yaml:"queue_full"`
	// The pace of submits.
	Rate Rate `yaml:"rate"`
	// How far submits may run ahead of their answers.
	Window Window `yaml:"window"`
	// How long a bind waits for its response, 1s to 5m. Default 30s.
	BindTimeout time.Duration `yaml:"bind_timeout"`
	// How long a submit_sm waits for its response before its outcome is unknown, 1s to 10m. Default 30s.
	ResponseTimeout time.Duration `yaml:"response_timeout"`
	// Probing of an idle bind.
	EnquireLink EnquireLink `yaml:"enquire_link"`
	// What to do when no answer came to a submit.
	Unknown Unknown `yaml:"unknown"`
	// Encoding of texts.
	Text Text `yaml:"text"`
	// How message ids of responses and receipts are compared.
	Receipts Receipts `yaml:"receipts"`
}

// TLS configures TLS 1.2 or later to the SMSC.
type TLS struct {
	// Use TLS. Default false.
	Enabled bool `yaml:"enabled"`
	// PEM file of the certificate authorities that may sign the SMSC's certificate. Default: the system's.
	CA string `yaml:"ca"`
	// PEM file of a client certificate; needs key.
	Cert string `yaml:"cert"`
	// PEM file of the private key of cert.
	Key string `yaml:"key"`
	// Name in the SMSC's certificate. Default: the host of address.
	ServerName string `yaml:"server_name"`
}

// Validity configures validity_period of submit_sm.
type Validity struct {
	// relative, absolute or off. Default relative.
	Form ValidityForm `yaml:"form"`
	// Shortest period to send; a message with less left still expires here on time. Default 60s.
	Min time.Duration `yaml:"min"`
}

// Noise bounds the refusals that the controller may learn to ignore because
// they do not follow the pace.
type Noise struct {
	// Largest share of refusals that may be ignored after a test: at most 6%, or 12% where exclusive. 0 turns the tests off. Default 6%.
	Max Percent `yaml:"max"`
	// Nobody else sends through this system_id, so refusals can only be about us. Default false.
	Exclusive bool `yaml:"exclusive"`
	// Share of refusals to ignore from the start, without a test. Default 0.
	Ignore Percent `yaml:"ignore"`
}

// Rate configures the pace of an account.
type Rate struct {
	// Contracted submit_sm a second, a hard cap. Default 0: the ceiling is learned.
	Declared float64 `yaml:"declared"`
	// Share of submits that may be spent on finding out whether the SMSC would take more, 0 to 5%. Default 0.2%.
	ProbeBudget Percent `yaml:"probe_budget"`
}

// Window caps the submits without an answer.
type Window struct {
	// Most submits without an answer, 1 to 10000. Default 0: no cap but the learned one.
	Max int `yaml:"max"`
}

// EnquireLink configures the probes of an idle bind.
type EnquireLink struct {
	// Silence after which enquire_link is sent, 1s to 10m. Default 30s.
	Interval time.Duration `yaml:"interval"`
	// Wait for its answer before the bind is replaced, 1s to 5m. Default 10s.
	Timeout time.Duration `yaml:"timeout"`
}

// Unknown configures what follows a submit that got no answer.
type Unknown struct {
	// retry: send again, marked possible_duplicate; hold: set it aside for a person. Default retry.
	Policy UnknownPolicy `yaml:"policy"`
	// Resends of one message after no answer, 0 to 10; then it is deferred. Default 1.
	Max int `yaml:"max"`
	// Wait before a resend. Default: the larger of 60s and two response timeouts.
	After time.Duration `yaml:"after"`
}

// Text configures the encoding of texts.
type Text struct {
	// What data_coding 0 means at this SMSC: gsm7, gsm7-packed, latin1 or ascii. Default gsm7.
	DefaultAlphabet Alphabet `yaml:"default_alphabet"`
	// What data_coding 0 means in messages from phones: gsm7, gsm7-packed, latin1, ascii, utf8 or ucs2. Default: as default_alphabet.
	InboundAlphabet InboundAlphabet `yaml:"inbound_alphabet"`
	// How a long text is split: udh8 or udh16 for a header with an 8- or 16-bit reference, sar for TLVs, or payload to let the SMSC split it. Default udh8.
	Long LongText `yaml:"long"`
	// Most segments of one message, 1 to 255; what is longer ends failed before anything is sent. Default 255.
	MaxSegments int `yaml:"max_segments"`
	// National single-shift table for a text that fits GSM 7-bit only with it: none, turkish, spanish or portuguese. Default none.
	Language Language `yaml:"language"`
	// Replace characters that the alphabet lacks by lookalikes, rather than send the text as UCS2. Default false.
	Transliterate bool `yaml:"transliterate"`
	// With default_alphabet latin1: send a text with letters that GSM 7-bit lacks as UCS2, for SMSCs that drop them when they convert. Default false.
	AvoidLatin1 bool `yaml:"avoid_latin1"`
	// Tag of a vendor TLV, 0x1400 to 0x3FFF, that carries the delivery id. Default none.
	IDTLV string `yaml:"id_tlv"`
}

// IDTag is the tag of id_tlv, 0 without one and for what is no vendor's tag.
func (t Text) IDTag() uint16 {
	tag, err := strconv.ParseUint(t.IDTLV, 0, 16)
	if err != nil || tag < 0x1400 || tag > 0x3fff {
		return 0
	}
	return uint16(tag)
}

// Receipts configures how receipts are read and matched: by the message id of
// the submit_sm_resp, exactly, else in lower case, else without leading zeros.
// With hex here and decimal there, ids are compared as numbers instead.
type Receipts struct {
	// Form of message_id in submit_sm_resp: opaque, hex or decimal; with the latter receipt_id too. Default opaque: as it is.
	ResponseID IDForm `yaml:"response_id"`
	// Form of the id in receipts: opaque, hex or decimal; with the latter response_id too. Default opaque: as it is.
	ReceiptID IDForm `yaml:"receipt_id"`
	// What words of the SMSC's own after "stat:" mean, as BLIST: rejected. Case does not matter.
	States map[string]ReceiptState `yaml:"states"`
	// Zone of the dates in receipts: a name as Europe/Moscow, or an offset as +03:00. Default none: done_at claims no zone.
	Zone Zone `yaml:"zone"`
	// What one receipt speaks for: segment, or message where the SMSC sends one for all segments. Default segment.
	Per ReceiptPer `yaml:"per"`
	// Take a text for a receipt that is not marked as one, where it has the form and its id and number are those of a message of this account. Default false.
	Unmarked bool `yaml:"unmarked"`
}
