package smpp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"sluice/smpp/pdu"
)

// Bind binds on a connection and returns the session (SMPP 3.4 section 4.1). It
// waits at most BindTimeout, and less when ctx ends. A refusal is a *BindError;
// octets that are not SMPP wrap a *pdu.LengthError. Bind owns the connection:
// on an error it is closed.
func Bind(ctx context.Context, conn net.Conn, cfg Config) (*Session, error) {
	if err := cfg.Validate(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	b := binder{conn: conn, cfg: cfg.withDefaults()}
	s, err := b.bind(ctx)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

// binder is a bind under way.
type binder struct {
	conn net.Conn
	cfg  Config
}

func (b *binder) bind(ctx context.Context) (*Session, error) {
	if err := b.conn.SetDeadline(time.Now().Add(b.cfg.BindTimeout)); err != nil {
		return nil, fmt.Errorf("smpp: set bind deadline: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = b.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	requests := newInflight(b.cfg.firstSequence)
	f := newFramer(b.cfg.MaxPDU)
	p, err := b.exchange(requests.sequence(), f)
	if !stop() {
		// The context ended, perhaps after the answer came: its deadline may be
		// set at any moment, so the connection is of no use.
		return nil, fmt.Errorf("smpp: bind: %w", context.Cause(ctx))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("smpp: no answer to the bind within %v: %w", b.cfg.BindTimeout, err)
	}
	if err != nil {
		return nil, err
	}
	if err := b.conn.SetDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("smpp: clear bind deadline: %w", err)
	}
	return newSession(b.conn, b.cfg, p, f, requests), nil
}

// exchange writes the bind and reads up to its answer.
func (b *binder) exchange(sequence uint32, f *framer) (peer, error) {
	request, err := pdu.Append(nil, pdu.StatusOK, sequence, &pdu.Bind{
		Command: b.cfg.Mode.command(), SystemID: b.cfg.SystemID, Password: b.cfg.Password,
		SystemType: b.cfg.SystemType, InterfaceVersion: b.cfg.InterfaceVersion,
		AddrTON: b.cfg.AddrTON, AddrNPI: b.cfg.AddrNPI, AddressRange: b.cfg.AddressRange,
	})
	if err != nil {
		return peer{}, fmt.Errorf("smpp: bind: %w", err)
	}
	if _, err := b.conn.Write(request); err != nil {
		return peer{}, fmt.Errorf("smpp: write bind: %w", err)
	}
	for {
		frame, err := f.next()
		if err != nil {
			return peer{}, fmt.Errorf("smpp: the answer to the bind is not SMPP: %w", err)
		}
		if frame == nil {
			n, err := b.conn.Read(f.space())
			f.filled(n)
			if n == 0 && errors.Is(err, io.EOF) {
				return peer{}, fmt.Errorf("%w instead of answering the bind: it may limit connections, or speak TLS here", ErrHungUp)
			}
			if n == 0 && err != nil {
				return peer{}, fmt.Errorf("smpp: read bind_resp: %w", err)
			}
			continue
		}
		p, done, err := b.answer(frame)
		if done || err != nil {
			return p, err
		}
	}
}

// answer judges one PDU of the peer. The bind_resp may carry a foreign sequence
// number, as some servers send it: only one answer can be meant.
func (b *binder) answer(frame []byte) (p peer, done bool, err error) {
	h, err := pdu.ParseHeader(frame)
	if err != nil {
		return peer{}, false, err
	}
	switch h.ID { //nolint:exhaustive // everything else is refused alike
	case b.cfg.Mode.command().Response():
		p, err := parseBindResp(h, frame)
		return p, true, err
	case pdu.IDGenericNack:
		return peer{}, true, &BindError{Status: h.Status, Nack: true}
	case pdu.IDUnbind:
		return peer{}, true, fmt.Errorf("%w instead of answering the bind", ErrUnbound)
	}
	if h.ID.IsResponse() {
		return peer{}, true, fmt.Errorf("smpp: the SMSC answered %v with %v", b.cfg.Mode.command(), h.ID)
	}
	if reply := earlyReply(h); reply != nil {
		if _, err := b.conn.Write(reply); err != nil {
			return peer{}, false, fmt.Errorf("smpp: write before bind_resp: %w", err)
		}
	}
	return peer{}, false, nil
}

// parseBindResp reads a bind_resp. Servers may leave its body out, with an
// error and without one.
func parseBindResp(h pdu.Header, frame []byte) (peer, error) {
	if h.Status != pdu.StatusOK {
		return peer{}, &BindError{Status: h.Status}
	}
	if len(frame) == pdu.HeaderLen {
		return peer{}, nil
	}
	var body pdu.BindResp
	if err := body.ParseBody(frame[pdu.HeaderLen:]); err != nil {
		return peer{}, fmt.Errorf("smpp: %v: %w", h.ID, err)
	}
	p := peer{systemID: body.SystemID}
	p.version, _ = body.TLVs.Uint8(pdu.TagSCInterfaceVersion)
	return p, nil
}

// earlyReply answers what the peer asks before it has answered the bind:
// nothing can be taken yet (SMPP 3.4 section 2.2).
func earlyReply(h pdu.Header) []byte {
	switch h.ID { //nolint:exhaustive // everything else is refused alike
	case pdu.IDEnquireLink:
		return pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDEnquireLinkResp, Sequence: h.Sequence}.Append(nil)
	case pdu.IDDeliverSM, pdu.IDDataSM:
		return appendInboundReply(nil, h.ID, pdu.StatusInvBndSts, h.Sequence)
	case pdu.IDOutbind, pdu.IDAlertNotification:
		return nil
	}
	return pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDGenericNack, Status: pdu.StatusInvCmdID, Sequence: h.Sequence}.Append(nil)
}
