package pdu

// Address is a type of number, a numbering plan and the digits or name they
// speak about (SMPP 3.4 sections 5.2.5, 5.2.6 and 5.2.8).
type Address struct {
	TON  uint8  // type of number: 0 unknown, 1 international, 5 alphanumeric
	NPI  uint8  // numbering plan indicator: 0 unknown, 1 E.164
	Addr []byte // at most 20 octets, 64 in data_sm and alert_notification
}

func (w *writer) address(field string, a *Address, limit int) {
	w.b = append(w.b, a.TON, a.NPI)
	w.cstring(field, a.Addr, limit)
}

// address reads an address whose three fields are reported as one.
func (r *reader) address(field string, a *Address) {
	a.TON = r.octet(field)
	a.NPI = r.octet(field)
	a.Addr = r.cstring(field)
}
