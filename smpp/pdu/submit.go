package pdu

// SubmitSM is submit_sm: a message from the ESME to the SMSC (SMPP 3.4 section
// 4.4.1).
type SubmitSM struct {
	ServiceType          []byte  // at most 5 octets
	Source               Address // of at most 20 octets
	Dest                 Address // of at most 20 octets
	ESMClass             uint8   // section 5.2.12
	ProtocolID           uint8   // section 5.2.13
	PriorityFlag         uint8   // 0 to 3, section 5.2.14
	ScheduleDeliveryTime []byte  // empty or 16 octets, section 7.1.1
	ValidityPeriod       []byte  // empty or 16 octets, section 7.1.1
	RegisteredDelivery   uint8   // section 5.2.17
	ReplaceIfPresent     uint8   // 0 or 1
	DataCoding           uint8   // section 5.2.19
	DefaultMsgID         uint8   // sm_default_msg_id, section 5.2.20
	ShortMessage         []byte  // at most 254 octets; 255 are accepted on receipt
	TLVs                 TLVs
}

// CommandID returns IDSubmitSM.
func (*SubmitSM) CommandID() CommandID { return IDSubmitSM }

// AppendBody writes the body behind dst.
func (p *SubmitSM) AppendBody(dst []byte) ([]byte, error) {
	w := writer{b: dst}
	w.cstring("service_type", p.ServiceType, maxServiceType)
	w.address("source_addr", &p.Source, maxAddr)
	w.address("destination_addr", &p.Dest, maxAddr)
	w.b = append(w.b, p.ESMClass, p.ProtocolID, p.PriorityFlag)
	w.smppTime("schedule_delivery_time", p.ScheduleDeliveryTime)
	w.smppTime("validity_period", p.ValidityPeriod)
	w.b = append(w.b, p.RegisteredDelivery, p.ReplaceIfPresent, p.DataCoding, p.DefaultMsgID)
	w.shortMessage(p.ShortMessage)
	w.tlvs(p.TLVs)
	return w.done(dst)
}

// ParseBody reads the body. All slices alias b, and the room of TLVs is
// reused.
func (p *SubmitSM) ParseBody(b []byte) error {
	r := reader{rest: b}
	p.ServiceType = r.cstring("service_type")
	r.address("source_addr", &p.Source)
	r.address("destination_addr", &p.Dest)
	p.ESMClass = r.octet("esm_class")
	p.ProtocolID = r.octet("protocol_id")
	p.PriorityFlag = r.octet("priority_flag")
	p.ScheduleDeliveryTime = r.cstring("schedule_delivery_time")
	p.ValidityPeriod = r.cstring("validity_period")
	p.RegisteredDelivery = r.octet("registered_delivery")
	p.ReplaceIfPresent = r.octet("replace_if_present_flag")
	p.DataCoding = r.octet("data_coding")
	p.DefaultMsgID = r.octet("sm_default_msg_id")
	p.ShortMessage = r.shortMessage()
	p.TLVs = r.tlvs(p.TLVs)
	return r.err()
}

// SubmitSMResp is submit_sm_resp (SMPP 3.4 section 4.4.2).
type SubmitSMResp struct {
	HeaderOnly bool   // there is no body; both forms are seen when the status is not zero
	MessageID  []byte // at most 64 octets
	TLVs       TLVs   // SMPP 5.0, congestion_state for one
}

// CommandID returns IDSubmitSMResp.
func (*SubmitSMResp) CommandID() CommandID { return IDSubmitSMResp }

// AppendBody writes the body behind dst, or nothing when HeaderOnly is set.
func (p *SubmitSMResp) AppendBody(dst []byte) ([]byte, error) {
	if p.HeaderOnly {
		return dst, nil
	}
	w := writer{b: dst}
	w.cstring("message_id", p.MessageID, maxMessageID)
	w.tlvs(p.TLVs)
	return w.done(dst)
}

// ParseBody reads the body; an empty one sets HeaderOnly, and a message_id
// without its NUL is taken to the end. All slices alias b, and the room of TLVs
// is reused.
func (p *SubmitSMResp) ParseBody(b []byte) error {
	if p.HeaderOnly = len(b) == 0; p.HeaderOnly {
		p.MessageID, p.TLVs = nil, p.TLVs[:0]
		return nil
	}
	r := reader{rest: b}
	p.MessageID = r.lastCString()
	p.TLVs = r.tlvs(p.TLVs)
	return r.err()
}
