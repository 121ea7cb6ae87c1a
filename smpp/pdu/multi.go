package pdu

import "encoding/binary"

const (
	maxDests     = 254 // SMPP 3.4 section 5.2.24
	maxUnsuccess = 255 // what the octet no_unsuccess can announce

	destFlagSME  = 1 // SMPP 3.4 section 5.2.25
	destFlagList = 2
)

// Destination is one dest_address of submit_multi: an address or the name of a
// distribution list (SMPP 3.4 section 4.5.1.1).
type Destination struct {
	IsList   bool
	ListName []byte  // at most 20 octets; used when IsList is set
	Address  Address // of at most 20 octets; used when IsList is not set
}

// SubmitMulti is submit_multi: one message to many destinations (SMPP 3.4
// section 4.5.1).
type SubmitMulti struct {
	ServiceType          []byte
	Source               Address
	Dests                []Destination // 1 to 254
	ESMClass             uint8
	ProtocolID           uint8
	PriorityFlag         uint8
	ScheduleDeliveryTime []byte
	ValidityPeriod       []byte
	RegisteredDelivery   uint8
	ReplaceIfPresent     uint8
	DataCoding           uint8
	DefaultMsgID         uint8
	ShortMessage         []byte
	TLVs                 TLVs
}

// CommandID returns IDSubmitMulti.
func (*SubmitMulti) CommandID() CommandID { return IDSubmitMulti }

// AppendBody writes the body behind dst.
func (p *SubmitMulti) AppendBody(dst []byte) ([]byte, error) {
	w := writer{b: dst}
	w.cstring("service_type", p.ServiceType, maxServiceType)
	w.address("source_addr", &p.Source, maxAddr)
	w.dests(p.Dests)
	w.b = append(w.b, p.ESMClass, p.ProtocolID, p.PriorityFlag)
	w.smppTime("schedule_delivery_time", p.ScheduleDeliveryTime)
	w.smppTime("validity_period", p.ValidityPeriod)
	w.b = append(w.b, p.RegisteredDelivery, p.ReplaceIfPresent, p.DataCoding, p.DefaultMsgID)
	w.shortMessage(p.ShortMessage)
	w.tlvs(p.TLVs)
	return w.done(dst)
}

func (w *writer) dests(dests []Destination) {
	if len(dests) == 0 || len(dests) > maxDests {
		w.fail("number_of_dests", len(dests), maxDests, "is not between 1 and 254")
		return
	}
	w.b = append(w.b, uint8(len(dests)))
	for i := range dests {
		d := &dests[i]
		if d.IsList {
			w.b = append(w.b, destFlagList)
			w.cstring("dl_name", d.ListName, maxListName)
			continue
		}
		w.b = append(w.b, destFlagSME)
		w.address("destination_addr", &d.Address, maxAddr)
	}
}

// ParseBody reads the body. All slices alias b, and the room of Dests and TLVs
// is reused. A dest_flag that is neither 1 nor 2 is a *FieldError: what follows
// it cannot be told.
func (p *SubmitMulti) ParseBody(b []byte) error {
	r := reader{rest: b}
	p.ServiceType = r.cstring("service_type")
	r.address("source_addr", &p.Source)
	p.Dests = p.Dests[:0]
	for range r.octet("number_of_dests") {
		var d Destination
		switch flag := r.octet("dest_flag"); {
		case r.short != "":
			return r.err()
		case flag == destFlagSME:
			r.address("destination_addr", &d.Address)
		case flag == destFlagList:
			d.IsList = true
			d.ListName = r.cstring("dl_name")
		default:
			return &FieldError{Field: "dest_flag", Length: 1, Limit: 1, Reason: "is neither 1 (address) nor 2 (distribution list)"}
		}
		p.Dests = append(p.Dests, d)
	}
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

// Unsuccess is one destination that submit_multi_resp refuses (SMPP 3.4 section
// 4.5.2.1).
type Unsuccess struct {
	Address Address // of at most 20 octets
	Status  Status  // error_status_code
}

// SubmitMultiResp is submit_multi_resp (SMPP 3.4 section 4.5.2).
type SubmitMultiResp struct {
	HeaderOnly bool        // there is no body
	MessageID  []byte      // at most 64 octets
	Unsuccess  []Unsuccess // at most 255
	TLVs       TLVs        // SMPP 5.0
}

// CommandID returns IDSubmitMultiResp.
func (*SubmitMultiResp) CommandID() CommandID { return IDSubmitMultiResp }

// AppendBody writes the body behind dst, or nothing when HeaderOnly is set.
func (p *SubmitMultiResp) AppendBody(dst []byte) ([]byte, error) {
	if p.HeaderOnly {
		return dst, nil
	}
	w := writer{b: dst}
	w.cstring("message_id", p.MessageID, maxMessageID)
	if len(p.Unsuccess) > maxUnsuccess {
		w.fail("no_unsuccess", len(p.Unsuccess), maxUnsuccess, "")
		return w.done(dst)
	}
	w.octet(uint8(len(p.Unsuccess)))
	for i := range p.Unsuccess {
		w.address("unsuccess_sme", &p.Unsuccess[i].Address, maxAddr)
		w.b = binary.BigEndian.AppendUint32(w.b, uint32(p.Unsuccess[i].Status))
	}
	w.tlvs(p.TLVs)
	return w.done(dst)
}

// ParseBody reads the body; an empty one sets HeaderOnly. A body that ends
// behind message_id refuses no destination. All slices alias b, and the room of
// Unsuccess and TLVs is reused.
func (p *SubmitMultiResp) ParseBody(b []byte) error {
	p.MessageID, p.Unsuccess, p.TLVs = nil, p.Unsuccess[:0], p.TLVs[:0]
	if p.HeaderOnly = len(b) == 0; p.HeaderOnly {
		return nil
	}
	r := reader{rest: b}
	p.MessageID = r.lastCString()
	if len(r.rest) == 0 {
		return r.err()
	}
	for range r.octet("no_unsuccess") {
		var u Unsuccess
		r.address("unsuccess_sme", &u.Address)
		if code := r.octets("error_status_code", 4); code != nil {
			u.Status = Status(binary.BigEndian.Uint32(code))
		}
		if r.short != "" {
			return r.err()
		}
		p.Unsuccess = append(p.Unsuccess, u)
	}
	p.TLVs = r.tlvs(p.TLVs)
	return r.err()
}
