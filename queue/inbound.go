package queue

import (
	"context"
	"errors"
	"time"
)

// InboundRecord is a deliver_sm or data_sm as it came, stored before it is
// answered.
type InboundRecord struct {
	Account    string    `json:"account"`
	Bind       string    `json:"bind,omitempty"`
	ReceivedAt time.Time `json:"received_at"`
	// Command is the number of the PDU's command.
	Command uint32 `json:"command"`
	// PDU is the whole PDU, header included.
	PDU []byte `json:"pdu"`
}

// StoreInbound stores what the SMSC sent; answer it only after a nil error.
func (c *Client) StoreInbound(ctx context.Context, account string, in InboundRecord) error {
	return errors.New("in the making")
}

// InboundHandler handles one record. A positive retryAfter brings it back after
// that time; an error brings it back as well, after 1, 5, 24 and then 30 s.
type InboundHandler func(ctx context.Context, in InboundRecord, deliveries int) (retryAfter time.Duration, err error)

// ConsumeInbound hands the account's records to handle, one by one, until ctx
// ends.
func (c *Client) ConsumeInbound(ctx context.Context, account string, handle InboundHandler) error {
	return errors.New("in the making")
}

// MO is a message from a phone, joined from its parts.
type MO struct {
	V          int       `json:"v"`
	Account    string    `json:"account"`
	From       string    `json:"from"`
	To         string    `json:"to"`
	Text       string    `json:"text,omitempty"`
	Data       []byte    `json:"data,omitempty"`
	DataCoding uint8     `json:"data_coding"`
	UDH        string    `json:"udh,omitempty"`
	Segments   int       `json:"segments,omitempty"`
	Missing    int       `json:"missing,omitempty"`
	ReceivedAt time.Time `json:"received_at"`
}

// PublishMO gives a message from a phone to the users. The key dedupes repeats.
func (c *Client) PublishMO(ctx context.Context, account, key string, m MO) error {
	return errors.New("in the making")
}
