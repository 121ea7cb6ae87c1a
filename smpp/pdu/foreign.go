package pdu

// GuessForeign names the protocol whose first octets b looks like, or returns
// "" when it has no guess. It is meant for error texts.
func GuessForeign(b []byte) string { return "" }
