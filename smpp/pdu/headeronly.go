package pdu

// The PDUs of this file have no body. Octets behind the header are ignored on
// receipt.

// EnquireLink is enquire_link (SMPP 3.4 section 4.11.1).
type EnquireLink struct{}

// CommandID returns IDEnquireLink.
func (*EnquireLink) CommandID() CommandID { return IDEnquireLink }

// AppendBody returns dst.
func (*EnquireLink) AppendBody(dst []byte) ([]byte, error) { return dst, nil }

// ParseBody ignores b.
func (*EnquireLink) ParseBody([]byte) error { return nil }

// EnquireLinkResp is enquire_link_resp (SMPP 3.4 section 4.11.2).
type EnquireLinkResp struct{}

// CommandID returns IDEnquireLinkResp.
func (*EnquireLinkResp) CommandID() CommandID { return IDEnquireLinkResp }

// AppendBody returns dst.
func (*EnquireLinkResp) AppendBody(dst []byte) ([]byte, error) { return dst, nil }

// ParseBody ignores b.
func (*EnquireLinkResp) ParseBody([]byte) error { return nil }

// Unbind is unbind (SMPP 3.4 section 4.2.1).
type Unbind struct{}

// CommandID returns IDUnbind.
func (*Unbind) CommandID() CommandID { return IDUnbind }

// AppendBody returns dst.
func (*Unbind) AppendBody(dst []byte) ([]byte, error) { return dst, nil }

// ParseBody ignores b.
func (*Unbind) ParseBody([]byte) error { return nil }

// UnbindResp is unbind_resp (SMPP 3.4 section 4.2.2).
type UnbindResp struct{}

// CommandID returns IDUnbindResp.
func (*UnbindResp) CommandID() CommandID { return IDUnbindResp }

// AppendBody returns dst.
func (*UnbindResp) AppendBody(dst []byte) ([]byte, error) { return dst, nil }

// ParseBody ignores b.
func (*UnbindResp) ParseBody([]byte) error { return nil }

// CancelSMResp is cancel_sm_resp (SMPP 3.4 section 4.9.2).
type CancelSMResp struct{}

// CommandID returns IDCancelSMResp.
func (*CancelSMResp) CommandID() CommandID { return IDCancelSMResp }

// AppendBody returns dst.
func (*CancelSMResp) AppendBody(dst []byte) ([]byte, error) { return dst, nil }

// ParseBody ignores b.
func (*CancelSMResp) ParseBody([]byte) error { return nil }

// ReplaceSMResp is replace_sm_resp (SMPP 3.4 section 4.10.2).
type ReplaceSMResp struct{}

// CommandID returns IDReplaceSMResp.
func (*ReplaceSMResp) CommandID() CommandID { return IDReplaceSMResp }

// AppendBody returns dst.
func (*ReplaceSMResp) AppendBody(dst []byte) ([]byte, error) { return dst, nil }

// ParseBody ignores b.
func (*ReplaceSMResp) ParseBody([]byte) error { return nil }

// GenericNack is generic_nack: the answer to a PDU that could not be read or is
// not known (SMPP 3.4 section 4.3.1).
type GenericNack struct{}

// CommandID returns IDGenericNack.
func (*GenericNack) CommandID() CommandID { return IDGenericNack }

// AppendBody returns dst.
func (*GenericNack) AppendBody(dst []byte) ([]byte, error) { return dst, nil }

// ParseBody ignores b.
func (*GenericNack) ParseBody([]byte) error { return nil }
