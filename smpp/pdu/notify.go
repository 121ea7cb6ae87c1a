package pdu

// Outbind is outbind: the SMSC asks the ESME to bind as a receiver (SMPP 3.4
// section 4.1.7). It has no response.
type Outbind struct {
	SystemID string // at most 15 octets
	Password string // at most 8 octets
}

// CommandID returns IDOutbind.
func (*Outbind) CommandID() CommandID { return IDOutbind }

// AppendBody writes the body behind dst.
func (p *Outbind) AppendBody(dst []byte) ([]byte, error) {
	w := writer{b: dst}
	w.cstring("system_id", []byte(p.SystemID), maxSystemID)
	w.cstring("password", []byte(p.Password), maxPassword)
	return w.done(dst)
}

// ParseBody reads the body.
func (p *Outbind) ParseBody(b []byte) error {
	r := reader{rest: b}
	p.SystemID = string(r.cstring("system_id"))
	p.Password = string(r.cstring("password"))
	return r.err()
}

// AlertNotification is alert_notification: a subscriber can be reached again
// (SMPP 3.4 section 4.12.1). It has no response.
type AlertNotification struct {
	Source Address // the subscriber, of at most 64 octets
	ESME   Address // esme_addr, of at most 64 octets
	TLVs   TLVs    // ms_availability_status
}

// CommandID returns IDAlertNotification.
func (*AlertNotification) CommandID() CommandID { return IDAlertNotification }

// AppendBody writes the body behind dst.
func (p *AlertNotification) AppendBody(dst []byte) ([]byte, error) {
	w := writer{b: dst}
	w.address("source_addr", &p.Source, maxDataAddr)
	w.address("esme_addr", &p.ESME, maxDataAddr)
	w.tlvs(p.TLVs)
	return w.done(dst)
}

// ParseBody reads the body. All slices alias b, and the room of TLVs is reused.
func (p *AlertNotification) ParseBody(b []byte) error {
	r := reader{rest: b}
	r.address("source_addr", &p.Source)
	r.address("esme_addr", &p.ESME)
	p.TLVs = r.tlvs(p.TLVs)
	return r.err()
}
