package pdu

// DeliverSM is deliver_sm: a message or a receipt from the SMSC to the ESME
// (SMPP 3.4 section 4.6.1). It has the fields of submit_sm; the two times,
// replace_if_present_flag and sm_default_msg_id are unused and should be zero.
type DeliverSM SubmitSM

// CommandID returns IDDeliverSM.
func (*DeliverSM) CommandID() CommandID { return IDDeliverSM }

// AppendBody writes the body behind dst.
func (p *DeliverSM) AppendBody(dst []byte) ([]byte, error) { return (*SubmitSM)(p).AppendBody(dst) }

// ParseBody reads the body. All slices alias b, and the room of TLVs is
// reused.
func (p *DeliverSM) ParseBody(b []byte) error { return (*SubmitSM)(p).ParseBody(b) }

// DeliverSMResp is deliver_sm_resp (SMPP 3.4 section 4.6.2). Its message_id is
// unused and should be empty.
type DeliverSMResp SubmitSMResp

// CommandID returns IDDeliverSMResp.
func (*DeliverSMResp) CommandID() CommandID { return IDDeliverSMResp }

// AppendBody writes the body behind dst, or nothing when HeaderOnly is set.
func (p *DeliverSMResp) AppendBody(dst []byte) ([]byte, error) {
	return (*SubmitSMResp)(p).AppendBody(dst)
}

// ParseBody reads the body; an empty one sets HeaderOnly. All slices alias b.
func (p *DeliverSMResp) ParseBody(b []byte) error { return (*SubmitSMResp)(p).ParseBody(b) }
