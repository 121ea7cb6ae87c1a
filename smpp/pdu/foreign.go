package pdu

import "bytes"

// GuessForeign names what a peer seems to speak instead of SMPP, from the first
// octets it sent, or returns "" when it has no guess. Four octets are enough. It
// is meant for error texts: a wrong port or a missing TLS switch is found sooner
// when the error says so.
func GuessForeign(b []byte) string {
	if len(b) < 4 {
		return ""
	}
	switch string(b[:4]) {
	case "HTTP":
		return "an HTTP response"
	case "GET ", "POST", "HEAD", "PUT ", "OPTI", "CONN", "DELE", "PATC", "PRI ":
		return "an HTTP request"
	case "AMQP":
		return "AMQP"
	case "SSH-":
		return "an SSH banner"
	case "INFO":
		return "a NATS server"
	case "PROX", "\r\n\r\n":
		return "a PROXY protocol header"
	case "220 ", "220-":
		return "an SMTP or FTP banner"
	case "-ERR":
		return "a Redis error"
	}
	switch {
	case bytes.HasPrefix(b, []byte{0x15, 0x03}):
		return "a TLS alert"
	case bytes.HasPrefix(b, []byte{0x16, 0x03}):
		return "a TLS handshake"
	case bytes.HasPrefix(b, []byte{0x03, 0x00}):
		return "an RDP probe"
	}
	return ""
}
