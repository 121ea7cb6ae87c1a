package pdu

// Bind is bind_transmitter, bind_receiver or bind_transceiver (SMPP 3.4
// sections 4.1.1, 4.1.3 and 4.1.5).
type Bind struct {
	Command          CommandID // which of the three; IDBindTransceiver when zero
	SystemID         string    // at most 15 octets by the specification; up to 1024 are written, as of the others
	Password         string    // at most 8 octets by the specification
	SystemType       string    // at most 12 octets by the specification
	InterfaceVersion uint8     // 0x34 for SMPP 3.4, 0x50 for SMPP 5.0
	AddrTON          uint8
	AddrNPI          uint8
	AddressRange     string // at most 40 octets by the specification
}

// CommandID returns the command id of the bind.
func (p *Bind) CommandID() CommandID {
	if p.Command == 0 {
		return IDBindTransceiver
	}
	return p.Command
}

// AppendBody writes the body behind dst.
func (p *Bind) AppendBody(dst []byte) ([]byte, error) {
	w := writer{b: dst}
	w.cstring("system_id", []byte(p.SystemID), maxBindField)
	w.cstring("password", []byte(p.Password), maxBindField)
	w.cstring("system_type", []byte(p.SystemType), maxBindField)
	w.b = append(w.b, p.InterfaceVersion, p.AddrTON, p.AddrNPI)
	w.cstring("address_range", []byte(p.AddressRange), maxBindField)
	return w.done(dst)
}

// ParseBody reads the body; Command is left as it is.
func (p *Bind) ParseBody(b []byte) error {
	r := reader{rest: b}
	p.SystemID = string(r.cstring("system_id"))
	p.Password = string(r.cstring("password"))
	p.SystemType = string(r.cstring("system_type"))
	p.InterfaceVersion = r.octet("interface_version")
	p.AddrTON = r.octet("addr_ton")
	p.AddrNPI = r.octet("addr_npi")
	p.AddressRange = string(r.cstring("address_range"))
	return r.err()
}

// BindResp is the response to one of the three binds (SMPP 3.4 sections 4.1.2,
// 4.1.4 and 4.1.6).
type BindResp struct {
	Command    CommandID // which of the three; IDBindTransceiverResp when zero
	HeaderOnly bool      // there is no body, as usual when the status is not zero
	SystemID   string    // the SMSC's own, at most 15 octets
	TLVs       TLVs      // sc_interface_version, for one
}

// CommandID returns the command id of the response.
func (p *BindResp) CommandID() CommandID {
	if p.Command == 0 {
		return IDBindTransceiverResp
	}
	return p.Command
}

// AppendBody writes the body behind dst, or nothing when HeaderOnly is set.
func (p *BindResp) AppendBody(dst []byte) ([]byte, error) {
	if p.HeaderOnly {
		return dst, nil
	}
	w := writer{b: dst}
	w.cstring("system_id", []byte(p.SystemID), maxSystemID)
	w.tlvs(p.TLVs)
	return w.done(dst)
}

// ParseBody reads the body; an empty one sets HeaderOnly. Command is left as it
// is.
func (p *BindResp) ParseBody(b []byte) error {
	if p.HeaderOnly = len(b) == 0; p.HeaderOnly {
		p.SystemID, p.TLVs = "", p.TLVs[:0]
		return nil
	}
	r := reader{rest: b}
	p.SystemID = string(r.lastCString())
	p.TLVs = r.tlvs(p.TLVs)
	return r.err()
}
