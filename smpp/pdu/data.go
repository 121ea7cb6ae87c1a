package pdu

// DataSM is data_sm, in either direction: a message whose text is in the
// message_payload TLV (SMPP 3.4 section 4.7.1). Some centres send receipts in
// it.
type DataSM struct {
	ServiceType        []byte  // at most 5 octets
	Source             Address // of at most 64 octets
	Dest               Address // of at most 64 octets
	ESMClass           uint8
	RegisteredDelivery uint8
	DataCoding         uint8
	TLVs               TLVs
}

// CommandID returns IDDataSM.
func (*DataSM) CommandID() CommandID { return IDDataSM }

// AppendBody writes the body behind dst.
func (p *DataSM) AppendBody(dst []byte) ([]byte, error) {
	w := writer{b: dst}
	w.cstring("service_type", p.ServiceType, maxServiceType)
	w.address("source_addr", &p.Source, maxDataAddr)
	w.address("destination_addr", &p.Dest, maxDataAddr)
	w.b = append(w.b, p.ESMClass, p.RegisteredDelivery, p.DataCoding)
	w.tlvs(p.TLVs)
	return w.done(dst)
}

// ParseBody reads the body. All slices alias b, and the room of TLVs is
// reused.
func (p *DataSM) ParseBody(b []byte) error {
	r := reader{rest: b}
	p.ServiceType = r.cstring("service_type")
	r.address("source_addr", &p.Source)
	r.address("destination_addr", &p.Dest)
	p.ESMClass = r.octet("esm_class")
	p.RegisteredDelivery = r.octet("registered_delivery")
	p.DataCoding = r.octet("data_coding")
	p.TLVs = r.tlvs(p.TLVs)
	return r.err()
}

// DataSMResp is data_sm_resp (SMPP 3.4 section 4.7.2).
type DataSMResp SubmitSMResp

// CommandID returns IDDataSMResp.
func (*DataSMResp) CommandID() CommandID { return IDDataSMResp }

// AppendBody writes the body behind dst, or nothing when HeaderOnly is set.
func (p *DataSMResp) AppendBody(dst []byte) ([]byte, error) {
	return (*SubmitSMResp)(p).AppendBody(dst)
}

// ParseBody reads the body; an empty one sets HeaderOnly. All slices alias b.
func (p *DataSMResp) ParseBody(b []byte) error { return (*SubmitSMResp)(p).ParseBody(b) }
