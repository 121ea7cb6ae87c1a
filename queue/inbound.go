package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// inboundAckWait is how long the handling of a record, and of those read
	// ahead of it, may take.
	inboundAckWait = 60 * time.Second
	// inboundAhead is how many records are read ahead of the handling.
	inboundAhead = 64
	// inboundWorkers is how many records are handled at once: each waits for
	// several confirmations in turn, and receipts come as fast as messages go.
	inboundWorkers = 16
	inboundRetry   = 2 * time.Second
)

// InboundRecord is a deliver_sm or data_sm as it came, stored before it is
// answered.
type InboundRecord struct {
	Account    string    `json:"account"`
	Bind       string    `json:"bind,omitempty"`
	ReceivedAt time.Time `json:"received_at"`
	// Instance and Session are where it came in.
	Instance string `json:"instance,omitempty"`
	Session  string `json:"session,omitempty"`
	// Command is the number of the PDU's command.
	Command uint32 `json:"command"`
	// PDU is the whole PDU, header included.
	PDU []byte `json:"pdu"`
	// Seq is the record's sequence in the stream, which tells it from another of
	// the same PDU. It is set when the record is read.
	Seq uint64 `json:"-"`
}

// StoreInbound stores what the SMSC sent; answer it only after a nil error, so
// that the SMSC keeps what was not stored. The error is [ErrInboundFull] when
// the stream has no room, or the account has half of the stream already.
func (c *Client) StoreInbound(ctx context.Context, account string, in InboundRecord) error {
	_, err := c.StoreInboundOnce(ctx, account, in, "")
	return err
}

// StoreInboundOnce is [Client.StoreInbound] that stores nothing where another
// record of the account was stored under the same name within two minutes: it
// returns that one's sequence, else 0.
func (c *Client) StoreInboundOnce(ctx context.Context, account string, in InboundRecord, once string) (earlier uint64, err error) {
	in.Account = account
	data, err := json.Marshal(in)
	if err == nil {
		err = c.inbound.take(ctx, c, account, len(data))
	}
	if err == nil {
		msg := nats.NewMsg(c.names.Load().inSubject(account))
		if msg.Data = data; once != "" {
			msg.Header.Set(headerOnce, account+":"+once)
		}
		var stored *jetstream.PubAck
		if stored, err = c.js.PublishMsg(ctx, msg); err == nil && stored.Duplicate {
			earlier = stored.Sequence
		}
		if isFull(err) {
			err = fmt.Errorf("%w: %w", ErrInboundFull, err)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("storing a PDU of account %q: %w", account, err)
	}
	return earlier, nil
}

// ReadInbound reads a stored record, and whether it is still there.
func (c *Client) ReadInbound(ctx context.Context, account string, seq uint64) (in InboundRecord, ok bool, err error) {
	m, err := c.readLeader(ctx, c.names.Load().in, readRequest{Seq: seq})
	if errors.Is(err, errNoMessage) {
		return in, false, nil
	}
	if err == nil {
		err = json.Unmarshal(m.Data, &in)
	}
	if err != nil {
		return in, false, fmt.Errorf("reading a PDU of account %q: %w", account, err)
	}
	in.Seq = m.Seq
	return in, true, nil
}

// InboundHandler handles one record. A positive retryAfter brings it back after
// that time; an error brings it back as well, after 1, 5, 24 and then 30 s.
// Deliveries counts from 1.
type InboundHandler func(ctx context.Context, in InboundRecord, deliveries int) (retryAfter time.Duration, err error)

// ConsumeInbound hands the account's records to handle, several at once, until
// ctx ends; instances share them. A record may come twice. It returns an error
// only when it cannot begin.
func (c *Client) ConsumeInbound(ctx context.Context, account string, handle InboundHandler) error {
	if err := CheckName("account", account); err != nil {
		return err
	}
	consumer, err := c.inboundConsumer(ctx, account)
	if err != nil {
		return fmt.Errorf("inbound of account %q: %w", account, err)
	}
	var purging sync.WaitGroup
	defer purging.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	purging.Go(func() { c.purgeInbound(ctx, account) })
	for {
		err := c.handleAll(ctx, consumer, handle)
		if ctx.Err() != nil {
			return nil
		}
		c.logger.Warn("inbound is read again after a pause", "account", account, "error", err)
		select {
		case <-time.After(inboundRetry):
		case <-ctx.Done():
			return nil
		}
		if again, err := c.inboundConsumer(ctx, account); err == nil {
			consumer = again // it may have been deleted
		}
	}
}

func (c *Client) inboundConsumer(ctx context.Context, account string) (jetstream.Consumer, error) {
	n := c.names.Load()
	name := inboundDurable(account)
	consumer, err := c.js.Consumer(ctx, n.in, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = c.js.CreateConsumer(ctx, n.in, jetstream.ConsumerConfig{
			Durable: name, FilterSubject: n.inSubject(account),
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: inboundAckWait, MaxDeliver: -1, MaxAckPending: maxAckPending,
		})
	}
	if errors.Is(err, jetstream.ErrConsumerExists) {
		return c.js.Consumer(ctx, n.in, name)
	}
	return consumer, err
}

// handleAll handles records until reading them fails.
func (c *Client) handleAll(ctx context.Context, consumer jetstream.Consumer, handle InboundHandler) error {
	messages, err := consumer.Messages(jetstream.PullMaxMessages(inboundAhead))
	if err != nil {
		return err
	}
	defer messages.Stop()
	var working sync.WaitGroup
	defer working.Wait()
	free, failed := make(chan struct{}, inboundWorkers), make(chan error, 1)
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		select {
		case err := <-failed:
			return err
		case free <- struct{}{}:
		}
		working.Go(func() {
			defer func() { <-free }()
			if err := c.handleInbound(ctx, m, handle); err != nil {
				select {
				case failed <- err:
				default: // the first one ends it
				}
			}
		})
	}
}

func (c *Client) handleInbound(ctx context.Context, m jetstream.Msg, handle InboundHandler) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	var in InboundRecord
	if err := json.Unmarshal(m.Data(), &in); err != nil {
		// Nobody can make anything of it, today or later.
		c.logger.Error("an inbound record cannot be read and is dropped", "seq", meta.Sequence.Stream)
		return m.Term()
	}
	in.Seq = meta.Sequence.Stream
	deliveries := int(meta.NumDelivered)
	after, err := handle(ctx, in, deliveries)
	switch {
	case err != nil && ctx.Err() != nil:
		return m.Nak()
	case err != nil:
		c.logger.Warn("an inbound record comes back", "seq", meta.Sequence.Stream, "deliveries", deliveries, "error", err)
		return m.NakWithDelay(inboundDelay(deliveries))
	case after > 0:
		return m.NakWithDelay(after)
	default:
		return m.Ack()
	}
}

// inboundDelay is when a record comes back that could not be handled: a receipt
// may well be here before the response that it belongs to is stored.
func inboundDelay(deliveries int) time.Duration {
	switch deliveries {
	case 1:
		return time.Second
	case 2:
		return 5 * time.Second
	case 3:
		return 24 * time.Second
	default:
		return 30 * time.Second
	}
}

// MO is a message from a phone, joined from its parts. It has a text, empty when
// the phone sent none; data instead when it is no text; and both when characters
// could not be read and are U+FFFD in the text.
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

// MarshalJSON writes text unless there is only data.
func (m MO) MarshalJSON() ([]byte, error) {
	type fields MO
	w := struct {
		fields
		Text *string `json:"text,omitempty"`
	}{fields: fields(m)}
	if m.Text != "" || len(m.Data) == 0 {
		w.Text = &m.Text
	}
	return json.Marshal(w)
}

// PublishMO gives a message from a phone to the users. Repeats with the same key
// within two minutes are stored once.
func (c *Client) PublishMO(ctx context.Context, account, key string, m MO) error {
	m.V, m.Account = ContractVersion, account
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("mo of account %q: %w", account, err)
	}
	msg := nats.NewMsg(c.names.Load().moSubject(account))
	msg.Data = data
	if key != "" {
		msg.Header.Set(headerOnce, account+":"+key)
	}
	if _, err := c.js.PublishMsg(ctx, msg); err != nil {
		return fmt.Errorf("mo of account %q: %w", account, err)
	}
	return nil
}
