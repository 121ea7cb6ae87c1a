package pdu

// QuerySM is query_sm: asks for the state of a message (SMPP 3.4 section 4.8.1).
type QuerySM struct {
	MessageID []byte  // at most 64 octets
	Source    Address // of at most 20 octets, as in the submit
}

// CommandID returns IDQuerySM.
func (*QuerySM) CommandID() CommandID { return IDQuerySM }

// AppendBody writes the body behind dst.
func (p *QuerySM) AppendBody(dst []byte) ([]byte, error) {
	w := writer{b: dst}
	w.cstring("message_id", p.MessageID, maxMessageID)
	w.address("source_addr", &p.Source, maxAddr)
	return w.done(dst)
}

// ParseBody reads the body. All slices alias b.
func (p *QuerySM) ParseBody(b []byte) error {
	r := reader{rest: b}
	p.MessageID = r.cstring("message_id")
	r.address("source_addr", &p.Source)
	return r.err()
}

// QuerySMResp is query_sm_resp (SMPP 3.4 section 4.8.2).
type QuerySMResp struct {
	HeaderOnly   bool   // there is no body
	MessageID    []byte // at most 64 octets
	FinalDate    []byte // empty while the message has no final state, or 16 octets
	MessageState MessageState
	ErrorCode    uint8 // of the network
	TLVs         TLVs  // SMPP 5.0
}

// CommandID returns IDQuerySMResp.
func (*QuerySMResp) CommandID() CommandID { return IDQuerySMResp }

// AppendBody writes the body behind dst, or nothing when HeaderOnly is set.
func (p *QuerySMResp) AppendBody(dst []byte) ([]byte, error) {
	if p.HeaderOnly {
		return dst, nil
	}
	w := writer{b: dst}
	w.cstring("message_id", p.MessageID, maxMessageID)
	w.smppTime("final_date", p.FinalDate)
	w.b = append(w.b, uint8(p.MessageState), p.ErrorCode)
	w.tlvs(p.TLVs)
	return w.done(dst)
}

// ParseBody reads the body; an empty one sets HeaderOnly. All slices alias b,
// and the room of TLVs is reused.
func (p *QuerySMResp) ParseBody(b []byte) error {
	if len(b) == 0 {
		*p = QuerySMResp{HeaderOnly: true, TLVs: p.TLVs[:0]}
		return nil
	}
	p.HeaderOnly = false
	r := reader{rest: b}
	p.MessageID = r.cstring("message_id")
	p.FinalDate = r.cstring("final_date")
	p.MessageState = MessageState(r.octet("message_state"))
	p.ErrorCode = r.octet("error_code")
	p.TLVs = r.tlvs(p.TLVs)
	return r.err()
}

// CancelSM is cancel_sm: takes back one message or, without a message id, all
// messages from Source to Dest (SMPP 3.4 section 4.9.1).
type CancelSM struct {
	ServiceType []byte  // at most 5 octets
	MessageID   []byte  // at most 64 octets
	Source      Address // of at most 20 octets
	Dest        Address // of at most 20 octets
}

// CommandID returns IDCancelSM.
func (*CancelSM) CommandID() CommandID { return IDCancelSM }

// AppendBody writes the body behind dst.
func (p *CancelSM) AppendBody(dst []byte) ([]byte, error) {
	w := writer{b: dst}
	w.cstring("service_type", p.ServiceType, maxServiceType)
	w.cstring("message_id", p.MessageID, maxMessageID)
	w.address("source_addr", &p.Source, maxAddr)
	w.address("destination_addr", &p.Dest, maxAddr)
	return w.done(dst)
}

// ParseBody reads the body. All slices alias b.
func (p *CancelSM) ParseBody(b []byte) error {
	r := reader{rest: b}
	p.ServiceType = r.cstring("service_type")
	p.MessageID = r.cstring("message_id")
	r.address("source_addr", &p.Source)
	r.address("destination_addr", &p.Dest)
	return r.err()
}

// ReplaceSM is replace_sm: changes a message that is not delivered yet (SMPP 3.4
// section 4.10.1).
type ReplaceSM struct {
	MessageID            []byte  // at most 64 octets
	Source               Address // of at most 20 octets, as in the submit
	ScheduleDeliveryTime []byte  // empty or 16 octets
	ValidityPeriod       []byte  // empty or 16 octets
	RegisteredDelivery   uint8
	DefaultMsgID         uint8
	ShortMessage         []byte // at most 254 octets
	TLVs                 TLVs   // SMPP 5.0: message_payload
}

// CommandID returns IDReplaceSM.
func (*ReplaceSM) CommandID() CommandID { return IDReplaceSM }

// AppendBody writes the body behind dst.
func (p *ReplaceSM) AppendBody(dst []byte) ([]byte, error) {
	w := writer{b: dst}
	w.cstring("message_id", p.MessageID, maxMessageID)
	w.address("source_addr", &p.Source, maxAddr)
	w.smppTime("schedule_delivery_time", p.ScheduleDeliveryTime)
	w.smppTime("validity_period", p.ValidityPeriod)
	w.b = append(w.b, p.RegisteredDelivery, p.DefaultMsgID)
	w.shortMessage(p.ShortMessage)
	w.tlvs(p.TLVs)
	return w.done(dst)
}

// ParseBody reads the body. All slices alias b, and the room of TLVs is reused.
func (p *ReplaceSM) ParseBody(b []byte) error {
	r := reader{rest: b}
	p.MessageID = r.cstring("message_id")
	r.address("source_addr", &p.Source)
	p.ScheduleDeliveryTime = r.cstring("schedule_delivery_time")
	p.ValidityPeriod = r.cstring("validity_period")
	p.RegisteredDelivery = r.octet("registered_delivery")
	p.DefaultMsgID = r.octet("sm_default_msg_id")
	p.ShortMessage = r.shortMessage()
	p.TLVs = r.tlvs(p.TLVs)
	return r.err()
}
